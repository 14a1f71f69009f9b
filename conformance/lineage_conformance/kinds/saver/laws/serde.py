"""Values: what goes into channels and writes comes back, with its type, or is refused out loud.

The oracle is the saver's own serializer: what that changes (tuples become lists, everywhere) is its
contract. What a saver does to a value beside or after it is not. Where a serializer itself turns
something into nothing, `serde.no-silent-none` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance import zoo
from lineage_conformance.kinds.saver.operations import Get, List, Put, Vanish, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

LOST = "data: a value that silently changes is lost, and the next step computes with another one"
LENS = "get:channel_values* get:pending_writes*"


def _everywhere(*values: Any, lenient: bool = True) -> Program:
    """Each value as a channel, as a write, and inside a list and a dictionary of another channel."""
    channels = {f"c{n}": value for n, value in enumerate(values)}
    items = tuple((f"w{n}", value) for n, value in enumerate(values))
    nested = {"in": [list(values), {"deep": {"list": list(values)}}]}
    return program(
        Put(1, set=channels, lenient=lenient),
        Put(2, set=nested, thread="nested", lenient=lenient),
        Writes(1, items=items, lenient=lenient),
        Get(1),
        Get(2, thread="nested"),
    )


def _each(*values: Any) -> Program:
    """Each value in a thread and a task of its own, so that one refusal hides no other value."""
    ops: list[Any] = []
    for n, value in enumerate(values):
        thread = f"t{n}"
        ops += [
            Put(1, thread=thread),
            Put(2, 1, thread, set={"a": value}, lenient=True),
            Writes(1, items=(("a", [value]),), thread=thread, lenient=True),
            Get(1, thread),
            Get(2, thread),
        ]
    return program(*ops)


def _have(*names: str) -> list[Any]:
    return [zoo.ref(name) for name in names if zoo.available(name)]


@law(
    "serde.plain-json",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=LOST,
    lens=LENS,
    after=(
        "put.is-readable",
        "values.empty-is-not-none",
        "writes.none-is-a-value",
        "writes.same-channel-twice",
        "writes.many-in-order",
    ),
    meaning="Ordinary state comes back as something else.",
    reports=("langchain-ai/langgraphjs#577",),
)
def plain_json() -> Iterator[Program]:
    """Texts, numbers, truth values, None, lists and dictionaries come back equal and of the same type."""
    yield _everywhere(
        "x",
        "",
        0,
        1,
        -7,
        True,
        False,
        None,
        0.5,
        [],
        {},
        ["a", [1]],
        {"k": {"n": None}},
        lenient=False,
    )
    yield _everywhere("1", "true", "null", "{}", "[1]", '"q"', "\\n\n\t", lenient=False)


@law(
    "serde.refusal-changes-nothing",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: a step that failed to save leaves the thread as it was before that step",
    lens="get:channel_values* get:parent_config* get:metadata* list:rows",
    after=("serde.plain-json", "fork.parents", "metadata.round-trip"),
    meaning="One bad value makes a whole conversation unreadable.",
    reports=("langchain-ai/langgraph#8185",),
)
def refusal_changes_nothing() -> Iterator[Program]:
    """After a put that was refused, the thread reads as before and takes the next checkpoint."""
    bad = zoo.ref("generator")
    yield program(
        Put(1, set={"a": "x"}),
        Put(2, 1, set={"a": "y", "b": bad}, lenient=True),
        Get(),
        Put(3, 1, set={"a": "z"}),
        Get(1),
        Get(3),
        List(),
    )
    yield program(Put(1, set={"a": "x", "b": [{"k": bad}]}, lenient=True), Get(), List())


@law(
    "serde.messages",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="engine: add_messages merges by class and id, so a message that comes back as a dict is a new one",
    lens=LENS,
    after=("serde.refusal-changes-nothing",),
    meaning="Tool calls lose their results; the model sees a broken conversation.",
    reports=(
        "redis-developer/langgraph-redis#87",
        "redis-developer/langgraph-redis#181",
    ),
)
def messages() -> Iterator[Program]:
    """Messages keep their class, id and tool calls, in channels, in writes, and nested."""
    yield _everywhere(*_have("human", "ai_calls", "tool"))


@law(
    "serde.application-classes",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=LOST,
    lens=LENS,
    after=("serde.refusal-changes-nothing",),
    meaning="A model or an enum of the application comes back as a dict, or as nothing.",
    reports=("redis-developer/langgraph-redis#126", "langchain-ai/langgraph#7066"),
)
def application_classes() -> Iterator[Program]:
    """Pydantic models, dataclasses and enums come back as the serializer returns them, or are refused."""
    yield _everywhere(*_have("pydantic", "dataclass", "enum"))
    yield _each(*_have("pydantic", "dataclass", "enum"))


@law(
    "serde.dates-and-decimals",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=LOST,
    lens=LENS,
    after=("serde.refusal-changes-nothing",),
    meaning="A time moves to another zone, an amount of money is rounded.",
)
def dates_and_decimals() -> Iterator[Program]:
    """Datetimes keep their zone, Decimals their digits, UUIDs and times their type, or are refused."""
    yield _everywhere(
        *_have("datetime_utc", "datetime_offset", "datetime_naive", "decimal", "uuid")
    )
    yield _each(*_have("datetime_offset", "date", "time", "timedelta", "decimal"))


@law(
    "serde.containers-and-bytes",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=LOST,
    lens=LENS,
    after=("serde.refusal-changes-nothing",),
    meaning="A set comes back as a list, bytes come back as text.",
    reports=("redis-developer/langgraph-redis#198", "redis-developer/langgraph-redis#192"),
)
def containers_and_bytes() -> Iterator[Program]:
    """Sets, tuples, bytes, deques and other than text keys survive as the serializer keeps them."""
    yield _everywhere(*_have("set", "frozenset", "tuple", "bytes"))
    yield _each(*_have("bytes", "set", "int_keys", "deque", "ip", "str_subclass"))


@law(
    "serde.extreme-numbers",
    level=Level.SHOULD,
    stake=Stake.CHANGED,
    source="data: LangGraph itself never stores one; a JSON column may turn 1e22 into an int, -0.0 into 0.0",
    lens=LENS,
    after=("serde.refusal-changes-nothing",),
    meaning="A number changes type or sign after a reload.",
)
def extreme_numbers() -> Iterator[Program]:
    """Infinities, NaN, negative zero, huge floats and big integers come back equal, or are refused."""
    yield _each(*_have("inf", "nan", "negative_zero", "bigint"), 2**63 - 1, -(2**63), 2**53 + 1)
    yield _each(1e22, 1e-7, 1.7976931348623157e308, 5e-324, 100.0)


@law(
    "serde.odd-text",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=LOST,
    lens=LENS,
    after=("serde.refusal-changes-nothing",),
    meaning="Text of users or tools is cut, escaped, or makes the step fail.",
    reports=("langchain-ai/langgraph#1885",),
)
def odd_text() -> Iterator[Program]:
    """Text with NUL, lone surrogates, emoji or great length comes back unchanged, or is refused."""
    yield _each(*_have("nul", "surrogate", "emoji", "long_text"))
    yield _each("e\u0301", "\u00e9", "\ufeffx", " x ", "\r\n", "\u2028", "'; --", "%s {0} $1")


@law(
    "serde.numpy",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=LOST,
    lens=LENS,
    after=("serde.refusal-changes-nothing",),
    meaning="An embedding comes back with another shape or type.",
    reports=("langchain-ai/langgraph#8746",),
)
def numpy() -> Iterator[Program]:
    """Arrays keep shape, type and numbers, or are refused."""
    if zoo.available("numpy"):
        yield _each(zoo.ref("numpy"), {"k": [zoo.ref("numpy")]})


@law(
    "serde.nested",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=LOST,
    lens=LENS,
    after=(
        "serde.plain-json",
        "serde.messages",
        "serde.application-classes",
        "serde.dates-and-decimals",
        "serde.containers-and-bytes",
        "serde.odd-text",
        "serde.numpy",
    ),
    focus="values",
    meaning="State is kept on the surface and flattened below.",
    reports=("redis-developer/langgraph-redis#198", "redis-developer/langgraph-redis#87"),
)
def nested() -> Iterator[Program]:
    """What holds of a value alone holds of it deep inside lists and dictionaries."""
    deep: Any = ["leaf", None, {}]
    for level in range(6):
        deep = {"k": [deep], "n": level}
    yield program(Put(1, set={"a": deep}), Writes(1, items=(("a", deep),)), Get(1))


@law(
    "serde.refused-writes-leave-none",
    level=Level.SHOULD,
    stake=Stake.LOST,
    source="engine: a task counts as finished when it has writes, so half of them loses the rest",
    lens="get:pending_writes*",
    after=("serde.refusal-changes-nothing", "writes.may-grow"),
    meaning="A resumed run takes a task for finished that stored only some of its results.",
)
def refused_writes_leave_none() -> Iterator[Program]:
    """put_writes stores all writes of a call, or none when it refuses one."""
    yield program(
        Put(1),
        Writes(1, items=(("a", "kept?"), ("b", zoo.ref("generator"))), lenient=True),
        Get(1),
        Writes(1, items=(("a", "again"), ("b", "good"))),
        Get(1),
    )


def _whole(*names: str) -> Iterator[Program]:
    """Each value in a channel and in a write, read back by an eye that sees only what became None."""
    for name in names:
        if zoo.available(name):
            value = zoo.ref(name)
            yield program(
                Put(1, set={"a": value}, lenient=True),
                Writes(1, items=(("w", value),), lenient=True),
                *((Vanish(),) if name == "vanishing" else ()),
                Get(1, lenient=True, whole=True),
            )


@law(
    "serde.no-silent-none",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: what was stored as something and is read as None is lost without a word",
    lens="get:lost*",
    after=("serde.refusal-changes-nothing", "serde.application-classes"),
    meaning="Part of the state is gone, and nothing says so.",
    reports=("langchain-ai/langgraph#6718", "redis-developer/langgraph-redis#198"),
)
def no_silent_none() -> Iterator[Program]:
    """A value that is not None never comes back as None, even if the saver's own serializer says so."""
    yield from _whole("pydantic", "enum", "dataclass")


