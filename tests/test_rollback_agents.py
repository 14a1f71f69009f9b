"""The rollback laws on real agents with a scripted model: prebuilt ones, where they are installed."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from typing import Any

import pytest

from lineage_conformance import law as laws
from lineage_conformance.law import Verdict
from lineage_reference.rollback import Turns
from tests.mutants import rollback_kit

if laws.get("rollback.restores-messages").not_applicable():
    pytest.skip("rollback needs langgraph 0.6", allow_module_level=True)


class Prebuilt(Turns):
    """Brings `create_react_agent` along."""

    def agent(self, model: Any, tools: Sequence[Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prebuilt = importlib.import_module("langgraph.prebuilt")
            return self.use(
                lambda saver: prebuilt.create_react_agent(model, tools, checkpointer=saver)
            )


class Created(Turns):
    """Brings langchain's `create_agent` along, with a middleware around the model."""

    def agent(self, model: Any, tools: Sequence[Any]) -> Any:
        agents = importlib.import_module("langchain.agents")
        middleware = importlib.import_module("langchain.agents.middleware")

        class Noted(middleware.AgentMiddleware):  # type: ignore[misc, name-defined]
            def before_model(self, state: Any, runtime: Any) -> None:
                return None

            def after_agent(self, state: Any, runtime: Any) -> None:
                return None

        return self.use(
            lambda saver: agents.create_agent(
                model, tools, middleware=[Noted()], checkpointer=saver
            )
        )


class Deep(Turns):
    """Brings deepagents' `create_deep_agent` along: todos, files and a summary come with it."""

    def agent(self, model: Any, tools: Sequence[Any]) -> Any:
        deepagents = importlib.import_module("deepagents")
        return self.use(
            lambda saver: deepagents.create_deep_agent(model=model, tools=tools, checkpointer=saver)
        )


AGENTS = {"langgraph.prebuilt": Prebuilt, "langchain.agents": Created, "deepagents": Deep}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["restore", "remove"])
@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("module", AGENTS)
def test_all_laws_hold_on_real_agents(module: str, face: Any, strategy: str) -> None:
    pytest.importorskip(module)
    outcomes = rollback_kit.judge_all(lambda saver: AGENTS[module](saver, strategy=strategy), face)
    # An agent that has no channel of its own shows nothing of the law about them, which held unseen before.
    bare = {"rollback.restores-channels"} if module == "langgraph.prebuilt" else set()
    failed = {id: o.reason for id, o in outcomes.items() if o.verdict is not Verdict.HOLDS}
    assert failed.keys() <= bare
    assert all(outcomes[id].verdict is Verdict.NOT_APPLICABLE for id in failed)
