"""Storing a checkpoint and reading it back."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import Get, List, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

ENGINE_RELOAD = "engine: every run starts from what get_tuple returns for its thread"

_NESTED = {"source": "loop", "step": 1, "parents": {"child": "x"}, "notes": ["n"]}


@law(
    "put.is-readable",
    level=Level.MUST,
    stake=Stake.LOST,
    source=ENGINE_RELOAD,
    lens="get:found list:rows",
    meaning="A conversation is lost, or a run starts from nothing.",
    reports=("skamalj/langgraph_checkpoint_firestore#9",),
)
def is_readable() -> Iterator[Program]:
    """A checkpoint that was put is found by its id, as the latest of its thread, and in the list."""
    yield program(Put(1, set={"a": "x"}), Get(1), Get(), List())
    yield program(Put(1, ns="child"), Get(1, ns="child"), Get(ns="child"), List(ns="child"))


@law(
    "put.returns-its-config",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="BaseCheckpointSaver.put: returns the updated config after storing the checkpoint",
    lens="put:returned*",
    after=("put.is-readable",),
    meaning="The next step is stored under the wrong parent.",
)
def returns_its_config() -> Iterator[Program]:
    """put returns a config that names the thread, the namespace and the id of what it stored."""
    yield program(Put(1), Put(2, 1))
    yield program(Put(1, ns="child"))


@law(
    "put.config-is-accepted-everywhere",
    level=Level.MUST,
    stake=Stake.LOST,
    source="engine: update_state hands the config that put returned to put_writes, get_tuple and put",
    lens="get:found get:pending_writes*",
    after=("put.returns-its-config", "put.is-readable", "writes.round-trip"),
    meaning="Writes or children are attached to nothing.",
)
def config_is_accepted_everywhere() -> Iterator[Program]:
    """The config that put returned works for a child put, for put_writes and for get_tuple."""
    yield program(
        Put(1, set={"a": 1}),
        Writes(1, items=(("a", "w"),), via="returned"),
        Get(1, via="returned"),
        Put(2, 1, via="returned"),
        Get(2, via="returned"),
    )


@law(
    "put.keeps-every-field",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="BaseCheckpointSaver.get_tuple returns the requested checkpoint; fields of the Checkpoint record",
    lens="get:v get:id get:ts get:versions_seen* get:updated_channels*",
    after=("put.is-readable",),
    focus="line",
    meaning="The engine schedules from versions_seen: a lost entry runs a node twice or never.",
    reports=("langchain-ai/langchain-aws#546",),
)
def keeps_every_field() -> Iterator[Program]:
    """Id, timestamp, format number, versions seen and updated channels come back as they were put."""
    yield program(
        Put(1, set={"a": 1}, seen=True), Get(1), Put(2, 1, set={"b": 2}, seen=True), Get(2)
    )


@law(
    "put.twice-is-once",
    level=Level.SHOULD,
    stake=Stake.REPEATED,
    source="Checkpoint.id is unique: a put that is retried, or corrected, cannot make a second checkpoint",
    lens="get:metadata* get:channel_values* list:rows",
    after=("put.is-readable", "values.complete", "metadata.round-trip"),
    meaning="A retry after a lost answer fails, or shows one step twice in the history.",
)
def twice_is_once() -> Iterator[Program]:
    """Putting a checkpoint id again keeps one checkpoint, with the newest metadata."""
    again = {"source": "update", "step": 7}
    yield program(Put(1, set={"a": "x"}), Put(1, set={"a": "x"}), Get(1), List())
    yield program(Put(1, set={"a": "x"}), Put(1, set={"a": "x"}, meta=again), Get(1), List())
    yield program(Put(1), Put(2, 1, set={"a": "x"}), Put(2, 1, set={"a": "x"}, meta=again), Get())


@law(
    "put.leaves-arguments-alone",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="engine: the loop goes on with the config, the values and the metadata that it passed to put",
    lens="put:arguments*",
    after=("put.is-readable",),
    meaning="Saving changes the state of the run that is being saved.",
)
def leaves_arguments_alone() -> Iterator[Program]:
    """put changes neither the config, the checkpoint, the metadata nor the versions that it is given."""
    yield program(
        Put(
            1,
            set={"a": ["x"], "b": {"k": ["y"]}, "c": None},
            empty=("e",),
            seen=True,
            meta=_NESTED,
            extra={"user": "u"},
            tags={"run": 7},
            watch=True,
        ),
        Put(2, 1, drop=("a",), watch=True),
    )


@law(
    "put.is-isolated-from-caller",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="data: what was stored may not change because nodes go on changing their own objects",
    lens="get:channel_values* get:channel_versions* get:versions_seen* get:metadata*",
    after=(
        "put.keeps-every-field",
        "values.complete",
        "metadata.keeps-values",
        "versions.minted-come-back",
    ),
    meaning="History is rewritten by code that runs later.",
    reports=("langchain-ai/langgraph#4168",),
)
def is_isolated_from_caller() -> Iterator[Program]:
    """What the caller does to its objects after put is not seen in what was stored."""
    values = {"a": ["x"], "b": {"k": ["y"]}}
    yield program(Put(1, set=values, scribble=True), Get(1), Get())
    yield program(Put(1, set=values, seen=True, meta=_NESTED, scribble=True), Get(1))


@law(
    "put.read-is-isolated",
    level=Level.SHOULD,
    stake=Stake.CHANGED,
    source="data: two readers of one checkpoint may not see each other's changes",
    lens="get:channel_values* get:channel_versions* get:versions_seen* get:metadata* get:pending_writes*"
    " get:config* get:parent_config*",
    after=(
        "put.is-isolated-from-caller",
        "writes.are-isolated-from-caller",
        "fork.parents",
        "latest.names-itself",
    ),
    meaning="Looking at a checkpoint and trimming the answer changes what the next run starts from.",
)
def read_is_isolated() -> Iterator[Program]:
    """What a reader does to a tuple that it was given is not seen by the next reader."""
    yield program(
        Put(1, set={"a": ["x"], "b": {"k": ["y"]}}, seen=True, meta=_NESTED),
        Writes(1, items=(("a", ["w"]),)),
        Get(1, scribble=True),
        Get(1),
        Get(scribble=True),
        Get(),
    )
