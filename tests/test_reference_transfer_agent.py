"""The LangGraph adapter end to end: fork, another provider and back, merge, subagents of both sorts; sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from lineage_reference.transfer import Refused, make
from lineage_reference.transfer.agent import AgentProvider, subagent_tool
from lineage_reference.transfer.scripted import agent, asks, scripted
from tests.transfer_kit import provider, said, statuses


@contextmanager
def over_memory(folder: Path) -> Iterator[Any]:
    with make(InMemorySaver(), SimpleNamespace(path=folder, dsn=None)) as made:
        yield made


@pytest.fixture(params=["sync", "async"])
def half(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Calls a method of a backend on one of its halves."""
    if request.param == "sync":
        return lambda backend, method, *args, **options: getattr(backend, method)(*args, **options)
    return lambda backend, method, *args, **options: asyncio.run(
        getattr(backend, "a" + method)(*args, **options)
    )


def test_a_conversation_goes_all_the_ways(tmp_path: Path, half: Callable[..., Any]) -> None:
    with over_memory(tmp_path) as backend:
        one = provider(backend, "one", "Rome", "a draft", "better", "merged", "back")
        provider(backend, "two", "from two")
        half(backend, "open_thread", "root", "one")
        first = half(backend, "dispatch", "root", "capital?")
        half(backend, "dispatch", "root", "write")

        # A fork at the first run: nothing native until it is used, then one session, seeded.
        half(backend, "fork", "root", "fork", first.id)
        assert statuses(backend, "fork") == [("fork", "pending", None)]
        aside = half(backend, "dispatch", "fork", "write better")
        assert statuses(backend, "fork") == [("fork", "consumed", "native_fork")]
        assert said(backend, aside.native_thread) == ["capital?", "Rome", "write better", "better"]
        assert said(backend, first.native_thread) == ["capital?", "Rome", "write", "a draft"]

        # Back into its parent: what it gained, and nothing of what it began with.
        half(backend, "merge_back", "fork")
        merged = half(backend, "dispatch", "root", "take it")
        assert merged.native_thread == first.native_thread
        assert said(backend, first.native_thread)[4:] == [
            "write better", "better", "take it", "merged",
        ]  # fmt: skip

        # Another provider is handed all of it, the first one what it missed.
        other = half(backend, "dispatch", "root", "and you?", "two")
        assert said(backend, other.native_thread) == [
            "capital?", "Rome", "write", "a draft", "write better", "better", "take it", "merged", "and you?",
            "from two",
        ]  # fmt: skip
        back = half(backend, "dispatch", "root", "home", "one")
        assert back.native_thread == first.native_thread
        assert said(backend, first.native_thread)[8:] == ["and you?", "from two", "home", "back"]
        assert statuses(backend, "root") == [
            ("fork", "consumed", "native_fork"),
            ("merge_back", "consumed", "delta_context"),
            ("provider_handoff", "consumed", "portable_context"),
            ("provider_handoff", "consumed", "delta_context"),
        ]
        for transfer in backend.transfers("root")[1:]:
            kept = backend.handoff(transfer.handoff_id)
            assert backend.rebuild(kept.id) == kept
        # A fork of what another provider did is portable for this one.
        half(backend, "fork", "root", "mixed", other.id)
        context = half(backend, "resolve_start_context", "mixed", "one", "x")
        assert (context.kind, len(context.handoffs[0].items)) == ("portable", 10)
        assert one.probe(first.native_thread) == "plain"
        with pytest.raises(Refused, match="take back"):
            one.rollback(first.native_thread, 1)


def test_the_agent_is_not_woken_by_a_fork(tmp_path: Path) -> None:
    with over_memory(tmp_path) as backend:
        one = provider(backend, "one", "first")
        backend.open_thread("root", "one")
        backend.dispatch("root", "hello")
        backend.fork("root", "fork")
        context = backend.resolve_start_context("fork", "one", "x")
        assert context.kind == "native"
        state = one.graph.get_state({"configurable": {"thread_id": context.session}})
        assert not state.next
        assert said(backend, one.fork(context.session)) == ["hello", "first"]


def test_a_turn_that_fails_is_a_run_and_its_context_is_consumed(
    tmp_path: Path, half: Callable[..., Any]
) -> None:
    with over_memory(tmp_path) as backend:
        provider(backend, "one", "first")
        provider(backend, "two", OSError("no line"), "second")
        half(backend, "open_thread", "root", "one")
        half(backend, "dispatch", "root", "hello")
        failed = half(backend, "dispatch", "root", "over to you", "two")
        assert failed.status == "failed"
        assert backend.transfers("root")[0].consumed_by == failed.id
        run = half(backend, "dispatch", "root", "once more")
        assert run.native_thread == failed.native_thread
        assert said(backend, run.native_thread) == [
            "hello", "first", "over to you", "once more", "second",
        ]  # fmt: skip


