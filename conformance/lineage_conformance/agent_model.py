"""The script of an `Agent` as a chat model. Imports langchain_core, so laws import it when they need it."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    """Answers as its script says; tools are bound by ignoring them."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "lineage-scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """The model itself: the script knows its tools."""
        return self

    def _generate(
        self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.script.pass_(self.script.look(messages))
        return ChatResult(generations=[ChatGeneration(message=self.script.reply(messages))])

    async def _agenerate(
        self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        await self.script.apass(self.script.look(messages))
        return ChatResult(generations=[ChatGeneration(message=self.script.reply(messages))])


def scripted(script: Any) -> ScriptedModel:
    """A chat model that follows a script."""
    return ScriptedModel(script=script)
