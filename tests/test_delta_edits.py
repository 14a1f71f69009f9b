"""The two encodings: what is rebuilt is what was encoded, for every change that a list can go through."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from lineage_conformance.canon import canon
from lineage_conformance.kinds.delta.strategies import changed
from lineage_conformance.kinds.delta.values import own
from lineage_reference.delta import script
from lineage_reference.delta.codec import (
    Malformed,
    Reader,
    number,
    squeeze,
    text,
    unsqueeze,
    version,
)
from lineage_reference.delta.edits import (
    APPEND,
    REPLACE,
    Splice,
    State,
    Tail,
    dict_of_list_delta,
    fit,
    list_delta,
)
from lineage_reference.delta.parts import Part, Plain, Unfit

PLAIN = Plain(JsonPlusSerializer())
ENCODINGS = [Tail(PLAIN), Splice(PLAIN)]
both = pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda e: e.name)


class Follower:
    """Encodes one value after the other, keeps the blobs since the last base, and checks what they make."""

    def __init__(self, encoding: Any) -> None:
        self.encoding, self.state = encoding, None
        self.blobs: list[bytes] = []
        self.edits: list[Any] = []

    def step(self, value: Any) -> Any:
        edit = self.encoding.encode(value, self.state)
        self.edits.append(edit)
        if edit is not None:
            if edit.action == REPLACE:
                self.blobs = []
            self.blobs.append(edit.data)
            self.state = edit.state
        rebuilt = self.encoding.rebuild(self.blobs)
        assert canon(rebuilt) == canon(value)
        assert type(value) is not dict or list(rebuilt) == list(value)
        assert _plainly(self.encoding.resume(self.blobs)) == _plainly(self.state)
        return edit


def _plainly(state: Any) -> Any:
    return state.plain, {k: (p.data, list(p.ends)) for k, p in state.parts.items()}


@st.composite
def values(draw: Any) -> list[Any]:
    """A history of one channel, which may change its shape."""
    history: list[Any] = [draw(st.sampled_from([[], {}]))]
    for _ in range(draw(st.integers(1, 6))):
        last = history[-1]
        if draw(st.integers(0, 9)) == 0:
            last = [] if type(last) is dict else {}
        if type(last) is list:
            history.append(draw(changed(last)))
            continue
        made = dict(last)
        for key in draw(st.lists(st.sampled_from("klm"), max_size=3, unique=True)):
            if key in made and draw(st.booleans()):
                del made[key]
            else:
                made[key] = draw(changed(made.get(key, [])))
        history.append(made)
    return history


@both
@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(history=values())
def test_every_history_is_rebuilt(encoding: Any, history: list[Any]) -> None:
    follower = Follower(encoding)
    for value in history:
        follower.step(own(value))


@both
def test_an_unchanged_value_sends_nothing(encoding: Any) -> None:
    follower = Follower(encoding)
    follower.step({"a": [1, {"k": "v"}], "b": []})
    assert follower.step({"a": [1, {"k": "v"}], "b": []}) is None


@both
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["aa", "b"], ["bb", "b"]),
        ([1, "b"], [True, "b"]),
        ([1], [1.0]),
        (["a", "b"], ["x", "b", "c"]),
        (["a", "b", "c"], ["b", "c", "d"]),
        (["a", "b", "c"], ["c", "b", "a"]),
        (["a", "a", "b", "a"], ["a", "b", "a", "a"]),
        (["a", "b"], []),
        ([], ["a"]),
        ({"k": ["a"], "l": ["b"]}, {"k": ["x"], "l": ["b", "c"]}),
        ({"k": ["a"], "l": ["b"]}, {"l": ["b", "c"]}),
        ({"k": ["a"], "l": ["b"]}, {"l": ["b"], "k": ["a"]}),
        ({"k": ["a"]}, {"k": ["a"], "l": []}),
        ({"k": []}, {}),
        (["a"], {"k": ["a"]}),
    ],
)
def test_hazards(encoding: Any, before: Any, after: Any) -> None:
    follower = Follower(encoding)
    follower.step(before)
    assert follower.step(after) is not None


@both
def test_the_mutation_of_one_and_the_same_object_is_noticed(encoding: Any) -> None:
    follower = Follower(encoding)
    log = [{"status": "pending"}, {"status": "done"}]
    follower.step(log)
    log[0]["status"] = "success"
    log.append({"status": "new"})
    assert follower.step(log) is not None


def test_tail_says_append_or_replace() -> None:
    follower = Follower(ENCODINGS[0])
    assert follower.step(["a"]).action == REPLACE
    grown = follower.step(["a", "b"])
    assert (grown.action, PLAIN.load(grown.data)) == (APPEND, ["b"])
    assert follower.step(["a", "c", "d"]).action == REPLACE
    cut = follower.step(["a"])
    assert cut.shrank
    assert PLAIN.load(cut.data) == ["a"]


def test_list_delta() -> None:
    def part(items: list[Any]) -> Part:
        return Part.of([PLAIN.item(item) for item in items])

    def delta(old: list[Any], new: list[Any]) -> Any:
        return list_delta(part(old), part(new).data, new)

    assert delta(["a"], ["a", "b"]) == (["b"], True)
    assert delta(["a", "b"], ["a"]) == (["a"], False)
    assert delta(["a", "b"], ["a", "c"]) == (["a", "c"], False)
    assert delta(["a"], ["b", "a"]) == (["b", "a"], False)
    assert delta(["a"], ["a"]) is None
    assert delta([1], [True]) == ([True], False)


def test_dict_of_list_delta() -> None:
    def parts(value: dict[str, list[Any]]) -> dict[str, Part]:
        return {k: Part.of([PLAIN.item(i) for i in items]) for k, items in value.items()}

    def delta(old: dict[str, list[Any]], new: dict[str, list[Any]]) -> Any:
        return dict_of_list_delta(parts(old), {k: p.data for k, p in parts(new).items()}, new)

    assert delta({"a": [1]}, {"a": [1, 2], "b": []}) == ({"a": [2], "b": []}, True)
    assert delta({"a": [1], "b": [1]}, {"a": [1, 2]}) == ({"a": [1, 2]}, False)
    assert delta({"a": [1], "b": [1]}, {"a": [2], "b": [1, 2]}) == ({"a": [2], "b": [1, 2]}, False)
    assert delta({"a": [1]}, {"a": [1]}) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log[3].update(status="success"),
        lambda log: log.pop(0),
        lambda log: log.insert(5, {"status": "late", "text": "z" * 50}),
        lambda log: (log[2].update(text="early"), log.append({"status": "new"})),
        lambda log: log[-1].update(text=log[-1]["text"] + " and more"),
        lambda log: (log.pop(0), log.append({"status": "new"})),
    ],
)
def test_a_splice_costs_what_it_changes(change: Any) -> None:
    follower = Follower(ENCODINGS[1])
    log = [{"status": "pending", "text": f"{n} " * 100} for n in range(50)]
    whole = follower.step(own(log))
    change(log)
    edit = follower.step(own(log))
    assert edit.action == APPEND
    assert len(edit.data) < 100
    assert len(whole.data) > 10_000


def test_a_text_that_grows_inside_a_message_costs_its_suffix() -> None:
    follower = Follower(ENCODINGS[1])
    said = "".join(f"word {n} " for n in range(400))
    follower.step({"a": [HumanMessage("hi", id="1"), AIMessage(said, id="2")]})
    edit = follower.step({"a": [HumanMessage("hi", id="1"), AIMessage(said + "x" * 200, id="2")]})
    assert len(edit.data) < 250


def test_a_list_that_was_cut_to_half_begins_anew_and_a_key_does_not() -> None:
    items = [f"{n}" * 40 for n in range(40)]
    plain, keyed = Follower(ENCODINGS[1]), Follower(ENCODINGS[1])
    plain.step(items)
    assert plain.step(["summary", *items[-2:]]).action == REPLACE
    keyed.step({"a": items, "b": items})
    edit = keyed.step({"a": ["summary"], "b": items})
    assert (edit.action, edit.shrank) == (APPEND, True)
    assert len(edit.data) < 40


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(
    st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=9)
)
def test_patches_make_what_they_were_made_for(a: bytes, b: bytes, c: bytes, d: bytes) -> None:
    for old, new in (
        (a + b + c, a + d + c),
        (a + b, b + a),
        (a * 3 + b, a * 2 + d + b),
        (a, a + d),
    ):
        patch = script.between(old, new)
        assert script.patched(old, patch, 0, len(patch)) == new
        same = script.common(old, 0, new, 0)
        assert old[:same] == new[:same]
        assert old[same : same + 1] != new[same : same + 1] or same == min(len(old), len(new))


@both
def test_cut_or_foreign_blobs_are_refused(encoding: Any) -> None:
    first = encoding.encode(["aaa", "bbb"], None)
    second = encoding.encode(["aaa"], first.state)
    keyed = encoding.encode({"k": ["a"]}, None)
    with pytest.raises(ValueError):
        encoding.rebuild([first.data[:-1]])
    with pytest.raises(Malformed):
        encoding.rebuild([first.data, keyed.data])
    if encoding.name == "splice" and second.action == APPEND:
        with pytest.raises(Malformed):
            encoding.rebuild([encoding.encode([], None).data, second.data])


def test_only_lists_and_dictionaries_of_lists_fit() -> None:
    class Sub(list):  # type: ignore[type-arg]
        pass

    assert all(map(fit, ([], [1], {}, {"a": []}, {"a": [1], "b": []})))
    assert not any(map(fit, (None, 1, "a", (1,), {"a": 1}, {"a": [1], "b": None}, {1: [1]}, Sub())))


def test_a_serializer_that_does_not_write_msgpack_is_unfit() -> None:
    class Json:
        def dumps_typed(self, value: Any) -> tuple[str, bytes]:
            return "json", b"[]"

    for encoding in (Tail(Plain(Json())), Splice(Plain(Json()))):
        with pytest.raises(Unfit):
            encoding.encode([1], None)


@pytest.mark.parametrize(
    "given_version",
    [
        1,
        0,
        7.5,
        "3",
        f"{5:032}.{0.123456789:016}",
        f"{5:032}.abc",
        f"{5:032}.0.10",
        f"{5:032}",
        "ä.1",
    ],
)
def test_versions_keep_value_and_type(given_version: Any) -> None:
    found = Reader(version(given_version)).version()
    assert (type(found), found) == (type(given_version), given_version)


def test_texts_numbers_and_squeezing() -> None:
    for value in (
        "",
        "a",
        "0b7d5b1e-6f0c-4b67-9d6e-2f3a4c5d6e7f",
        "0B7D5B1E-6F0C-4B67-9D6E-2F3A4C5D6E7F",
        "\ud800",
    ):
        assert Reader(text(value)).text() == value
    assert [Reader(number(n)).number() for n in (0, 127, 128, 1 << 40)] == [0, 127, 128, 1 << 40]
    for data in (b"", b"x" * 5000, bytes(range(256))):
        assert unsqueeze(squeeze(data)) == data
    for bad in (b"", b"\x07", b"\x01nonsense", squeeze(b"x" * 500)[:-2]):
        with pytest.raises(Malformed):
            unsqueeze(bad)
    with pytest.raises(Malformed):
        unsqueeze(squeeze(b"x" * 5000), 100)


def test_states_of_tail_count_items() -> None:
    edit = ENCODINGS[0].encode({"a": [1, 2]}, None)
    assert isinstance(edit.state, State)
    assert len(edit.state.parts["a"].ends) == 2
