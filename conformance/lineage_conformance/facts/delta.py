"""Facts about delta channels: what is loaded again, and what is stored for it."""

from __future__ import annotations

from typing import Any

from lineage_conformance.facts import fact
from lineage_conformance.facts.probe import Probe, state_graph

LOADED = "State in delta channels is loaded as something else than the run has shown."


def _graph(p: Probe, nodes: dict[str, Any], parallel: bool = False, **options: Any) -> Any:
    """A graph whose ``log`` is a delta channel. Raises `Absent` where there is none."""
    try:
        from langgraph.channels.delta import DeltaChannel
    except ImportError:
        p.need(False, "no delta channel")
    from typing import Annotated

    from langgraph.graph import START
    from typing_extensions import TypedDict

    fields = {"log": Annotated[list, DeltaChannel(_extend, **options)]}
    made = state_graph(TypedDict("DeltaState", fields))  # type: ignore[operator]
    previous = START
    for name, node in nodes.items():
        made.add_node(name, node)
        made.add_edge(previous, name)
        previous = START if parallel else name
    return made.compile(checkpointer=p.saver)


def _extend(state: Any, writes: Any) -> list[Any]:
    return [*(state or ()), *(item for write in writes for item in write)]


def _line(p: Probe, **options: Any) -> Any:
    return _graph(p, {"a": lambda s: {"log": ["a"]}, "b": lambda s: {"log": ["b"]}}, **options)


@fact("delta.live-and-loaded", LOADED)
def live_and_loaded(p: Probe) -> Any:
    """What a run of two nodes shows, and what is loaded afterwards."""
    graph = _line(p)
    return [p.run(graph, {"log": ["in"]})["log"], p.log(graph)]


@fact("delta.parallel-order", LOADED)
def parallel_order(p: Probe) -> Any:
    """What a run of six parallel nodes shows, and whether the same order is loaded afterwards, three times."""
    nodes = {name: (lambda s, name=name: {"log": [name]}) for name in "dbacfe"}
    graph = _graph(p, nodes, parallel=True)
    pairs = []
    for label in (
        "-1",
        "-2",
        "-3",
    ):  # a wrong order follows task ids, which are never the same: it may look right
        pairs.append(
            (p.run(graph, {"log": ["in"]}, p.config(label))["log"], p.log(graph, p.config(label)))
        )
    same = all(live == loaded for live, loaded in pairs)
    return [pairs[0][0], "loaded in this order" if same else "loaded in another order"]


@fact("delta.first-update-state", LOADED)
def first_update_state(p: Probe) -> Any:
    """What update_state on a new conversation leaves."""
    graph = _line(p)
    p.on(graph, "update_state", p.config(), {"log": ["seed"]}, as_node="a")
    return p.log(graph)


@fact("delta.fork", LOADED)
def fork(p: Probe) -> Any:
    """What a fork that replaced the first node's result loads."""
    graph = _line(p)
    p.run(graph, {"log": ["in"]})
    p.on(graph, "update_state", p.before(graph, "a"), {"log": ["new a"]}, as_node="a")
    return p.log(graph)


@fact("delta.cached-node", LOADED)
def cached_node(p: Probe) -> Any:
    """What a run shows and loads whose node was answered by the cache."""
    try:
        from langgraph.cache.memory import InMemoryCache
        from langgraph.types import CachePolicy
    except ImportError:
        p.need(False, "no cache of nodes")
    graph = _graph(p, {"a": lambda s: {"log": ["a"]}})
    made = graph.builder
    made.nodes["a"] = _with_policy(made.nodes["a"], CachePolicy(key_func=lambda state: "same"))
    graph = made.compile(checkpointer=p.saver, cache=InMemoryCache())
    p.run(graph, {"log": ["in"]}, p.config("-miss"))
    shown = p.run(graph, {"log": ["in"]}, p.config("-hit"))["log"]
    return [shown, p.log(graph, p.config("-hit"))]


def _with_policy(spec: Any, policy: Any) -> Any:
    import dataclasses

    if dataclasses.is_dataclass(spec) and not isinstance(spec, type):
        return dataclasses.replace(spec, cache_policy=policy)
    return spec._replace(cache_policy=policy)


@fact("delta.snapshots-of-twelve-turns", "Storage and the time to load grow or shrink.")
def snapshots_of_twelve_turns(p: Probe) -> Any:
    """How many checkpoints of twelve turns hold a snapshot when one is due every four steps."""
    graph = _line(p, snapshot_frequency=4)
    for turn in range(12):
        p.run(graph, {"log": [str(turn)]})
    return sum("log" in row.checkpoint["channel_values"] for row in p.rows())


@fact("delta.versions-seen", "Savers that drop what they do not know lose the new keys.")
def versions_seen(p: Probe) -> Any:
    """The keys of versions_seen in the last checkpoint of a run."""
    graph = _line(p)
    p.run(graph, {"log": ["in"]})
    return sorted(p.get().checkpoint["versions_seen"])


@fact("delta.counters", "Snapshots come too late or never if the metadata loses them.")
def counters(p: Probe) -> Any:
    """The metadata keys about delta channels that a run stores."""
    graph = _line(p)
    p.run(graph, {"log": ["in"]})
    return sorted(key for key in p.get().metadata if "delta" in key)


@fact("delta.history", LOADED)
def history(p: Probe) -> Any:
    """The states of a run that are loaded from its history, newest first."""
    graph = _line(p)
    p.run(graph, {"log": ["in"]})
    return [h.values.get("log") for h in p.on(graph, "get_state_history", p.config())]
