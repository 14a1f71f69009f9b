"""Two encodings of how a list, or a dictionary of lists, changed: `Tail` and `Splice`.

Both compare *serialized* items. A value that was changed in place is the same object before and after,
so nothing but a copy can tell, and the serialized form is the copy that is made anyway; ``==`` would also
take True for 1. Serializing a list as msgpack puts its items one after the other, so an unchanged
beginning is a common prefix of bytes, found at the speed of memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from lineage_reference.delta import script
from lineage_reference.delta.codec import (
    Malformed,
    Reader,
    array,
    body,
    chunk,
    mapping,
    number,
    text,
)
from lineage_reference.delta.parts import EMPTY, Part, Plain, Unfit, diff

Value = Any  # list[Any] | dict[str, list[Any]]

APPEND, REPLACE = "conversation", "compaction"
"""The two step actions: what a blob says goes on top of the one before it, or stands alone."""


class State(NamedTuple):
    """A value in serialized form. A plain list is the one part ``""``."""

    plain: bool
    parts: Mapping[str, Part]


@dataclass(frozen=True)
class Edit:
    """How a value became another one."""

    action: str
    data: bytes
    state: State
    shrank: bool
    """Whether any list became shorter, or was removed."""


def fit(value: Any) -> bool:
    """Whether a value is a list, or a dictionary of lists with text keys."""
    if type(value) is list:
        return True
    return type(value) is dict and all(type(k) is str and type(v) is list for k, v in value.items())


class Encoding(Protocol):
    """What both encodings offer."""

    name: str
    tag: int
    """The first byte of its blobs."""

    def encode(self, value: Value, old: State | None) -> Edit | None:
        """How `value` came from `old` (None: from nothing known); None when it is the same."""
        ...

    def rebuild(self, blobs: Sequence[bytes]) -> Value:
        """The value after these blobs, the first of which stands alone."""
        ...

    def resume(self, blobs: Sequence[bytes]) -> State:
        """The serialized form of `rebuild`, to go on from."""
        ...


def _lists(value: Value) -> tuple[bool, Mapping[str, list[Any]]]:
    return (True, {"": value}) if type(value) is list else (False, value)


def _shrank(old: State | None, value: Value) -> bool:
    if old is None:
        return False
    plain, lists = _lists(value)
    if plain != old.plain:
        return True
    return any(len(lists.get(key, ())) < len(part.ends) for key, part in old.parts.items())


def _body(plain: Plain, items: list[Any]) -> bytes:
    found = body(plain.dump(items), len(items))
    if found is None:
        raise Unfit("the serializer did not write a list as a msgpack array")
    return found


class Tail:
    """New items for a pure append, the whole value for any other change.

    The form that servers in the field speak: a blob is the serialized tail (per key for a dictionary)
    with one step action for the whole channel. So when a key is rewritten, shortened or removed, all keys
    are sent as a replacement, whatever else appended in the same step.
    """

    name, tag = "tail", 1

    def __init__(self, plain: Plain) -> None:
        self.plain = plain

    def encode(self, value: Value, old: State | None) -> Edit | None:
        """See `Encoding.encode`."""
        plain, lists = _lists(value)
        bodies = {key: _body(self.plain, items) for key, items in lists.items()}
        # Where items end does not matter here, only how many there are.
        state = State(plain, {k: Part(bodies[k], range(len(lists[k]))) for k in lists})
        if old is not None and old.plain == plain:
            delta = (
                list_delta(old.parts[""], bodies[""], value)
                if plain
                else dict_of_list_delta(old.parts, bodies, value)
            )
            if delta is None:
                return None
            tail, appended = delta
        else:
            tail, appended = value, False
        action = APPEND if appended else REPLACE
        return Edit(action, self.plain.dump(tail), state, _shrank(old, value))

    def rebuild(self, blobs: Sequence[bytes]) -> Value:
        """See `Encoding.rebuild`."""
        value = self.plain.load(blobs[0])
        for data in blobs[1:]:
            tail = self.plain.load(data)
            if type(value) is not type(tail):
                raise Malformed("a tail of another shape than its base")
            if type(value) is list:
                value.extend(tail)
            else:
                for key, items in tail.items():
                    value.setdefault(key, []).extend(items)
        return value

    def resume(self, blobs: Sequence[bytes]) -> State:
        """See `Encoding.resume`."""
        edit = self.encode(self.rebuild(blobs), None)
        assert edit is not None
        return edit.state


def list_delta(old: Part, new: bytes, value: list[Any]) -> tuple[list[Any], bool] | None:
    """How a list changed: its new items and True for an append, all of it and False for any other change.

    `old` is what was, `new` the serialized items of `value`. None when nothing changed. Msgpack says
    itself where an item ends, so a common prefix of bytes that is as long as the old items is those items.
    """
    if len(value) >= len(old.ends) and new.startswith(old.data):
        return None if len(value) == len(old.ends) else (value[len(old.ends) :], True)
    return value, False


def dict_of_list_delta(
    old: Mapping[str, Part], new: Mapping[str, bytes], value: Mapping[str, list[Any]]
) -> tuple[dict[str, list[Any]], bool] | None:
    """How a dictionary of lists changed: tails by key and True if all that changed was appends.

    A key that vanished or was rewritten makes it the whole dictionary and False: tails by key can say
    neither, and there is one action for all of them. None when nothing changed.
    """
    tails: dict[str, list[Any]] = {}
    appended = list(old) == list(value)[: len(old)]
    for key, items in value.items():
        delta = list_delta(old.get(key, EMPTY), new[key], items)
        if delta is not None:
            tails[key] = delta[0]
            appended = appended and delta[1]
        elif key not in old:
            tails[key] = []
    if not appended:
        return dict(value), False
    return (tails, True) if tails else None


class Splice:
    """A short edit script per list: what is kept, dropped, new, and changed within an item.

    An edit costs what it changes, wherever it is: an entry that goes from pending to success, a window that
    slides, a text that grows, an early correction together with an append. A script that would not be
    shorter than the value gives way to the value.
    """

    name, tag = "splice", 2

    def __init__(self, plain: Plain) -> None:
        self.plain = plain

    def encode(self, value: Value, old: State | None) -> Edit | None:
        """See `Encoding.encode`."""
        plain, lists = _lists(value)
        shrank = _shrank(old, value)
        known = (
            old.parts if old is not None and old.plain == plain and _in_order(old, lists) else None
        )
        scripts: dict[str, bytes] = {}
        parts: dict[str, Part] = {}
        for key, items in lists.items():
            before = (known or {}).get(key)
            scripts[key], parts[key] = self._list(before or EMPTY, items)
            if before is not None and not scripts[key]:
                del scripts[key]
        state = State(plain, parts)
        if known is not None:
            gone = [key for key in known if key not in lists]
            if not scripts and not gone:
                return None
            data = scripts[""] if plain else _pack(gone, scripts)
            if not self._rather_whole(data, parts, known, plain):
                return Edit(APPEND, (b"l" if plain else b"d") + data, state, shrank)
        whole = {key: script.whole(part.items()) for key, part in parts.items()}
        data = whole[""] if plain else _pack([], whole)
        return Edit(REPLACE, (b"l" if plain else b"d") + data, state, shrank)

    @staticmethod
    def _rather_whole(
        data: bytes, parts: Mapping[str, Part], known: Mapping[str, Part], plain: bool
    ) -> bool:
        """Whether to send the value: the script is no shorter, or a list was cut to half or less.

        The latter makes reading the head cheap again; a dictionary has keys that did not change.
        """
        size = sum(len(part.data) + 2 * len(part.ends) for part in parts.values())
        halved = plain and len(parts[""].ends) * 2 <= len(known[""].ends)
        return len(data) > size or (halved and size * 2 <= len(known[""].data))

    def _list(self, old: Part, items: list[Any]) -> tuple[bytes, Part]:
        """The script from `old` to `items`, and their serialized form."""
        data = _body(self.plain, items)
        if data == old.data:
            return b"", old
        return diff(old, data, len(items), lambda index: self.plain.item(items[index]))

    def resume(self, blobs: Sequence[bytes]) -> State:
        """See `Encoding.resume`."""
        plain, parts = self._fold(blobs)
        return State(plain, {key: Part.of(items) for key, items in parts.items()})

    def rebuild(self, blobs: Sequence[bytes]) -> Value:
        """See `Encoding.rebuild`."""
        plain, parts = self._fold(blobs)
        if plain:
            return self.plain.load(array(len(parts[""])) + b"".join(parts[""]))
        pieces = [mapping(len(parts))]
        for key, items in parts.items():
            pieces += [self.plain.item(key), array(len(items)), *items]
        return self.plain.load(b"".join(pieces))

    @staticmethod
    def _fold(blobs: Sequence[bytes]) -> tuple[bool, dict[str, list[bytes]]]:
        plain = blobs[0][:1] == b"l"
        parts: dict[str, list[bytes]] = {"": []} if plain else {}
        for data in blobs:
            if plain != (data[:1] == b"l"):
                raise Malformed("a script of another shape than its base")
            if plain:
                script.apply_items(parts[""], data, 1, len(data))
                continue
            reader = Reader(data)
            reader.at = 1
            for _ in range(reader.number()):
                del parts[reader.text()]
            while not reader.done:
                items = parts.setdefault(reader.text(), [])
                size = reader.number()
                script.apply_items(items, data, reader.at, reader.at + size)
                reader.at += size
        return plain, parts


def _in_order(old: State, lists: Mapping[str, list[Any]]) -> bool:
    """Whether the keys that stay are in their old order, before the new ones."""
    stay = [key for key in old.parts if key in lists]
    return list(lists)[: len(stay)] == stay


def _pack(gone: Sequence[str], scripts: Mapping[str, bytes]) -> bytes:
    pieces = [number(len(gone)), *map(text, gone)]
    for key, made in scripts.items():
        pieces += [text(key), chunk(made)]
    return b"".join(pieces)
