"""Whether a target holds somebody's data. Asked before anything is written, for every kind of target.

What is asked is ``list(None, limit=1)`` of each saver that can be seen: the one that `--over` names, the
attribute `saver` of a backend, the backend itself where it lists, and, for the kinds whose `use` is given a
builder, the saver that the backend gives to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.handles import Half, Handle
from lineage_conformance.kind import Kind


def holds_data(handle: Handle, kind: Kind, under: Any = None) -> bool | None:
    """Whether the target lists a checkpoint; None where nothing could be asked."""
    told: bool | None = None
    for saver in _savers(handle.saver, kind, under):
        found = _listed(Handle(saver, handle.loop))
        if found:
            return True
        told = found if told is None else told
    return told


def _savers(backend: Any, kind: Kind, under: Any) -> Iterator[Any]:
    seen = 0
    for saver in (under, getattr(backend, "saver", None), backend):
        if hasattr(saver, "list") or hasattr(saver, "alist"):
            seen += 1
            yield saver
    if not seen and kind.lends:
        yield from _lent(backend)


def _lent(backend: Any) -> list[Any]:
    """What the backend hands to a builder of graphs. The graph is never run."""
    lent: list[Any] = []

    def build(saver: Any) -> Any:
        from langgraph.graph import START, MessagesState, StateGraph

        lent.append(saver)
        graph = StateGraph(MessagesState)
        graph.add_node("nothing", lambda state: {})
        graph.add_edge(START, "nothing")
        return graph.compile(checkpointer=saver)

    try:
        backend.use(build)
    except BaseException:  # it may have its own agent only, or fail as the laws will show
        return lent
    return lent


def _listed(handle: Handle) -> bool | None:
    halves: tuple[Half, ...] = ("sync", "async")
    for half in halves:
        for options in ({"limit": 1}, {}):  # not every saver takes a limit
            rows = handle.rows(half, None, **options)
            try:
                return next(rows, None) is not None
            except TypeError:
                continue
            except BaseException:  # this half lists nothing; the laws say why
                break
            finally:
                rows.close()  # type: ignore[attr-defined]
    return None
