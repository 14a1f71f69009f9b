"""Storing a checkpoint and reading it back."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.law import Level, law
from lineage_conformance.program import Get, List, Program, Put, Writes, program

ENGINE_RELOAD = "engine: every run starts from what get_tuple returns for its thread"


@law(
    "put.is-readable",
    level=Level.MUST,
    source=ENGINE_RELOAD,
    lens="get:found list:rows",
    meaning="A conversation is lost, or a run starts from nothing.",
    reports=("skamalj/langgraph_checkpoint_firestore#9",),
)
def is_readable() -> Iterator[Program]:
    """A checkpoint that was put is found by its id, as the latest of its thread, and in the list."""
    yield program(Put(1, set={"a": "x"}), Get(1), Get(), List())
    yield program(Put(1), Get(), List(None, None))


@law(
    "put.returns-its-config",
    level=Level.MUST,
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
    source="engine: the config that put returned is passed to the next put, put_writes and get_tuple",
    lens="get:found get:parent_config* get:pending_writes* list:rows list:row.parent_config*",
    after=("put.returns-its-config", "put.is-readable"),
    meaning="Writes or children are attached to nothing.",
)
def config_is_accepted_everywhere() -> Iterator[Program]:
    """The config that put returned works for a child put, for put_writes, for get_tuple and for list."""
    yield program(
        Put(1, set={"a": 1}),
        Writes(1, items=(("a", "w"),), via="returned"),
        Get(1, via="returned"),
        Put(2, 1, via="returned"),
        Get(2, via="returned"),
        List(id=1),
    )


@law(
    "put.keeps-every-field",
    level=Level.MUST,
    source="BaseCheckpointSaver.get_tuple returns the requested checkpoint; fields of the Checkpoint record",
    lens="get:v get:id get:ts get:versions_seen* list:row.v list:row.id list:row.ts"
    " list:row.versions_seen* get:updated_channels* list:row.updated_channels*",
    after=("put.is-readable",),
    focus="put",
    meaning="The engine schedules from versions_seen: a lost entry runs a node twice or never.",
    reports=("langchain-ai/langchain-aws#546",),
)
def keeps_every_field() -> Iterator[Program]:
    """Id, timestamp, format number, versions seen and updated channels come back as they were put."""
    yield program(Put(1, set={"a": 1}, seen=True), Put(2, 1, set={"b": 2}, seen=True), Get(2), Get(1), List())
