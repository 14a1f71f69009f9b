"""Which failures are roots, in which order they come, and what the last line says of them."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from lineage_conformance.law import Stake
from pytest_lineage.report import gist, html, junit, markdown, model, roots, terminal
from pytest_lineage.report.block import CALLED, block
from pytest_lineage.report.style import Style
from pytest_lineage.run.rows import Row, TargetReport
from tests.golden import samples

FOLDED = ["graph_fork.as-node-schedules-its-successors", "delete.id-reusable"]


def document(*rows: dict[str, Any], code: int = 1) -> dict[str, Any]:
    return samples.document([samples.target(faces=["sync", "async"])], list(rows), code)


def bad(law: str, stake: str = "", face: str = "sync", **fields: Any) -> dict[str, Any]:
    return samples.row(law, face, **{"verdict": "broken", "stake": stake, **fields})


@pytest.mark.parametrize(
    ("rows", "order"),
    [
        ([bad("a.a", "cost"), bad("a.b", "others-deleted")], ["a.b", "a.a"]),
        ([bad("a.a", "changed", level="SHOULD"), bad("a.b", "changed")], ["a.b", "a.a"]),
        ([bad("a.a", "metadata"), bad("a.b", "lost", level="SHOULD")], ["a.b", "a.a"]),
        ([bad("a.a", "changed"), bad("a.b", "changed")], ["a.a", "a.b"]),
        ([bad("a.a"), bad("a.b", "cost")], ["a.b", "a.a"]),
        ([bad("a.a", "of-a-later-version"), bad("a.b", "cost")], ["a.b", "a.a"]),
        ([bad("a.a", level="SHOULD"), bad("a.b")], ["a.b", "a.a"]),
        (  # what follows only shows the root's fault
            [
                bad("a.a", "lost"),
                bad("a.b", "metadata"),
                bad("a.c", "others-exposed", caused_by="a.b"),
            ],
            ["a.a", "a.b"],
        ),
        ([bad("a.a", "lost", verdict="hangs"), bad("a.b", "others-exposed")], ["a.b", "a.a"]),
        ([bad("a.a", "lost", verdict="known"), bad("a.b", "cost")], ["a.b"]),
    ],
)
def test_the_worst_root_comes_first(rows: list[dict[str, Any]], order: list[str]) -> None:
    assert [failure.row["law"] for failure in roots.failures(document(*rows))] == order


def test_every_stake_has_its_place() -> None:
    stakes = [stake.value for stake in Stake]
    rows = [bad(f"a.s{number}", stake) for number, stake in enumerate(stakes)]
    for shuffled in (rows[::-1], rows[5:] + rows[:5]):
        found = roots.failures(document(*shuffled))
        assert [failure.row["stake"] for failure in found] == stakes


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            [bad("a.a", "lost"), bad("a.b", "others-deleted"), bad("a.c", caused_by="a.a")],
            "3 MUST broken in 2 roots; worst: someone else's data can be deleted (a.b); "
            "0 laws hold on 1 face",
        ),
        ([bad("a.a", "cost")], "1 MUST broken; worst: it can cost time, space or convenience (a.a); "
                               "0 laws hold on 1 face"),
        ([bad("a.a"), samples.row("a.b")], "1 MUST broken; 1 law holds on 1 face"),
        (  # no tenant reads another's data because a config names no checkpoint
            [bad("a.a", "lost"), bad("a.b", "others-deleted", caused_by="a.a")],
            "2 MUST broken in 1 root; worst: acknowledged data can be lost (a.a); "
            "0 laws hold on 1 face",
        ),
        (
            [bad("a.a", "lost", level="SHOULD"), bad("a.b", "changed")],
            "1 MUST and 1 SHOULD broken; worst: acknowledged data can be lost (a.a); "
            "0 laws hold on 1 face",
        ),
        (  # what nobody reviewed is not named
            [bad("a.a", "lost", advisory="new"), bad("a.b", "changed")],
            "1 MUST broken; worst: what was stored can come back changed (a.b); "
            "0 laws hold on 1 face",
        ),
    ],
)  # fmt: skip
def test_the_last_line_names_the_worst(rows: list[dict[str, Any]], text: str) -> None:
    told = document(*rows)
    last = gist.verdict(told, told["targets"][0])
    assert (last.word, last.text) == ("BROKEN", text)
    assert terminal.render(told, width=120).replace("\n    ", " ").endswith(f"{text}, 12.3 s")


def test_what_is_good_names_no_worst() -> None:
    told = document(bad("a.a", "lost", level="SHOULD"), samples.row("a.b"), code=0)
    last = gist.verdict(told, told["targets"][0])
    assert (last.word, last.text) == ("GOOD", "1 law holds on 1 face (1 SHOULD broken)")


def test_a_law_may_be_a_root_on_one_face_and_follow_on_another() -> None:
    told = document(
        bad("a.a"), bad("a.a", face="async"), bad("a.b"), bad("a.b", face="async", caused_by="a.a")
    )
    one, other = roots.failures(told)
    assert one.follows() == [("a.b[async]", [told["laws"][3]])]
    assert (other.name, other.faces, other.elsewhere) == ("a.b[sync]", ["sync"], {"a.a": ["async"]})
    text = "\n".join(block(other, told, Style(80)))
    assert "follows     from a.a, on async" in text


@pytest.mark.parametrize(
    "caused_by", ["a.b", "a.gone", "a.holds", "a.other-face"]
)  # itself, unknown, whole, and broken elsewhere only
def test_what_explains_nothing_on_the_face_folds_nothing(caused_by: str) -> None:
    told = document(
        bad("a.b", caused_by=caused_by), samples.row("a.holds"), bad("a.other-face", face="async")
    )
    assert "a.b" in [failure.row["law"] for failure in roots.failures(told)]


def test_every_way_of_a_root_shows_its_program() -> None:
    told = samples.causes()
    failure = next(f for f in roots.failures(told) if f.row["law"] == "list.limit")
    assert [[row["face"] for row in some] for some in failure.ways] == [["async"]]
    text = "\n".join(block(failure, told, Style(80)))
    assert text.count("smallest program that shows it") == 2
    assert "in another way on async" in text
    assert "In another way on async" in html.render(told)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_ids_of_what_follows_are_always_there(width: int) -> None:
    rows = [bad("a.root", "lost")]
    rows += [bad(f"b.law-{n}-that-follows-from-it", "cost", caused_by="a.root") for n in range(60)]
    told = document(*rows)
    pages = [terminal.render(told, width=width), markdown.render(told), html.render(told)]
    for page, row in itertools.product(pages, rows):
        assert row["law"] in page.replace("&#45;", "-").replace("&#46;", ".")
    assert "more law" not in "".join(pages)


def test_programs_of_what_follows_are_a_flag_away() -> None:
    told = samples.causes()
    short, whole = (terminal.render(told, width=80, programs=p) for p in (False, True))
    assert "--all-programs, or\n            `pytest-lineage replay ID`, shows" in short
    assert "delete.id-reusable[async]  delete-8899aabb" in short
    for law in FOLDED:
        assert f"follows  {law}[" not in short
        assert f"follows  {law}[" in whole
    assert whole.count("smallest") == short.count("smallest") + 2
    assert CALLED not in short
    assert CALLED in whole
    page = html.render(told)
    for law in FOLDED:
        assert f"<summary>Follows: <span class=id>{law}" in page


def test_what_a_graphs_engine_called_stands_under_its_law() -> None:
    row = bad(FOLDED[0], "fails", evidence=samples.causes()["laws"][6]["evidence"])
    text = terminal.render(document(row), width=80)
    assert CALLED in text
    assert "breaks      latest.is-largest-id" in text


def test_json_has_the_roots_in_order() -> None:
    told = samples.causes()
    rows = [Row(**row) for row in told["laws"]]
    report = TargetReport("acme", {"faces": ["sync", "async"]}, rows)
    table = model.document([report], 1, "default")["summary"]["roots"]
    assert [(item["law"], item["stake"], item["faces"]) for item in table] == [
        ("namespaces.deletion-stays-inside", "others-deleted", ["sync", "async"]),
        ("latest.is-largest-id", "lost", ["sync", "async"]),
        ("delete.id-reusable", "kept", ["sync"]),
        ("list.limit", "metadata", ["sync", "async"]),
    ]
    assert table[1]["folded"] == {FOLDED[0]: ["sync", "async"], FOLDED[1]: ["async"]}
    assert json.dumps(table)


def test_junit_puts_the_worst_first(tmp_path: Any) -> None:
    junit.write(tmp_path / "run.xml", samples.causes())
    text = (tmp_path / "run.xml").read_text("utf-8")
    cases = [line for line in text.splitlines() if "<testcase" in line]
    assert "namespaces.deletion-stays-inside" in cases[0]
    assert 'value="others-deleted"' in text
    assert 'name="caused_by" value="latest.is-largest-id"' in text


@pytest.mark.parametrize(
    ("names", "every", "text"),
    [
        ([], [], ""),
        (["a.a"], ["a.a"], "a.a"),
        (["a.a", "a.b"], ["a.a", "a.b"], "a.a, a.b"),
        (["a.a", "a.b", "a.c"], ["a.a", "a.b", "a.c"], "a.*"),
        (["a.a", "a.b", "b.a", "a.c"], ["a.a", "a.b", "a.c", "b.a", "b.b"], "a.*, b.a"),
        (["a.a", "a.b", "a.c"], ["a.a", "a.b", "a.c", "a.d"], "a.a, a.b, a.c"),
    ],
)
def test_laws_are_named_whole(names: list[str], every: list[str], text: str) -> None:
    assert gist.laws_of(names, every) == text


def test_refusals_are_counted() -> None:
    told = document(
        samples.row("a.a", refused=3, observations=7), samples.row("a.b", refused=9), code=0
    )
    text = terminal.render(told, width=80, verbose=True)
    assert "refused loudly, as it may: 12 calls of 2 laws (a.a, a.b)" in text
    assert "a.a[sync]  7 observations; 3 refused" in text
    for page in (html.render(told), markdown.render(told)):
        assert "12 calls of 2 laws" in page
