"""Rows that are deflated against those before them, and requests that are deflated against what the server has."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from lineage_reference.delta import DeltaSaver, HttpStore, SqliteStore, application, requests
from lineage_reference.delta.codec import Malformed, squeeze
from lineage_reference.delta.rows import GROUP, first, squeeze_row, unsqueeze_rows
from lineage_reference.saver import StrictSaver
from tests.test_delta_stores import Run

WORDS = [
    "the",
    "plan",
    "is",
    "to",
    "read",
    "what",
    "was",
    "written",
    "and",
    "to",
    "write",
    "what",
    "was",
    "read",
    "once",
    "more",
    "before",
    "it",
    "ends",
]
DATA = st.one_of(
    st.binary(max_size=80),
    st.builds(
        lambda words: " ".join(words).encode(), st.lists(st.sampled_from(WORDS), max_size=60)
    ),
    st.integers(0, 255).map(lambda seed: random.Random(seed).randbytes(70_000) + b"abc" * 20_000),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(DATA, st.sampled_from([0, 1, 6, 9])), max_size=2 * GROUP + 3))
def test_rows_give_their_data_back(chain: list[tuple[bytes, int]]) -> None:
    datas = [data for data, _ in chain]
    # Level 0 stands for a row of an earlier version, which was deflated on its own.
    rows = [
        squeeze_row(data, datas[first(pos) : pos], level) if level else squeeze(data)
        for pos, (data, level) in enumerate(chain)
    ]
    assert unsqueeze_rows(rows) == datas
    for pos in range(len(rows)):
        begin = first(pos)
        assert unsqueeze_rows(rows[begin : pos + 1], begin)[-1] == datas[pos]


def test_a_row_that_was_cut_is_not_taken_for_a_shorter_one() -> None:
    before = [" ".join(WORDS).encode()]
    row = squeeze_row(" ".join(reversed(WORDS)).encode(), before, 6)
    base = squeeze_row(before[0], [], 6)
    for bad in (*(row[:size] for size in range(len(row) - 2)), row + b"more", b"\x07" + row):
        with pytest.raises(Malformed):
            unsqueeze_rows([base, bad])
    for padding in (
        row[:-1],
        row[:-2],
    ):  # what ends with nothing but the padding of a flush is whole
        try:
            assert unsqueeze_rows([base, padding]) == unsqueeze_rows([base, row])
        except Malformed:
            continue


# -- requests ------------------------------------------------------------------------------------------


CODINGS: list[Any] = [[], ["deflate"], ["deflate", "zstd", "of tomorrow"], True]


class Server:
    """A service whose requests are counted. `offers`: the codings that it says it has; a server of before said True."""

    def __init__(self, offers: Any) -> None:
        self.store = SqliteStore()
        self.store.set_mode("shadow")
        self.client = TestClient(application(self.store))
        self.bodies: list[bytes] = []
        self.offers = offers

    def get(self, path: str, **options: Any) -> Any:
        answer = self.client.get(path, **options)
        if path.endswith("offer"):
            answer._content = json.dumps({**answer.json(), "context": self.offers}).encode()
        return answer

    def post(self, path: str, **options: Any) -> Any:
        if path.endswith("frames"):
            self.bodies.append(options["content"])
        return self.client.post(path, **options)

    def kinds(self) -> str:
        """A letter for each body: alone, newest parent, or named parent."""
        return "".join("a" if body[0] < 2 else "n" if body[0] & 4 else "p" for body in self.bodies)


@pytest.fixture(params=CODINGS[1:3], ids=lambda offers: offers[1:2] or offers[0])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    made = Server(request.param)
    yield made
    made.store.close()


def says(number: int) -> dict[str, str]:
    words = random.Random(number).choices(WORDS, k=40)
    return {"role": "assistant", "id": f"message-{number}", "content": " ".join(words)}


def talk(run: Run, count: int) -> None:
    for _ in range(count):
        run.put(talk=[*run.values.get("talk", []), says(run.number)], plan=run.number)


def whole(server: Server, run: Run) -> None:
    reader = DeltaSaver(StrictSaver(), server.store)
    assert reader.rebuild(run.config()) == {"talk": run.values["talk"]}


def test_a_gateway_that_goes_on_sends_less(server: Server) -> None:
    run = Run(DeltaSaver(StrictSaver(), HttpStore(server)))
    talk(run, 40)
    assert server.kinds() == "a" + "n" * 39
    for offers in (CODINGS[0], CODINGS[3]):  # an old server is sent what it understands
        alone = Server(offers)
        other = Run(DeltaSaver(StrictSaver(), HttpStore(alone)))
        talk(other, 40)
        assert alone.kinds() == "a" * 40
        assert sum(map(len, server.bodies)) < 0.8 * sum(map(len, alone.bodies))
        whole(alone, other)
        alone.store.close()
    whole(server, run)


def test_the_shorter_body_is_sent() -> None:
    sizes = []
    for offers in CODINGS[1:3]:
        server = Server(offers)
        run = Run(DeltaSaver(StrictSaver(), HttpStore(server)))
        talk(run, 20)
        for number in range(20, 40):
            long = " ".join(random.Random(number).choices([*WORDS, *dir(random)], k=400))
            run.put(talk=[*run.values["talk"], long])
        sizes.append(list(map(len, server.bodies)))
        assert {bool(body[0] & 16) for body in server.bodies} == {False, "zstd" in offers}
        server.store.close()
    # Versions and chains are random, and so are a few bytes of each body.
    assert all(one + 12 >= other for one, other in zip(*sizes, strict=True))
    assert sum(sizes[1]) < 0.95 * sum(sizes[0])


def test_a_server_without_the_coding_is_asked_again_without_context(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(DeltaSaver(StrictSaver(), HttpStore(server)))
    talk(run, 2)
    best = server.bodies[-1]
    if best[0] & 16:
        left = {name: coding for name, coding in requests.CODINGS.items() if name != "zstd"}
        monkeypatch.setattr(requests, "CODINGS", left)
        params = {"thread": "t"}
        assert server.client.post("/delta/frames", params=params, content=best).status_code == 409
    talk(run, 2)
    whole(server, run)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.binary(min_size=40, max_size=300), st.binary(max_size=3000), st.integers(0, 70))
def test_codings_give_back_what_they_were_given(data: bytes, said: bytes, times: int) -> None:
    said = said * times  # beyond the window of either
    for coding in requests.CODINGS.values():
        packed = coding.pack(data, said)
        assert coding.unpack(packed, said, len(data)) == data
        for wrong in (len(data) + 1, len(data) - 1):
            with pytest.raises(Malformed):
                coding.unpack(packed, said, wrong)
        with contextlib.suppress(Malformed):  # the frame's checksum is what notices a cut
            assert len(coding.unpack(packed[: len(packed) // 2], said, len(data))) == len(data)


def test_a_gateway_that_restarts_sends_one_body_that_stands_alone(server: Server) -> None:
    run = Run(DeltaSaver(StrictSaver(), HttpStore(server)))
    talk(run, 3)
    run.saver = DeltaSaver(run.saver.inner, HttpStore(server))
    talk(run, 3)
    assert server.kinds()[:4] == "anna"
    whole(server, run)


def test_what_a_body_refers_to_may_be_gone(server: Server) -> None:
    run = Run(DeltaSaver(StrictSaver(), HttpStore(server)))
    talk(run, 5)
    server.store.query("DELETE FROM blobs WHERE pos = 2")  # retention, or a hand
    talk(run, 2)
    whole(server, run)
    server.store.query("DELETE FROM steps")
    talk(run, 2)
    whole(server, run)


def test_two_gateways_take_turns(server: Server) -> None:
    inner = StrictSaver()
    savers = [DeltaSaver(inner, HttpStore(server)) for _ in range(2)]
    run = Run(savers[0])
    for turn in range(20):
        run.saver = savers[turn % 2 if turn < 10 else turn // 3 % 2]
        talk(run, 1)
    whole(server, run)


def test_a_parent_that_is_not_the_newest_is_named_from_then_on(server: Server) -> None:
    inner = StrictSaver()
    run = Run(DeltaSaver(inner, HttpStore(server)))
    talk(run, 2)
    fork, mine = run.last, run.saver
    run.saver = DeltaSaver(inner, HttpStore(server))
    run.put(plan="of another gateway")  # beside the first one's next step; it changes no list
    run.last, run.saver, server.bodies = fork, mine, []
    talk(run, 3)
    # Refused once, said in full, and then against what the server has, with the parent's name.
    assert server.kinds() == "napp"
    assert [b.step_action for b in server.store.blobs("t")].count("compaction") == 1
    whole(server, run)


def test_the_newest_step_of_a_service_is_known_to_its_gateways(server: Server) -> None:
    store = HttpStore(server)
    run = Run(DeltaSaver(StrictSaver(), store))
    assert store.newest("t", "") is None
    talk(run, 2)
    newest = store.newest("t", "")
    assert newest is not None
    assert newest.place == ("t", "", run.last)
    assert store.newest("t", "child:1") is None


@pytest.mark.parametrize("cut", [0, 1, 2, 4, 6, 20, 40, -4])
def test_a_body_that_was_cut_is_refused(server: Server, cut: int) -> None:
    run = Run(DeltaSaver(StrictSaver(), HttpStore(server)))
    talk(run, 2)
    body = server.bodies[-1]
    answer = server.client.post("/delta/frames", params={"thread": "t"}, content=body[:cut])
    assert answer.status_code in (400, 409)
