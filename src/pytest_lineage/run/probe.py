"""Probing: what a target has, asked before it is judged, and whether its declaration is true.

Whatever a probe raises is the target's affair. A probe in which the worker hung or died is left out by the next
worker (`assume`): the laws will show it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance import handles, kinds
from lineage_conformance.handles import HALVES, Half, Handle
from lineage_conformance.kinds.saver.operations import (
    CopyThread,
    DeleteForRuns,
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Op,
    Prune,
    Put,
    Writes,
)
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.raised import Raised, guarded
from lineage_conformance.runner import Stores
from lineage_conformance.trace import Diff
from pytest_lineage.run import others
from pytest_lineage.run.opening import MAKE_IT_ASYNC, is_async, of_a_loop
from pytest_lineage.targets import SKIPPED, Target, TargetError


class Probe:
    """What is found out about one open target. `beat` is told each probe before it runs."""

    def __init__(
        self,
        target: Target,
        stores: Stores,
        beat: Callable[[str], None],
        assume: frozenset[str],
        store: bool,
    ) -> None:
        self._target, self._stores, self._beat, self._assume = target, stores, beat, assume
        self._takes_store, self._kind = store, kinds.get(target.kind)
        self.halves: dict[Half, str] = {}
        """Why a half is absent; empty for one that is there."""
        self.missing: dict[Half, dict[str, str]] = {half: {} for half in HALVES}
        """Optional operations that a half does not have, each with the reason."""
        self.refusals: dict[tuple[str, Half], tuple[Program, list[Diff]]] = {}
        """Per declared-unsupported operation and half: the program, and what the refusal changed."""
        self.answers: dict[str, list[Half]] = {}
        """Declared-unsupported operations that did not refuse."""

    def run(self, handle: Handle, allow_nonempty: bool, under: Any = None) -> None:
        """Ask everything; `under` is the saver under a backend.

        Raises `TargetError` for a target that cannot or must not be used.
        """
        saver = self._kind.is_saver
        try:
            if not allow_nonempty:
                self._refuse_others_data(handle, under)
            if saver:
                self._refuse_a_still_loop(handle.saver)
            for half in HALVES:
                there, reason = True, ""
                if self._asked(f"{half}.basics"):
                    there, reason = self._present(handle, half)
                self.halves[half] = "" if there else reason
            for half in HALVES:
                if not self.halves[half]:
                    self.missing[half] = dict(
                        self._capabilities(handle, half) if saver else self._optional(handle, half)
                    )
        finally:
            self._beat("closing it")
            with contextlib.suppress(Raised):  # a fault for the laws to name
                handle.close()
            self._stores.renew()
        if all(self.halves.values()):
            reasons = "; ".join(f"{half}: {reason}" for half, reason in self.halves.items())
            name = f"{type(handle.saver).__module__}.{type(handle.saver).__qualname__}"
            raise TargetError(
                f"{self._target.name}: {name} has neither a sync nor an async half ({reasons})"
            )
        if saver:
            self._refuse_a_wrong_declaration()

    def _asked(self, probe: str) -> bool:
        """Tell the supervisor which probe runs next; False for one that is not to be run again."""
        self._beat(probe)
        return probe not in self._assume

    # -- halves ----------------------------------------------------------------------------------

    def _present(self, handle: Handle, half: Half) -> tuple[bool, str]:
        if self._kind.is_saver:
            there, reason = handles.present(handle, half)
            if there and half == "async" and not is_async(self._target.factory):
                reason = self._out_of_its_loop(handle)
            return there and not reason, reason
        missing = [m for m in self._kind.required(half) if not _has(handle.saver, m)]
        if not missing and hasattr(self._kind.half("sync"), "get_tuple"):
            # A backend that is a saver too has no half that the saver under it refuses.
            try:
                handle.call(half, "get_tuple", handles.PROBE)
            except NotImplementedError as error:
                return False, f"get_tuple raises NotImplementedError: {str(error)[:120]}"
            except BaseException:
                return True, ""
        return not missing, f"{', '.join(missing)} not implemented" if missing else ""

    def _out_of_its_loop(self, handle: Handle) -> str:
        """Why no async method can work on a saver that was not made in our loop; empty if one works.

        Raises `TargetError` if the saver has no other half.
        """
        errors = []
        for call in (
            lambda: handle.call("async", "get_tuple", handles.PROBE),
            lambda: handle.all_rows("async", handles.PROBE),
        ):
            try:
                guarded(call)
            except Raised as raised:
                errors.append(raised)
            else:
                return ""
        shown = f"aget_tuple and alist raise {errors[0]}"
        alone = bool(self.halves["sync"])
        if alone or any(of_a_loop(raised.error) for raised in errors):
            if alone:
                raise TargetError(f"{self._target.name}: {shown}. {MAKE_IT_ASYNC}")
            return f"{shown}. {MAKE_IT_ASYNC}"
        return ""

    def _refuse_a_still_loop(self, saver: Any) -> None:
        """A saver that hands its calls to an event loop which nobody runs would hang in each of them."""
        if is_async(self._target.factory):
            return
        try:
            held = list(vars(saver).values())
        except TypeError:
            return
        if any(isinstance(v, asyncio.AbstractEventLoop) and not v.is_running() for v in held):
            raise TargetError(
                f"{self._target.name}: the saver holds an event loop that does not run. {MAKE_IT_ASYNC}"
            )

    # -- optional operations -----------------------------------------------------------------------

    def _capabilities(self, handle: Handle, half: Half) -> Iterator[tuple[str, str]]:
        for op in handles.OPTIONAL:
            if op not in self._target.unsupported and self._asked(f"{half}.{op}"):
                why = handles.capability(handle, half, op)
                if why is not None:
                    yield op, why

    def _optional(self, handle: Handle, half: Half) -> Iterator[tuple[str, str]]:
        """Optional methods of another kind's protocol that a backend does not have, with the reason."""
        named = set(
            vars(self._kind.half("sync"))
        )  # `agent` is the same in both, and no twin of a `gent`
        for name in self._kind.optional(half):
            if not _has(handle.saver, name):
                known = name if name in named else name.removeprefix("a")
                yield known, f"{name} is not implemented"

    # -- the store ---------------------------------------------------------------------------------

    def _refuse_others_data(self, handle: Handle, under: Any) -> None:
        """Nobody's live data is touched: a store that already lists a checkpoint is not ours."""
        saver, name = self._kind.is_saver, self._target.name
        answers, found = self._asked("empty"), None
        if answers:
            with contextlib.suppress(Raised):
                found = guarded(lambda: others.holds_data(handle, self._kind, under))
        if found:
            raise TargetError(
                f"{name}: the target already holds checkpoints, and laws delete threads. "
                "Point it to an empty store (let the factory take `store`), or pass --allow-nonempty "
                "if only threads made by this suite may be written and deleted."
            )
        if found is None and not self._takes_store and not (saver and answers):
            why = "list() gives no answer" if not answers else "it shows no saver that lists"
            also = "" if saver else "give it an attribute `saver`, "
            raise TargetError(
                f"{name}: {why}, so whether the target holds data cannot be told. "
                f"Let the factory take `store`, {also}or pass --allow-nonempty."
            )

    # -- declarations ------------------------------------------------------------------------------

    def _refuse_a_wrong_declaration(self) -> None:
        """What is declared unsupported must refuse: one error about the declaration, and not one for each law."""
        for op, why in self._target.unsupported.items():
            for half in HALVES:
                if self.halves[half] or not self._asked(f"{half}.unsupported.{op}"):
                    continue
                program, refused, changed = refusal(self._stores, op, half)
                self._stores.renew()  # a refused statement may leave a connection that answers nothing more
                if refused:
                    self.refusals[op, half] = (program, changed)
                else:
                    self.answers.setdefault(op, []).append(half)
            if op in self.answers and why != SKIPPED:
                raise TargetError(
                    f"{self._target.name}: {op} is declared unsupported ({why}), but it does not refuse "
                    f"({', '.join(self.answers[op])}). Take the declaration out if the operation works; if "
                    "it does not, let it raise NotImplementedError."
                )