@law(
    "serde.lost-class-is-not-none",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: a value outlives the class it was made of, and None would be stored back over it",
    lens="get:lost*",
    after=("serde.no-silent-none",),
    meaning="A deploy that renames a class empties the state of saved conversations.",
    reports=("langchain-ai/langgraph#6970",),
)
def lost_class_is_not_none() -> Iterator[Program]:
    """A value whose class is gone raises, or comes back as data, and never as None."""
    yield from _whole("vanishing")


@law(
    "serde.metadata-plain-json",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="engine: reads step and delta counters back as numbers and nested lists of numbers",
    lens="get:metadata*",
    after=("metadata.keeps-values", "latest.is-largest-id"),
    meaning="Counters and user tags in the history change type or text.",
    reports=("langchain-ai/langgraph#8701",),
)
def metadata_plain_json() -> Iterator[Program]:
    """Plain JSON in metadata, nested and in any script, comes back equal and of the same type."""
    plain = {"s": "caf\u00e9 \U0001f600", "i": 2**53 - 1, "t": True, "one": 1, "f": 0.5, "n": None}
    yield program(
        Put(1, meta={"source": "loop", "step": -1, "flat": plain["s"], **plain}),
        Put(
            2,
            1,
            meta={"source": "loop", "step": 1, "deep": {"list": [plain, [], {}], "": "empty key"}},
        ),
        Put(
            3,
            2,
            meta={"counters_since_delta_snapshot": {"messages": [3, 12]}, "parents": {"": "x"}},
        ),
        Get(1),
        Get(2),
        Get(3),
    )
