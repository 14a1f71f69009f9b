"""Engines with a fault: one function of LangGraph is patched, because no saver could break these laws."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

from tests.mutants.graph_kit import engine


def _never_ambiguous(within_one_task: bool) -> Iterator[None]:
    from langgraph.pregel import _loop

    plain = _loop.PregelLoop._pending_interrupts

    def first(self):
        tasks = {
            task
            for task, channel, _ in self.checkpoint_pending_writes
            if channel == "__interrupt__"
        }
        found = plain(self)
        return set(sorted(found)[:1]) if (len(tasks) == 1) is within_one_task else found

    with mock.patch.object(_loop.PregelLoop, "_pending_interrupts", first):
        yield


@engine("graph_interrupts.ambiguous-answers-are-refused")
def any_answer_is_taken() -> Iterator[None]:
    """Counts one pending interrupt where several tasks wait, so that no answer is ambiguous."""
    yield from _never_ambiguous(within_one_task=False)


@engine("graph_interrupts.ambiguous-answers-to-a-subgraph-are-refused")
def any_answer_is_taken_for_a_child() -> Iterator[None]:
    """Counts one pending interrupt of a task, however many of its child wait."""
    yield from _never_ambiguous(within_one_task=True)


@engine("graph_interrupts.replay-asks-again")
def answers_are_remembered() -> Iterator[None]:
    """Remembers for each thread what a question was answered, and never asks it again."""
    import langgraph.types
    from langgraph.config import get_config

    plain, known = langgraph.types.interrupt, {}

    def interrupt(value):
        key = (get_config()["configurable"]["thread_id"], value)
        if key not in known:
            known[key] = plain(value)
        return known[key]

    with mock.patch.object(langgraph.types, "interrupt", interrupt):
        yield


@engine("graph_fork.bulk-equals-one-by-one")
def bulk_forgets_the_rest() -> Iterator[None]:
    """Applies only the first step of a bulk update."""
    from langgraph.pregel import Pregel

    plain = Pregel.bulk_update_state

    def first(self, config, supersteps):
        return plain(self, config, supersteps[:1])

    with mock.patch.object(Pregel, "bulk_update_state", first):
        yield


@engine("graph_delta.cached-results")
def cached_results_are_not_stored() -> Iterator[None]:
    """Applies results from the cache without storing them."""
    from langgraph.pregel import _loop

    plain = _loop.PregelLoop.put_writes

    def put_writes(self, task_id, writes, *, cached=False):
        if cached:
            self.checkpoint_pending_writes.extend((task_id, c, v) for c, v in writes)
        else:
            plain(self, task_id, writes, cached=cached)

    with mock.patch.object(_loop.PregelLoop, "put_writes", put_writes):
        yield


@engine("graph_durability.untracked-is-not-stored")
def untracked_is_stored() -> Iterator[None]:
    """Lets untracked channels into checkpoints."""
    from langgraph.channels.untracked_value import UntrackedValue

    with mock.patch.object(UntrackedValue, "checkpoint", lambda self: self.value):
        yield


@engine("graph_interrupts.every-waiting-task-is-next")
def who_asks_is_not_next() -> Iterator[None]:
    """Leaves tasks that have asked out of `next`."""
    from langgraph.pregel import Pregel

    plain = Pregel._prepare_state_snapshot

    def prepare(self, *args, **kwargs):
        made = plain(self, *args, **kwargs)
        return made._replace(next=tuple(t.name for t in made.tasks if not t.interrupts))

    with mock.patch.object(Pregel, "_prepare_state_snapshot", prepare):
        yield


@engine("graph_durability.ephemeral-lasts-one-step")
def ephemeral_stays() -> Iterator[None]:
    """Never clears an ephemeral channel."""
    from langgraph.channels.ephemeral_value import EphemeralValue

    plain = EphemeralValue.update

    def update(self, values):
        return bool(values) and plain(self, values)

    with mock.patch.object(EphemeralValue, "update", update):
        yield
