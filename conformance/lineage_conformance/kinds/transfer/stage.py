"""The stage for histories: a backend, the fake providers, the model, and what is compared between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.canon import canon
from lineage_conformance.kinds.transfer.case import NAMES, Step
from lineage_conformance.kinds.transfer.fakes import ABILITIES, Call, Fake, World
from lineage_conformance.kinds.transfer.model import Model
from lineage_conformance.kinds.transfer.view import Piece, Plan, Run, Thread, Transfer
from lineage_conformance.raised import Raised, Unlike, guarded
from lineage_conformance.returned import shaped
from lineage_conformance.trace import Diff


class Stage:
    """One example: a backend, the fakes, the model, and the names they have for each other."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.at, self.doing = bench, 0, "open"
        self.trying = self.closed = ""
        """The kind of whatever differs while something is tried again, or after the store was closed."""
        self.repeating: tuple[str, ...] = ()
        """The same while a command is repeated, and which one."""
        self.half = bench.writer
        self.backend = guarded(lambda: bench.subject)
        self.world = World(guarded(lambda: self.backend.saver), self.half, bench.nonce)
        self.fakes = {name: Fake(name, self.world) for name in NAMES}
        self.model = Model(ABILITIES)
        self.threads: list[Thread] = []
        self.adopted: dict[tuple[str, str], list[Any]] = {}
        self.last: tuple[str, tuple[Any, ...], dict[str, Any], Any] | None = None
        self.receipts = 0
        self.told: dict[str, list[Any]] = {}
        """By id: the handoffs that adapters were given."""
        self.bind(self.backend)

    def bind(self, backend: Any) -> None:
        """Give a backend, which may have just been opened, the adapters."""
        for fake in self.fakes.values():
            guarded(lambda fake=fake: backend.use(fake))  # type: ignore[misc]

    def reopen(self) -> None:
        """Close the store, open it again, and go on with the new backend."""
        self.doing, self.closed = "open", "reopened"
        self.backend = guarded(self.bench.reopen)
        self.world.saver = guarded(lambda: self.backend.saver)
        self.bind(self.backend)

    # -- calling -----------------------------------------------------------------------------------

    def call(self, method: str, *args: Any, on: Any = None, **options: Any) -> Any:
        """Call the backend on this face. Raises `Raised`."""
        backend = self.backend if on is None else on
        self.at += 1
        self.doing = method
        self.bench.beat(self.at)
        if self.half == "sync":
            made = guarded(lambda: getattr(backend, method)(*args, **options))
        else:
            made = guarded(
                lambda: self.bench.loop.run(getattr(backend, "a" + method)(*args, **options))
            )
        return shaped("transfer", method, made)

    def put(self, put: Any) -> None:
        """Put a checkpoint on the saver, as an agent would."""
        if put is None:
            return
        if self.half == "sync":
            guarded(lambda: self.world.saver.put(*put))
        else:
            guarded(lambda: self.bench.loop.run(self.world.saver.aput(*put)))

    def receipt(self) -> str:
        """A receipt that was not used before."""
        self.receipts += 1
        return f"{self.bench.nonce}-receipt-{self.receipts}"

    def named(self, kind: str, path: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """What a difference here is called. What is tried again, repeated, or reopened gives its own name."""
        if self.repeating:
            kind, path = self.repeating[0], (*self.repeating[1:], kind, *path)
        elif self.trying and kind not in ("consumed", "moves"):
            kind, path = self.trying, (kind, *path)
        return (self.closed, (kind, *path)) if self.closed else (kind, path)

    def diff(self, kind: str, path: tuple[str, ...], expected: Any, got: Any) -> Diff:
        """A difference here."""
        kind, path = self.named(kind, path)
        return Diff(self.at, kind, path, expected, got)

    def observed(self, kind: str, *path: str) -> None:
        """Count a comparison that could have shown such a difference."""
        kind, path = self.named(kind, path)
        self.bench.observed(kind, *path)

    def compare(self, kind: str, path: tuple[str, ...], expected: Any, got: Any) -> Iterator[Diff]:
        """Compare two values, and count that."""
        kind, path = self.named(kind, path)
        yield from self.bench.compare(self.at, kind, path, expected, got)

    def raised(self, raised: Raised) -> Diff:
        """What a backend raised where nothing was to be refused: what comes after is not seen."""
        self.bench.cut = f"{self.doing} raised {raised}"
        return Diff(self.at, self.doing, raised.path, raised.expected, str(raised))

    def refused(self, code: str, method: str, *args: Any, **options: Any) -> Iterator[Diff]:
        """Whether a command is refused with its code."""
        calls = len(self.world.calls)
        try:
            self.call(method, *args, **options)
        except Unlike:
            got = "accepted"
        except Raised as raised:
            if not isinstance(raised.error, Exception):
                raise
            found = getattr(raised.error, "code", None)
            got = code if found == code else f"{found}: {raised}"[:200]
            yield from self.compare("code", (code,), code, got)
            got = "refused"
        else:
            got = "accepted"
        yield from self.compare("refused", (code,), "refused", got)
        yield from self.compare("refused", (code, "calls"), [], self.called(calls))

    def command(self, method: str, *args: Any, **options: Any) -> Any:
        """A command with a receipt of its own, which `again` may repeat."""
        options["receipt"] = self.receipt()
        made = self.call(method, *args, **options)
        self.last = (method, args, options, made)
        return made

    def called(self, since: int = 0) -> list[list[Any]]:
        """The calls that the fakes got, as plain data."""
        return [[c.provider, c.method, c.session, c.argument] for c in self.world.calls[since:]]

    # -- the world ---------------------------------------------------------------------------------

    def thread(self, step: Step) -> Thread:
        """The thread that a step names."""
        return self.threads[step.t % len(self.threads)]

    def provider(self, step: Step, thread: Thread) -> str:
        """The provider that a step names."""
        own = thread.provider or NAMES[0]
        return NAMES[(step.p - 1) % len(NAMES)] if step.p else own

    def messages(self, piece: Piece) -> list[Any]:
        """The messages of a piece, as the agents made them."""
        if piece.run is None:
            return self.adopted[piece.place]
        known: dict[str, Any] = {}
        for entry in self.fakes[piece.run.provider].sessions[piece.run.session]:
            known.update((message.id, message) for message in entry.messages)
        return [known[id] for id in piece.items]

    def flat(self, pieces: list[Piece]) -> list[Any]:
        """The messages of some pieces, as canonical trees."""
        return [canon(message) for piece in pieces for message in self.messages(piece)]

    def name(self) -> str:
        """A fresh thread id."""
        return self.bench.name(f"t{len(self.model.threads)}")

    def calls(self, provider: str, wanted: list[Any], got: list[Call]) -> Iterator[Diff]:
        """Whether the adapter was asked for just what was needed, in that order."""
        free = "probe" not in [method for method, *_ in wanted]
        made = [c for c in got if not (free and c.method == "probe")]
        expected, shown = [method for method, *_ in wanted], [c.method for c in made]
        self.observed("calls", "order")
        if "fork" in expected:
            self.observed("choice", "calls")
        if "probe" in expected:
            self.observed("probe", "before-rollback" if "fork" in expected else "paginated")
        if any(c.provider != provider for c in made):
            yield self.diff("calls", ("provider",), provider, [c.provider for c in made])
        elif expected != shown:
            asked = [c.method for c in got]
            rolled = asked.index("rollback") if "rollback" in asked else -1
            if rolled >= 0 and "probe" not in asked[:rolled]:
                yield self.diff("probe", ("before-rollback",), expected, shown)
            elif "probe" in expected and "fork" not in expected and "fork" in shown:
                yield self.diff("probe", ("paginated",), expected, shown)
            elif (
                "fork" in expected and "fork" in shown and "rollback" in set(expected) ^ set(shown)
            ):
                yield self.diff("rollback", ("asked",), expected, shown)
            elif ("fork" in expected) != ("fork" in shown):
                yield self.diff("choice", ("calls",), expected, shown)
            else:
                yield self.diff("calls", ("order",), expected, shown)
        else:
            for (method, session, argument), call in zip(wanted, made, strict=True):
                if method == "fork":
                    point = [call.session, call.argument]
                    yield from self.compare("boundary", (method,), [session, argument], point)
                elif method == "rollback":
                    yield from self.compare("rollback", ("turns",), argument, call.argument)
                elif method in ("probe", "send") and session is not None:
                    yield from self.compare("calls", ("session", method), session, call.session)

    def injected(self, plan: Plan, handoffs: list[Any]) -> Iterator[Diff]:
        """Whether what was handed over is what was missing, and is what the record says."""
        wanted = [t for t in plan.transfers if t.resolution != "native_fork"]
        done = {t.id for t in self.model.transfers if t.status == "consumed"}
        for handoff in handoffs:
            if handoff.transfer_id in done:
                yield self.diff("consumed", ("again",), "once", f"handoff of {handoff.kind} again")
                return
            self.observed("consumed", "again")
        expected = [[t.type, self.flat(t.slice)] for t in wanted]
        types = {t.id: t.type for t in self.model.transfers if t.id}
        got = [[list(map(canon, handoff.items))] for handoff in handoffs]
        kind = {"merge_back": "merge", "subagent_result": "result"}.get(
            wanted[-1].type if wanted else "", "missing"
        )
        self.observed("slice", kind)
        if [e[1:] for e in expected] != got:
            shown = [[_id(m) for m in items] for (items,) in got]
            missing = [[_id(m) for m in items] for _, items in expected]
            yield self.diff("slice", (kind,), missing, shown)
            return
        for transfer, handoff in zip(wanted, handoffs, strict=True):
            told = types.get(handoff.transfer_id, transfer.type)
            yield from self.compare("slice", ("order",), transfer.type, told)
            yield from self.compare("choice", ("kind",), transfer.resolution, handoff.kind)
            yield from self.audited(transfer, handoff)

    def audited(self, transfer: Transfer, handoff: Any) -> Iterator[Diff]:
        """Whether a handoff that was injected is the one that its record gives, and gives again."""
        import hashlib

        self.observed("handoff", "text")
        place = 0
        for wanted in [transfer.task or "", *map(_text, self.unflat(transfer.slice))]:
            place = handoff.text.find(wanted, place)
            if place < 0:
                yield self.diff("handoff", ("text",), wanted, handoff.text[:200])
                return
            place += len(wanted)
        digest = hashlib.sha256(handoff.text.encode()).hexdigest()
        yield from self.compare("handoff", ("digest",), digest, handoff.digest)
        covers = [
            [p.run.id if p.run else None, *p.place, None if p.run is None else list(p.items)]
            for p in transfer.slice
        ]
        given = [
            [
                c.run_id,
                c.checkpoint_thread,
                c.checkpoint_id,
                None if c.items is None else [*c.items],
            ]
            for c in handoff.covers
        ]
        yield from self.compare("handoff", ("covers",), covers, given)
        shown = plain(handoff)
        if handoff.id in self.told:
            yield from self.compare("handoff", ("again",), self.told[handoff.id], shown)
        self.told.setdefault(handoff.id, shown)

    def unflat(self, pieces: list[Piece]) -> list[Any]:
        """The messages of some pieces."""
        return [message for piece in pieces for message in self.messages(piece)]

    def ran(self, thread: Thread, provider: str, plan: Plan, run: Any) -> Iterator[Diff]:
        """A run that happened: tell the model, and look at what the session knows now."""
        result = self.world.results[-1]
        if plan.session is not None:
            used = list(self.compare("calls", ("session", "used"), plan.session, result.session))
            yield from used
            if used:
                return
        made = self.model.begin(thread, provider, plan.transfers, run.id)
        self.model.finish(made, result)
        self.keep(made)
        shown = [run.thread_id, run.provider, run.status, run.checkpoint_id]
        wanted = [thread.id, provider, result.status, result.checkpoint_id]
        yield from self.compare("run", ("record",), wanted, shown)
        yield from self.knows(thread, provider)

    def keep(self, run: Run) -> None:
        """Note a checkpoint that was kept back."""
        if run.checkpoint and any(put[1]["id"] == run.checkpoint for put in self.world.lost):
            self.model.lost.add(run.checkpoint)

    def knows(self, thread: Thread, provider: str) -> Iterator[Diff]:
        """Whether the session knows the view: nothing is missing, nothing is there twice."""
        knows = [canon(m) for m in self.fakes[provider].knows(thread.sessions[provider])]
        view = self.flat(thread.view)
        self.observed("knows", "view")
        if knows != view:
            yield self.diff("knows", ("view",), [_id(m) for m in view], [_id(m) for m in knows])


def _id(message: Any) -> Any:
    """The id of a message in a canonical tree."""
    (fields,) = message.values()
    return fields["id"]


def _text(message: Any) -> str:
    return message.content if isinstance(message.content, str) else ""


def plain(handoff: Any) -> list[Any]:
    """A handoff as plain data."""
    covers = [
        [c.thread_id, c.run_id, c.checkpoint_thread, c.checkpoint_id, c.items and list(c.items)]
        for c in handoff.covers
    ]
    items = [canon(item) for item in handoff.items]
    return [
        handoff.id,
        handoff.transfer_id,
        handoff.kind,
        covers,
        items,
        handoff.text,
        handoff.digest,
    ]