def refusal(
    stores: Stores,
    operation: str,
    half: Half,
    beat: Callable[[Program, int], None] = lambda program, step: None,
) -> tuple[Program, bool, list[Diff]]:
    """Call an operation that should refuse: the program, whether it did, and what the call changed."""
    op: dict[str, Op] = {
        "delete_thread": DeleteThread(lenient=True),
        "copy_thread": CopyThread(lenient=True),
        "prune": Prune(lenient=True),
        "delete_for_runs": DeleteForRuns(("r",), lenient=True),
        "get_delta_channel_history": DeltaHistory(lenient=True),
    }
    before = (Put(1, set={"a": "x"}, meta={"run_id": "r"}), Writes(1, items=(("a", 1),)))
    after = (Get(1), Get(), List())
    plain = Program((*before, *after))
    usual = {d.where for d in stores.session(half, lambda step: beat(plain, step)).run(plain).diffs}
    program = Program((*before, op[operation], *after))
    trace = stores.session(half, lambda step: beat(program, step)).run(program)
    refused = any(at == len(before) for at, _ in trace.refused)
    return program, refused, [diff for diff in trace.diffs if diff.where not in usual]


def _has(subject: Any, name: str) -> bool:
    try:
        return hasattr(subject, name)
    except BaseException:  # a property that raises is there
        return True