def test_a_failure_before_anything_was_written_leaves_all_as_it_was(tmp_path: Path) -> None:
    with over_memory(tmp_path) as backend:
        provider(backend, "one", "first")
        backend.open_thread("root", "one")
        backend.dispatch("root", "hello")
        backend.fork("root", "fork")
        two = provider(backend, "two", "second")
        graph, two.graph = two.graph, SimpleNamespace(invoke=lambda *args: [][0])
        with pytest.raises(Refused, match="IndexError") as caught:
            backend.dispatch("fork", "over to you", "two")
        assert caught.value.code == "provider_error"
        assert statuses(backend, "fork") == [("fork", "resolved_portable", "portable_context")]
        two.graph = graph
        backend.dispatch("fork", "over to you")
        moves = [move.after for move in backend.history(backend.transfers("fork")[0].id)]
        assert moves == ["pending", "resolved_portable", "consumed"]


def test_an_agent_that_waits_for_an_answer_is_no_stable_point(tmp_path: Path) -> None:
    with over_memory(tmp_path) as backend:
        made = agent(backend.saver, scripted("never said"))
        made.interrupt_before_nodes = ["model"]
        backend.use(AgentProvider("one", made))
        backend.open_thread("root", "one")
        assert backend.dispatch("root", "hello").status == "failed"
        with pytest.raises(Refused) as caught:
            backend.fork("root", "fork")
        assert caught.value.code == "no_stable_point"


def test_a_subagent_of_the_application_comes_from_a_tool(tmp_path: Path) -> None:
    with over_memory(tmp_path) as backend:
        tool = subagent_tool(backend, "root", "helper")
        helper = provider(backend, "helper", "found it")
        provider(backend, "one", asks("delegate", task="look"), "asked", "told", tools=[tool])
        backend.open_thread("root", "one")
        backend.dispatch("root", "find it")
        (child,) = backend.children("root")
        assert (child.parent_id, child.relationship) == ("root", "subagent")
        run = backend.dispatch("root", "and?")
        assert said(backend, run.native_thread)[-3:] == ["found it", "and?", "told"]
        assert statuses(backend, child.thread_id) == [
            ("subagent_spawn", "consumed", "portable_context"),
            ("subagent_result", "consumed", "portable_context"),
        ]
        assert {t.created_by for t in backend.transfers("root")} == {"agent"}
        assert helper.children(run.native_thread) == []


def test_a_subagent_of_the_agents_own_is_observed(tmp_path: Path, half: Callable[..., Any]) -> None:
    with over_memory(tmp_path) as backend:
        seen: list[str] = []

        def own_delegate(config: Any, task: str) -> AIMessage:
            made = one.subagent(config, task)
            seen.extend(child.status for child in one.children(config["configurable"]["thread_id"]))
            return made

        script = scripted(asks("own_delegate", task="look"), "done", "told")
        graph = agent(backend.saver, script, [own_delegate])
        one = AgentProvider("one", graph, agent(backend.saver, scripted("found it")))
        backend.use(one)
        half(backend, "open_thread", "root", "one")
        run = half(backend, "dispatch", "root", "find it")
        assert seen == ["completed"]  # heard of, before any message refers to it
        made = half(backend, "observe_native_children", "root")
        assert [(t.type, t.created_by, t.status) for t in made] == [
            ("subagent_spawn", "system", "consumed"),
            ("subagent_result", "system", "consumed"),
        ]
        assert half(backend, "observe_native_children", "root") == []
        (child,) = backend.children("root")
        assert (child.relationship, child.root_id) == ("subagent", "root")
        # The session was told by its own agent: nothing is injected, the same view goes to others.
        again = half(backend, "dispatch", "root", "and?")
        assert said(backend, again.native_thread)[-2:] == ["and?", "told"]
        # Another adapter, which has heard nothing, learns of it from the messages.
        later = AgentProvider("one", graph, one.child_graph)
        assert [c.session for c in later.children(run.native_thread)] == [
            c.session for c in one.children(run.native_thread)
        ]


def test_a_subagent_that_fails_has_no_result(tmp_path: Path) -> None:
    with over_memory(tmp_path) as backend:

        def own_delegate(config: Any, task: str) -> AIMessage:
            return one.subagent(config, task)

        script = scripted(asks("own_delegate", task="look"), "done")
        broken = agent(backend.saver, scripted(OSError("no line")))
        one = AgentProvider("one", agent(backend.saver, script, [own_delegate]), broken)
        backend.use(one)
        backend.open_thread("root", "one")
        run = backend.dispatch("root", "find it")
        assert [c.status for c in one.children(run.native_thread)] == ["failed"]
        made = backend.observe_native_children("root")
        assert [t.type for t in made] == ["subagent_spawn"]
