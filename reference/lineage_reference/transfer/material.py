"""Material: messages are read where the runs left them, and rendered into a handoff.

One checkpoint is read for each piece that is transferred, and no other: what a run of a long conversation said
stands at that run's own checkpoint, whatever came before or after.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lineage_reference.final_answer import text_of
from lineage_reference.steps import Steps, call
from lineage_reference.transfer.records import ContextHandoff, Cover, Refused
from lineage_reference.turns import head


def read(saver: Any, covers: Sequence[Cover]) -> Steps[list[Any]]:
    """The messages of some covers, in order. Raises `Refused` (``source_gone``) where one is missing."""
    items: list[Any] = []
    for cover in covers:
        items += yield from _read_one(saver, cover)
    return items


def _read_one(saver: Any, cover: Cover) -> Steps[list[Any]]:
    where = f"checkpoint {cover.checkpoint_id} of {cover.checkpoint_thread}"
    config = head(cover.checkpoint_thread, id=cover.checkpoint_id)
    found = yield from call(saver, "get_tuple", config)
    if found is None:
        raise Refused("source_gone", where)
    messages = list(found.checkpoint.get("channel_values", {}).get("messages") or ())
    if cover.items is None:
        return messages
    # Not a range: a summary may stand where older messages were, and others between those of the run.
    known = {_get(message, "id"): message for message in messages}
    missing = [id for id in cover.items if id not in known]
    if missing:
        raise Refused("source_gone", f"message {missing[0]} at {where}")
    return [known[id] for id in cover.items]


def handoff(
    transfer_id: str,
    delta: bool,
    covers: Sequence[Cover],
    items: Sequence[Any],
    task: str | None,
    at: float,
) -> ContextHandoff:
    """What is injected for a transfer. `task`: that of a spawned subagent, which has no items."""
    kind = "delta_context" if delta else "portable_context"
    if not delta and len(covers) == 1 and covers[0].run_id is None:
        kind = "checkpoint_context"
    text = _text(items) if task is None else task
    return ContextHandoff(
        uuid.uuid4().hex,
        transfer_id,
        kind,
        tuple(covers),
        tuple(items),
        text,
        _digest(text),
        at,
    )


def rebuilt(saver: Any, kept: ContextHandoff) -> Steps[ContextHandoff]:
    """A handoff made again from what its record says and what the saver holds now."""
    if not kept.covers:  # a task: there is nothing to read
        return replace(kept, digest=_digest(kept.text))
    items = yield from read(saver, kept.covers)
    text = _text(items)
    return replace(kept, items=tuple(items), text=text, digest=_digest(text))


def _text(items: Sequence[Any]) -> str:
    told = (
        (_get(item, "type") or _get(item, "role"), text_of(_get(item, "content"))) for item in items
    )
    return "\n\n".join(f"{role}: {text}" if role else text for role, text in told if text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _get(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
