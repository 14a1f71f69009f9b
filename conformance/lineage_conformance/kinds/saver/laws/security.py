"""Names and filters are data: no text that a user chose reaches beyond the user's own thread."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import DeleteThread, Get, List, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law
from lineage_conformance.trace import Diff

THREAD = (
    "list lists what matches its config: rows of a thread that was not named are another user's"
)
DATA = "data: ids and keys are opaque text; nothing gives a character of them a meaning"
ODD = (
    "' OR 1=1 --",
    "'; DROP TABLE checkpoints; --",
    '" OR ""="',
    "%",
    "_",
    "*",
    "?",
    "[a-z]*",
    "{$ne: null}",
    "../secret",
    "${jndi:x}",
    "{}",
)


SLASHES = ("a\\b", "a\\", "\\101", "\\x41", "a\\' --")


def _leaks(diff: Diff) -> bool:
    """Whether a list of thread ``mine`` shows rows of another thread."""
    if diff.where != "list:rows" or not isinstance(diff.got, list):
        return False
    return any(not str(row).startswith("mine") for row in diff.got)


@law(
    "security.filter-key-is-data",
    level=Level.MUST,
    stake=Stake.EXPOSED,
    source=THREAD,
    lens=_leaks,
    sees="list:rows",
    after=("namespaces.threads-are-apart",),
    meaning="Whoever chooses a filter key can read the conversations of all users.",
)
def filter_key_is_data() -> Iterator[Program]:
    """No metadata key in a filter makes list show rows of a thread that was not asked for."""
    rows = (Put(1, thread="mine"), Put(2, thread="secret"), Put(3, thread="secret", ns="child"))
    keys = (
        "x') = 1 OR 1=1 OR json_extract(CAST(metadata AS TEXT), '$.x",
        "x' OR '1'='1",
        "x') OR 1=1 --",
        'x" OR ""="',
        "x` OR 1=1 -- ",
        "x}') OR 1=1; --",
        "$where",
        "$or",
        "*",
        "a.b[0]",
        "",
    )
    yield program(*rows, *(List("mine", filter={key: "nope"}, lenient=True) for key in keys))
    yield program(*rows, List("mine", filter={"$or": [{"source": "loop"}, {}]}, lenient=True))


@law(
    "security.filter-value-is-data",
    level=Level.MUST,
    stake=Stake.EXPOSED,
    source="BaseCheckpointSaver.list: filter adds criteria, so it can only narrow what is listed",
    lens="list:rows",
    after=("security.filter-key-is-data", "list.filter-never-ignores-a-key"),
    meaning="A filter on user or tenant, given by a client, matches everybody.",
)
def filter_value_is_data() -> Iterator[Program]:
    """A filter value matches only metadata equal to it: no wildcard, operator or quote in it has a meaning."""
    meta = {"source": "loop", "step": 1, "user": "alice"}
    values = (
        "%",
        "_____",
        "a%",
        "*",
        "al*",
        "a.*",
        "' OR '1'='1",
        "alice' --",
        '"alice" OR 1=1',
        "$.user",
        {"$ne": None},
        {"$gt": ""},
        {"$regex": ".*"},
        {"$exists": True},
        "{alice}",
        "alice|bob",
        "ALICE",
    )
    yield program(
        Put(1, meta=meta),
        List(filter={"user": "alice"}),
        *(List(filter={"user": value}, lenient=True) for value in values),
    )


@law(
    "security.thread-ids-are-data",
    level=Level.MUST,
    stake=Stake.EXPOSED,
    source=DATA,
    lens="list:rows get:channel_values* get:config*",
    after=("namespaces.odd-names-are-apart", "list.unknown-thread-is-empty", "list.whole-thread"),
    meaning="Whoever chooses a thread id can read or overwrite other conversations.",
)
def thread_ids_are_data() -> Iterator[Program]:
    """A thread id full of quotes, wildcards, operators or paths names one thread, or is refused."""
    secret = Put(90, thread="secret", set={"a": ["secret"]})
    probes = [
        op for text in ODD for op in (Get(thread=text, lenient=True), List(text, lenient=True))
    ]
    yield program(secret, *probes)
    stored = [
        Put(n, thread=text, set={"a": [n]}, lenient=True) for n, text in enumerate(ODD + SLASHES, 1)
    ]
    yield program(
        secret,
        *stored,
        *(Get(put.id, put.thread) for put in stored),
        *(List(put.thread) for put in stored),
        Get(thread="secret"),
        List("secret"),
    )


@law(
    "security.namespaces-are-data",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=DATA,
    lens="list:rows get:channel_values* get:config*",
    after=("security.thread-ids-are-data", "list.empty-namespace-is-root"),
    meaning="A subgraph with an odd name reads or overwrites the state of another.",
)
def namespaces_are_data() -> Iterator[Program]:
    """A namespace full of quotes, wildcards, operators or paths names one namespace, or is refused."""
    stored = [
        Put(n, ns=text, set={"a": [n]}, lenient=True) for n, text in enumerate(ODD + SLASHES, 1)
    ]
    yield program(
        Put(90, set={"a": ["root"]}),
        *(op for text in ODD for op in (Get(ns=text, lenient=True), List(ns=text, lenient=True))),
        *stored,
        *(Get(ns=put.ns) for put in stored),
        *(List(ns=put.ns) for put in stored),
        Get(),
        List(),
    )


@law(
    "security.tasks-and-channels-are-data",
    level=Level.MUST,
    stake=Stake.LOST,
    source=DATA,
    lens="get:pending_writes* get:channel_values* list:rows",
    after=("values.complete", "writes.name-their-task", "writes.tasks-are-apart"),
    meaning="A node or channel with an odd name loses or mixes up writes.",
)
def tasks_and_channels_are_data() -> Iterator[Program]:
    """Task ids and channel names are kept as they are, whatever is in them, or refused."""
    yield program(
        Put(1),
        *(Writes(1, text, (("a", n),), lenient=True) for n, text in enumerate(ODD)),
        *(Writes(1, f"task-{n}", ((text, n),), lenient=True) for n, text in enumerate(ODD)),
        Get(1),
        List(),
    )
    yield program(
        *(Put(n, set={text: [n]}, thread=f"t{n}", lenient=True) for n, text in enumerate(ODD, 1)),
        *(Get(n, f"t{n}") for n in range(1, len(ODD) + 1)),
    )


@law(
    "security.backslashes-are-data",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: a node may have any name, and one odd name must not make its thread unreadable",
    lens="get:pending_writes* get:channel_values* list:rows",
    after=("security.tasks-and-channels-are-data",),
    meaning="A thread with such a channel is stored without complaint and can never be read again.",
)
def backslashes_are_data() -> Iterator[Program]:
    """A backslash in a task id or channel name is kept as it is, or refused when it is stored."""
    for text in SLASHES[:4]:
        yield program(
            Put(1, set={"a": "x"}),
            Put(2, 1, set={text: [text]}, thread="t", lenient=True),
            Writes(1, text, (("a", 1),), lenient=True),
            Writes(1, "task-1", ((text, 1),), lenient=True),
            Get(1),
            Get(2),
            List(),
        )


@law(
    "security.delete-takes-no-pattern",
    level=Level.MUST,
    stake=Stake.DELETED,
    source="BaseCheckpointSaver.delete_thread: deletes what belongs to one specific thread id",
    lens="list:rows get:channel_values*",
    needs=("delete_thread",),
    after=("delete.complete", "namespaces.deletion-stays-inside", "security.thread-ids-are-data"),
    meaning="Whoever chooses a thread id can delete all conversations.",
)
def delete_takes_no_pattern() -> Iterator[Program]:
    """Deleting a thread with an odd id, known or not, leaves all others alone."""
    yield program(
        Put(1, thread="secret", set={"a": ["kept"]}),
        Put(2, thread="-secret", set={"a": ["kept"]}),
        *(DeleteThread(text, lenient=True) for text in ODD),
        Get(thread="secret"),
        Get(thread="-secret"),
        List("secret"),
    )
