"""Operations on whole threads and runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lineage_conformance.kinds.saver.operations.base import Op, Script
from lineage_conformance.kinds.saver.session import Session
from lineage_conformance.raised import guarded


@dataclass(frozen=True)
class DeleteThread(Op):
    """Delete everything of a thread."""

    name: ClassVar[str] = "delete_thread"
    thread: str = "t"
    handle: int = 0
    lenient: bool = False

    def run(self, on: Session) -> None:
        """Delete it; the model does."""
        method, args = self.prepared(on)
        guarded(lambda: on.handle(self.handle).call(on.writer, method, *args))
        self.applied(on)

    def prepared(self, on: Session) -> tuple[str, tuple[Any, ...]]:
        """The method and its arguments, for a call that is let go later."""
        return "delete_thread", (on.thread(self.thread),)

    def applied(self, on: Session) -> None:
        """Let the model do it."""
        on.model.delete_thread(on.thread(self.thread))

    def source(self, script: Script) -> str:
        """The call."""
        arguments = [script.thread(self.thread)]
        return script.call(script.writer, self.handle, "delete_thread", arguments)


@dataclass(frozen=True)
class CopyThread(Op):
    """Copy a thread with its history and writes to an unused thread id."""

    name: ClassVar[str] = "copy_thread"
    thread: str = "t"
    target: str = "copy"
    handle: int = 0
    lenient: bool = False

    def run(self, on: Session) -> None:
        """Copy it; the model does."""
        args = (on.thread(self.thread), on.thread(self.target))
        guarded(lambda: on.handle(self.handle).call(on.writer, "copy_thread", *args))
        on.model.copy_thread(*args)
        _copied(on.state, self)

    def source(self, script: Script) -> str:
        """The call."""
        _copied(script.values, self)
        _copied(script.versions, self)
        arguments = [script.thread(self.thread), script.thread(self.target)]
        return script.call(script.writer, self.handle, "copy_thread", arguments)


def _copied(held: dict[tuple[str, str, int], Any], op: CopyThread) -> None:
    """Hold for the copy what is held for the source."""
    for (thread, ns, number), value in list(held.items()):
        if thread == op.thread:
            held[op.target, ns, number] = value


@dataclass(frozen=True)
class Prune(Op):
    """Prune threads with a strategy. A refusal that changes nothing is always allowed."""

    name: ClassVar[str] = "prune"
    threads: tuple[str, ...] = ("t",)
    strategy: str = "keep_latest"
    handle: int = 0
    lenient: bool = True

    def run(self, on: Session) -> None:
        """Prune them; the model does."""
        threads, handle = [on.thread(label) for label in self.threads], on.handle(self.handle)
        guarded(lambda: handle.call(on.writer, "prune", threads, strategy=self.strategy))
        on.model.prune(threads, self.strategy)

    def source(self, script: Script) -> str:
        """The call."""
        threads = ", ".join(map(script.thread, self.threads))
        arguments = [f"[{threads}]", f"strategy={self.strategy!r}"]
        return script.call(script.writer, self.handle, "prune", arguments)


@dataclass(frozen=True)
class DeleteForRuns(Op):
    """Delete the checkpoints and writes of runs, named by the metadata key ``run_id``."""

    name: ClassVar[str] = "delete_for_runs"
    runs: tuple[str, ...] = ()
    handle: int = 0
    lenient: bool = False

    def run(self, on: Session) -> None:
        """Delete them; the model does."""
        runs = [str(run) for run in self.runs]
        guarded(lambda: on.handle(self.handle).call(on.writer, "delete_for_runs", runs))
        on.model.delete_for_runs(self.runs)

    def source(self, script: Script) -> str:
        """The call."""
        arguments = [repr([str(run) for run in self.runs])]
        return script.call(script.writer, self.handle, "delete_for_runs", arguments)
