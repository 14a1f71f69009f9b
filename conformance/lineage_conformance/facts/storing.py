"""Facts about storing: checkpoints, versions, pending writes, metadata and removal."""

from __future__ import annotations

import datetime as dt
from typing import Any

from lineage_conformance.facts import Fact, add, fact
from lineage_conformance.facts.probe import Probe

VALUES = "The state that is loaded is another one."
WRITES = "What is kept of a step that was interrupted is something else."
ORDER = "Results of parallel tasks change places after a reload."
META = "History views read other metadata."


@fact("put.without-namespace")
def without_namespace(p: Probe) -> Any:
    """Whether put accepts a config without a namespace."""
    return sorted(p.put(config=p.place(checkpoint_ns=None))["configurable"])


@fact("put.same-id-again", META)
def same_id_again(p: Probe) -> Any:
    """The metadata that is kept when one checkpoint is stored twice."""
    id = "1ef00000-0000-6000-8000-000000000001"
    p.put(meta={"k": "first"}, id=id)
    p.put(meta={"k": "second"}, id=id)
    return [row.metadata["k"] for row in p.rows()]


@fact("put.value-not-in-new-versions", VALUES)
def value_not_in_new_versions(p: Probe) -> Any:
    """What is read of a value whose version is not among the new ones."""
    p.put({"a": ["x"]}, new={})
    return p.get().checkpoint["channel_values"]


@fact("put.version-without-value", VALUES)
def version_without_value(p: Probe) -> Any:
    """What is read of a channel that has a new version and no value."""
    version = p.version()
    p.put({}, versions={"a": version}, new={"a": version})
    return p.get().checkpoint["channel_values"]


@fact("put.value-none", VALUES)
def value_none(p: Probe) -> Any:
    """What is read of a channel whose value is None."""
    p.put({"a": None})
    return p.get().checkpoint["channel_values"]


@fact("put.empty-channel-name", VALUES)
def empty_channel_name(p: Probe) -> Any:
    """What is read of a channel with an empty name."""
    p.put({"": [1]})
    return p.get().checkpoint["channel_values"]


@fact("put.number-versions-kept")
def number_versions_kept(p: Probe) -> Any:
    """What is read of versions that are a whole number, a fraction and a text."""
    versions = {"a": 1, "b": 1.5, "c": "0001.5"}
    p.put({"a": "x", "b": "x", "c": "x"}, versions=versions, new=versions)
    read = p.get().checkpoint
    return [read["channel_versions"], read["channel_values"]]


@fact("put.siblings-with-equal-versions", "A fork shows the values of its sibling.")
def siblings_with_equal_versions(p: Probe) -> Any:
    """The values of two forks whose channel has the same number as version."""
    root = p.put({"a": ["root"]}, versions={"a": 1}, new={"a": 1})
    forks = [
        p.put({"a": [word]}, config=root, versions={"a": 2}, new={"a": 2})
        for word in ("left", "right")
    ]
    return [p.get(fork).checkpoint["channel_values"].get("a") for fork in forks]


@fact("put.stored-value-is-apart", "Changing a value in memory changes what is stored.")
def stored_value_is_apart(p: Probe) -> Any:
    """What is read after the stored list was changed in memory."""
    value = [1]
    p.put({"a": value})
    value.append(2)
    return p.get().checkpoint["channel_values"]["a"]


@fact("put.updated-channels", META)
def updated_channels(p: Probe) -> Any:
    """Whether the key updated_channels of a checkpoint is kept."""
    made = p.checkpoint({"a": 1})
    p.need("updated_channels" in made, "no updated_channels in the record")
    made["updated_channels"] = ["a"]
    p.call("put", p.place(), made, {"source": "loop", "step": 1}, made["channel_versions"])
    return p.get().checkpoint.get("updated_channels")


@fact("put.unknown-keys-kept", META)
def unknown_keys_kept(p: Probe) -> Any:
    """Whether a key of a checkpoint that the record does not have is kept."""
    made = p.checkpoint({"a": 1})
    made["lineage_unknown"] = ["x"]
    p.call("put", p.place(), made, {"source": "loop", "step": 1}, made["channel_versions"])
    return p.get().checkpoint.get("lineage_unknown")


# -- pending writes --------------------------------------------------------------------------------


@fact("writes.before-their-checkpoint", WRITES)
def before_their_checkpoint(p: Probe) -> Any:
    """Which writes are read that were stored before their checkpoint."""
    made = p.checkpoint({"a": 1})
    p.writes(p.place(checkpoint_id=made["id"]), ("ch", 1))
    p.call("put", p.place(), made, {"source": "loop", "step": 1}, made["channel_versions"])
    return p.pending()


@fact("writes.shorter-second-call", WRITES)
def shorter_second_call(p: Probe) -> Any:
    """Which writes are kept of a task that stored two and then one."""
    config = p.put()
    p.writes(config, ("a", 1), ("b", 2))
    p.writes(config, ("a", 3))
    return p.pending()


@fact("writes.one-channel-twice", WRITES)
def one_channel_twice(p: Probe) -> Any:
    """Which writes are kept of two to one channel in one call."""
    p.writes(p.put(), ("a", 1), ("a", 2))
    return p.pending()


@fact("writes.special-with-ordinary-twice", WRITES)
def special_with_ordinary_twice(p: Probe) -> Any:
    """Which writes are kept of a task that twice stored a resume value with an ordinary write."""
    config = p.put()
    p.writes(config, ("__resume__", [1]), ("ch", 1))
    p.writes(config, ("__resume__", [1, 2]), ("ch", 2))
    return sorted(p.pending(), key=str)


