"""Metadata: what is stored with a checkpoint comes back unchanged, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance import zoo
from lineage_conformance.kinds.saver.operations import Get, Put
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

_PUT = "BaseCheckpointSaver.put: metadata is stored with the checkpoint"
_MERGE = "get_checkpoint_metadata: scalars of the config join the metadata"


@law(
    "metadata.round-trip",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=f"{_PUT}; engine: a run counts its steps from metadata['step']",
    lens="get:metadata*",
    after=("put.is-readable",),
    focus="line",
    meaning="Steps start again from zero, and subgraphs lose their parents.",
)
def round_trip() -> Iterator[Program]:
    """The metadata keys that LangGraph defines come back as they were put."""
    yield program(Put(1, meta={"source": "input", "step": -1}), Get(1), Get())
    yield program(
        Put(
            1,
            meta={
                "source": "loop",
                "step": 3,
                "parents": {"child:1": "x", "": "y"},
                "run_id": "r1",
            },
        ),
        Get(1),
    )
    yield program(Put(1, meta={"source": "fork", "step": 0, "parents": {}}), Get(1))


@law(
    "metadata.keeps-unknown-keys",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=f"{_PUT}; engine: later releases add keys, such as the counters of delta snapshots",
    lens="get:metadata*",
    after=("metadata.round-trip",),
    meaning="A newer LangGraph never snapshots its delta channels, and replays the whole thread.",
)
def keeps_unknown_keys() -> Iterator[Program]:
    """Metadata keys that the saver does not know are kept."""
    yield program(Put(1, meta={"source": "loop", "step": 1, "user": "u1"}), Get(1))
    yield program(
        Put(1, meta={"source": "loop", "step": 1, "counters_since_delta_snapshot": {"d": [2, 5]}}),
        Get(1),
    )


@law(
    "metadata.keeps-values",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=_PUT,
    lens="get:metadata*",
    after=("metadata.keeps-unknown-keys",),
    meaning="An application reads something else than it stored.",
    reports=("langchain-ai/langgraph#8701",),
)
def keeps_values() -> Iterator[Program]:
    """Nested, empty, None and non-ASCII metadata come back with the same values and types."""
    yield program(
        Put(1, meta={"source": "loop", "none": None, "empty": "", "list": [], "dict": {}}), Get(1)
    )
    yield program(
        Put(
            1,
            meta={"source": "loop", "yes": True, "one": 1, "half": 0.5, "text": "1", "big": 2**40},
        ),
        Get(1),
    )
    yield program(
        Put(1, meta={"source": "loop", "deep": {"a": [{"b": None}, [], {"c": [False, 0]}]}}), Get(1)
    )
    yield program(
        Put(1, meta={"source": "loop", "name": "é \U0001f600", "quote": 'it\'s "q" \\'}), Get(1)
    )


@law(
    "metadata.live-objects-do-no-harm",
    level=Level.MUST,
    stake=Stake.FAILS,
    source="engine: the config that put is given holds live objects, the runtime and whatever callers pass",
    lens="get:added_metadata.client* get:added_metadata.options* get:added_metadata.names* get:added_metadata.none",
    after=("metadata.keeps-unknown-keys",),
    meaning="A run fails at its first save because a client object was configured.",
)
def live_objects_do_no_harm() -> Iterator[Program]:
    """Live objects and containers in the config neither break put nor land in the metadata."""
    live = zoo.ref("live")
    yield program(Put(1, extra={"client": live}), Get(1))
    yield program(Put(1, tags={"client": live}), Get(1))
    yield program(Put(1, extra={"options": {"k": [1]}, "names": ["n"], "none": None}), Get(1))


@law(
    "metadata.config-scalars-join",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source=_MERGE,
    lens="get:metadata*",
    after=("metadata.keeps-unknown-keys", "metadata.live-objects-do-no-harm"),
    versions=("langgraph-checkpoint>=2.0.13",),
    meaning="A search of the history for a user or an assistant finds nothing.",
)
def config_scalars_join() -> Iterator[Program]:
    """Text, numbers and booleans of the config join the metadata; a key that is there already stays."""
    yield program(Put(1, extra={"user": "u1", "count": 3, "flag": True, "rate": 0.5}), Get(1))
    yield program(Put(1, tags={"run": 7, "assistant": "x"}), Get(1))
    yield program(Put(1, meta={"source": "loop", "user": "mine"}, extra={"user": "other"}), Get(1))
    yield program(Put(1, extra={"user": "configured"}, tags={"user": "tagged"}), Get(1))


@law(
    "metadata.leaves-reserved-keys-out",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source=f"{_MERGE}, except reserved ones and those that begin with two underscores",
    lens="get:reserved_metadata*",
    after=("metadata.keeps-unknown-keys",),
    versions=("langgraph-checkpoint>=2.0.16",),
    meaning="Internals of a run are stored for ever and break filters of later releases.",
)
def leaves_reserved_keys_out() -> Iterator[Program]:
    """Thread, namespace, checkpoint id and keys that begin with two underscores stay out of the metadata."""
    yield program(Put(1), Put(2, 1, extra={"__secret": "s", "checkpoint_map": "m"}), Get(2))
    yield program(Put(1, tags={"__secret": 1, "langgraph_step": 3, "langgraph_node": "n"}), Get(1))
