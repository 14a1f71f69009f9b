"""Facts about the installed contract: records, signatures and constants that savers are written against."""

from __future__ import annotations

import inspect
from typing import Any

from lineage_conformance import contract
from lineage_conformance.facts import fact
from lineage_conformance.facts.probe import Probe
from lineage_conformance.handles import OPTIONAL, capability

SAVERS = "A saver that was written against the old contract may not fit the new one."


def _base() -> Any:
    from langgraph.checkpoint import base

    return base


@fact("contract.base-methods", SAVERS, target=False)
def base_methods(p: Probe) -> Any:
    """Public methods of the base class of savers."""
    return sorted(name for name in vars(contract.base_saver()) if not name.startswith("_"))


@fact("contract.checkpoint-keys", SAVERS, target=False)
def checkpoint_keys(p: Probe) -> Any:
    """Keys of the Checkpoint record."""
    return sorted(contract.checkpoint_keys())


@fact("contract.metadata-keys", SAVERS, target=False)
def metadata_keys(p: Probe) -> Any:
    """Keys of the CheckpointMetadata record."""
    return sorted(_base().CheckpointMetadata.__annotations__)


@fact(
    "contract.special-channels",
    "A saver with its own copy of the map stores such writes twice, or once too few.",
    target=False,
)
def special_channels(p: Probe) -> Any:
    """Channels of which a task has one write only, with their index."""
    return dict(contract.special_channels())


@fact("contract.put-writes-parameters", SAVERS, target=False)
def put_writes_parameters(p: Probe) -> Any:
    """Parameters of put_writes in the base class."""
    return list(inspect.signature(contract.base_saver().put_writes).parameters)


@fact("contract.next-version-parameters", SAVERS, target=False)
def next_version_parameters(p: Probe) -> Any:
    """Parameters of get_next_version in the base class."""
    return list(inspect.signature(contract.base_saver().get_next_version).parameters)


@fact(
    "contract.metadata-left-out",
    "History filters on such a key begin or cease to find something.",
    target=False,
)
def metadata_left_out(p: Probe) -> Any:
    """Keys of a config that are kept out of the stored metadata."""
    keys = getattr(_base(), "EXCLUDED_METADATA_KEYS", None)
    p.need(keys is not None, "no EXCLUDED_METADATA_KEYS")
    return sorted(keys or ())


@fact(
    "contract.interrupt-fields",
    "Code that reads fields of an Interrupt may not find them.",
    target=False,
)
def interrupt_fields(p: Probe) -> Any:
    """Fields of an Interrupt."""
    from langgraph.types import Interrupt

    return [name for name in inspect.signature(Interrupt).parameters if name != "deprecated_kwargs"]


@fact(
    "contract.durability-option",
    "Code that passes the option may fail, or get another mode.",
    target=False,
)
def durability_option(p: Probe) -> Any:
    """How a run is told when to store."""
    from langgraph.pregel import Pregel

    names = inspect.signature(Pregel.stream).parameters
    for name in ("durability", "checkpoint_during"):
        if name in names:
            return name
    return "no option"


@fact(
    "contract.delta-channel",
    "Delta channels are lost, gained, or write snapshots at another pace.",
    target=False,
)
def delta_channel(p: Probe) -> Any:
    """Whether the engine has a delta channel, and after how many steps it writes a snapshot."""
    try:
        from langgraph.channels.delta import DeltaChannel
    except ImportError:
        return "no delta channel"
    found = inspect.signature(DeltaChannel.__init__).parameters.get("snapshot_frequency")
    return found.default if found is not None else "no snapshot_frequency"


@fact(
    "contract.sort-of-writes",
    "Writes of parallel tasks may come back in another order.",
    target=False,
)
def sort_of_writes(p: Probe) -> Any:
    """Whether the contract has a rule for the order of pending writes."""
    import importlib

    for module in ("langgraph.checkpoint.base", "langgraph.checkpoint.base.utils"):
        try:
            if any("writes_sort_key" in name for name in vars(importlib.import_module(module))):
                return True
        except ImportError:
            continue
    return any("writes_sort" in name for name in vars(contract.base_saver()))


@fact(
    "contract.duck-typed-saver",
    "A saver that is no BaseCheckpointSaver is refused, or accepted.",
    target=False,
)
def duck_typed_saver(p: Probe) -> Any:
    """What compile does with a saver that does not inherit from the base class."""
    from langgraph.graph import START

    from lineage_conformance.facts.probe import says, state_graph

    class Duck:
        config_specs: tuple[Any, ...] = ()

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return lambda *args, **kwargs: None

    graph = state_graph()
    graph.add_node("a", says("a"))
    graph.add_edge(START, "a")
    graph.compile(checkpointer=Duck())
    return "accepted"


@fact(
    "contract.base-next-version",
    "Savers without a rule of their own number versions in another way.",
    target=False,
)
def base_next_version(p: Probe) -> Any:
    """The versions that the base class gives after None and after 1."""
    base = contract.base_saver()
    return [base.get_next_version(base(), current, None) for current in (None, 1)]


@fact("contract.saver-operations", "An operation that an application calls is gone, or new.")
def saver_operations(p: Probe) -> Any:
    """Which optional operations this half of the saver has."""
    return {name: capability(p.bench.handle(), p.half, name) is None for name in OPTIONAL}


@fact("contract.saver-next-version", "Versions of old and new checkpoints may not compare.")
def saver_next_version(p: Probe) -> Any:
    """The types of the versions that the saver gives: first, next, and after the number 7."""
    first = p.version()
    following = [p.version(first)]
    try:
        following.append(p.version(7))
    except Exception as error:
        following.append(error)
    return [type(version).__name__ for version in (first, *following)]


@fact(
    "contract.saver-versions-rise", "A channel whose version does not rise is not seen to change."
)
def saver_versions_rise(p: Probe) -> Any:
    """Whether twelve versions in a row rise, ten of them after the number nine."""
    versions = [p.version()]
    for _ in range(11):
        versions.append(p.version(versions[-1]))
    return versions == sorted(set(versions))