def _second(channel: str) -> Any:
    def probe(p: Probe) -> Any:
        config = p.put()
        p.writes(config, (channel, [1]))
        p.writes(config, (channel, [2]))
        return [value for _, _, value in p.pending()]

    return probe


for _id, _channel in (("ordinary", "ch"), ("error", "__error__"), ("scheduled", "__scheduled__"),
                      ("interrupt", "__interrupt__"), ("resume", "__resume__")):  # fmt: skip
    add(Fact(f"writes.second-{_id}", f"Which write is kept when a task writes to {_channel} twice.",
             _second(_channel), WRITES))  # fmt: skip


@fact("writes.order-of-paths", ORDER)
def order_of_paths(p: Probe) -> Any:
    """The order in which the writes of three tasks are read whose ids and paths disagree."""
    config = p.put()
    for number, task in ((2, "aaa"), (0, "zzz"), (1, "mmm")):
        p.writes(config, ("ch", number), task=task, path=f"~__pregel_push, {number:010d}")
    return [value for _, _, value in p.pending()]


@fact("writes.order-without-paths", ORDER)
def order_without_paths(p: Probe) -> Any:
    """The order in which the writes of three tasks without a path are read: of arrival, or of their ids."""
    config = p.put()
    for task in ("mmm", "zzz", "aaa"):
        p.writes(config, ("ch", task), task=task)
    return [value for _, _, value in p.pending()]


@fact("writes.order-of-twelve", ORDER)
def order_of_twelve(p: Probe) -> Any:
    """Whether twelve writes of one task are read in their order."""
    p.writes(p.put(), *[("ch", number) for number in range(12)])
    return [value for _, _, value in p.pending()] == list(range(12))


@fact("writes.to-an-unknown-checkpoint", WRITES)
def to_an_unknown_checkpoint(p: Probe) -> Any:
    """What put_writes does for a checkpoint that does not exist."""
    p.writes(p.place(checkpoint_id="1ef00000-0000-6000-8000-000000000000"), ("ch", 1))
    return "accepted"


# -- metadata --------------------------------------------------------------------------------------


@fact(
    "metadata.from-the-config",
    "History filters on keys of the config begin or cease to find something.",
)
def from_the_config(p: Probe) -> Any:
    """Which keys of the config join the stored metadata."""
    config = p.place(user="u", tags=["x"], number=7, __secret="s")
    config["metadata"] = {"run": 7, "thread_id": "no"}
    p.put(config=config)
    stored = p.get().metadata
    return {
        key: stored[key]
        for key in ("user", "tags", "number", "__secret", "run", "thread_id")
        if key in stored
    }


def _meta(value: Any) -> Any:
    def probe(p: Probe) -> Any:
        p.put(meta={"k": value})
        return p.get().metadata["k"]

    return probe


for _id, _what, _value in (
    ("tuple", "a tuple", (1, 2)),
    ("number-keys", "a dictionary with numbers as keys", {1: 2}),
    ("datetime", "a datetime", dt.datetime(2020, 1, 1)),
    ("nul", "a text with a NUL", "x\x00y"),
    ("none", "None", None),
    ("nested", "nested lists and dictionaries", {"a": [{"b": None}, 1.5, True]}),
):
    add(
        Fact(
            f"metadata.{_id}", f"What {_what} in the metadata is read back as.", _meta(_value), META
        )
    )


# -- removal ---------------------------------------------------------------------------------------


@fact("delete.unknown-thread", "A cleanup job fails, or ceases to.")
def delete_unknown_thread(p: Probe) -> Any:
    """What the removal of a thread that does not exist does."""
    p.call("delete_thread", p.thread)
    return "nothing"


@fact("delete.then-again", "A thread id that is used again shows old data.")
def delete_then_again(p: Probe) -> Any:
    """What is left of a removed thread when its id is used again: values, writes, parent."""
    config = p.put({"a": 1})
    p.writes(config, ("a", 2))
    p.call("delete_thread", p.thread)
    gone = p.get() is None
    p.put({"b": 1})
    found = p.get()
    return [
        gone,
        found.checkpoint["channel_values"],
        found.pending_writes or [],
        found.parent_config,
    ]


@fact("delete.child-namespaces", "Deleted conversations leave the memory of subgraphs behind.")
def delete_child_namespaces(p: Probe) -> Any:
    """Whether the removal of a thread takes its child namespaces with it."""
    p.put()
    child = p.put(config=p.place(checkpoint_ns="child:1"))
    p.call("delete_thread", p.thread)
    return p.get(child) is None


@fact("copy.what-is-copied", "A branch has more or less of the conversation.")
def what_is_copied(p: Probe) -> Any:
    """What copy_thread copies: number of checkpoints, pending writes, namespaces."""
    config = p.put({"a": 1})
    p.writes(p.put({"a": 2}, config=config), ("a", 3))
    p.put({"a": 1}, config=p.place(checkpoint_ns="child:1"))
    copy = p.thread + "-copy"
    p.call("copy_thread", p.thread, copy)
    rows = p.rows(p.place(copy, checkpoint_ns=None))
    names = sorted({row.config["configurable"]["checkpoint_ns"] for row in rows})
    return [len(rows), sum(len(row.pending_writes or ()) for row in rows), names]


@fact("prune.what-is-kept", "A cleanup job keeps more or less.")
def what_is_kept(p: Probe) -> Any:
    """What prune leaves of three checkpoints and a pending write when it is called with defaults."""
    config = None
    for step in (1, 2, 3):
        config = p.put({"a": step}, {"step": step}, config=config)
        p.writes(config, ("a", step))
    p.call("prune", [p.thread])
    rows = p.rows()
    return [[row.metadata["step"], len(row.pending_writes or ())] for row in rows]
