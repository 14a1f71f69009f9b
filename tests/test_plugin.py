"""Targets that a test module declares: their nodes, and what verdicts are called.

Most of these tests put words into the worker's mouth; `test_plugin_runs.py` judges real savers.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from pytest_lineage.report import jsonl
from tests.plugin_kit import Project, Told, module

CONFIG = "put.config-is-accepted-everywhere"
READ = "put.read-is-isolated"  # a SHOULD
TWO = ("--lineage-laws", f"put.is-readable,{CONFIG}")
ONE = ("--lineage-laws", "put.is-readable")
SYNC = ("--lineage-face", "sync")
PLAIN = "def test_plain():\n    assert True\n"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(pytester, monkeypatch)


def broken(*laws: str) -> object:
    def tell(law: str, face: str) -> Told:
        return ("broken", "get:found: expected 1, got 2") if law in laws else ("holds", "")

    return tell


# -- nodes -------------------------------------------------------------------------------------------


def test_each_law_on_each_face_is_an_item(project: Project) -> None:
    project.fake()
    project.declare(extra=PLAIN)
    result = project.run(*ONE, "-v", "--junitxml=out.xml")
    result.assert_outcomes(passed=3)
    ids = [f"test_acme.py::acme::put.is-readable[[]{face}[]] PASSED*" for face in ("sync", "async")]
    result.stdout.fnmatch_lines([*ids, "test_acme.py::test_plain PASSED*"])
    result.stdout.fnmatch_lines(
        ["*= lineage =*", "acme (quick; sync, async): 2 holds", "  put  2 holds"]
    )
    case = ElementTree.parse(project.path / "out.xml").find(
        ".//testcase[@classname='test_acme.acme']"
    )
    assert case is not None
    assert {p.get("name"): p.get("value") for p in case.iter("property")} == {
        "law": "put.is-readable", "target": "acme", "face": "sync", "level": "MUST", "verdict": "holds",
    }  # fmt: skip


def test_items_are_selected_as_any_others(project: Project) -> None:
    project.fake()
    project.declare(extra=PLAIN)
    stem = f"test_acme.py::acme::{CONFIG}"
    assert project.ids(*TWO, f"{stem}[async]") == [f"{stem}[async]"]
    assert project.ids(*TWO, stem) == [f"{stem}[sync]", f"{stem}[async]"]
    assert len(project.ids(*TWO, "test_acme.py::acme")) == 4
    assert project.ids(*TWO, *SYNC, "-k", "accepted") == [f"{stem}[sync]"]
    assert project.ids(*TWO, *SYNC, "--deselect", f"{stem}[sync]", "-m", "lineage") == [
        "test_acme.py::acme::put.is-readable[sync]"
    ]
    assert project.ids("-m", "not lineage") == ["test_acme.py::test_plain"]


def test_a_target_in_conftest_is_collected_once_with_its_folder(project: Project) -> None:
    project.fake()
    project.write("tests/conftest.py", module("near", "Sound", extra="def test_never(): 1 / 0\n"))
    project.write("tests/test_a.py", "def test_a(): pass\n")
    project.write("tests/deeper/conftest.py", module("deep", "Sound"))
    project.write("tests/deeper/test_b.py", "def test_b(): pass\n")
    near = "tests/conftest.py::near::put.is-readable[sync]"
    deep = "tests/deeper/conftest.py::deep::put.is-readable[sync]"
    plain = ["tests/deeper/test_b.py::test_b", "tests/test_a.py::test_a"]
    assert sorted(project.ids(*ONE, *SYNC)) == sorted([near, deep, *plain])
    assert project.ids(*ONE, *SYNC, "tests/test_a.py") == ["tests/test_a.py::test_a"]
    project.run(*ONE, *SYNC, deep, near).assert_outcomes(passed=2)


def test_marks_on_the_factory_are_marks_of_its_items(project: Project) -> None:
    project.fake()
    text = module("acme", "Sound").replace(
        "def make", "@pytest.mark.skip(reason='later')\ndef make"
    )
    project.write("test_acme.py", text)
    project.run(*ONE, *SYNC, "-rs").assert_outcomes(skipped=1)


def test_one_target_under_two_names_is_one_target(project: Project) -> None:
    project.fake()
    project.declare(extra="again = make\n")
    assert len(project.ids(*ONE, *SYNC)) == 1


def test_a_target_in_a_class(project: Project) -> None:
    opened = project.fake()
    text = module("acme", "Sound").replace("@pytest_lineage", "class TestIt:\n  @pytest_lineage")
    project.write(
        "test_acme.py", text.replace("def make():\n    return", "  def make():\n        return")
    )
    result = project.run(*ONE, *SYNC, "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["test_acme.py::TestIt::acme::put.is-readable[[]sync[]] PASSED*"])
    assert opened == []


# -- errors ------------------------------------------------------------------------------------------


def test_two_targets_of_one_name_are_an_error(project: Project) -> None:
    project.fake()
    project.declare(extra="@pytest_lineage.target('acme')\ndef second():\n    return Sound()\n")
    result = project.run(*ONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["test_acme.py: two targets are called 'acme' (make and second)*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_name_that_is_no_part_of_a_node_id_is_an_error(project: Project) -> None:
    project.fake()
    project.write("test_acme.py", module("a::b", "Sound"))
    result = project.run(*ONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*'a::b' cannot be a target's name here*"])


def test_a_face_that_the_target_has_not(project: Project) -> None:
    opened = project.fake(faces=("sync",))
    project.declare()
    result = project.run(*ONE, "--lineage-face", "async")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["acme: nothing to judge (async: no)"])
    assert opened == []


# -- verdicts ----------------------------------------------------------------------------------------

WORDS = [
    ("put.is-readable", "holds", "passed"),
    ("put.is-readable", "refused", "passed"),
    ("put.is-readable", "broken", "failed"),
    ("put.is-readable", "hangs", "failed"),
    ("put.is-readable", "fixed", "failed"),
    ("put.is-readable", "inconclusive", "failed"),
    ("put.is-readable", "engine", "xfailed"),
    ("put.is-readable", "known", "xfailed"),
    ("put.is-readable", "not-applicable", "skipped"),
    (READ, "broken", "xfailed"),
    (READ, "hangs", "xfailed"),
    (READ, "inconclusive", "skipped"),
]


@pytest.mark.parametrize(("law", "verdict", "outcome"), WORDS)
def test_what_pytest_calls_a_verdict(
    project: Project, law: str, verdict: str, outcome: str
) -> None:
    project.fake(
        lambda asked, face: (verdict, "why \x1b \ud800 so") if asked == law else ("holds", "")
    )
    project.declare()
    result = project.run("--lineage-laws", f"{law},{CONFIG}", *SYNC, "-ra", "--junitxml=out.xml")
    counts = {"passed": 1}
    counts[outcome] = counts.get(outcome, 0) + 1
    assert result.parseoutcomes() == counts
    assert result.ret == (1 if outcome == "failed" else 0)
    properties = ElementTree.parse(project.path / "out.xml").iter("property")
    assert verdict in {p.get("value") for p in properties}


def test_a_broken_should_fails_when_asked_to(project: Project) -> None:
    project.fake(broken(READ))
    project.declare()
    project.run("--lineage-laws", READ, *SYNC, "--lineage-fail-on-should").assert_outcomes(failed=1)


def test_the_same_failure_on_another_face_is_said_shortly(project: Project) -> None:
    project.fake(broken(CONFIG))
    project.declare()
    result = project.run("--lineage-laws", CONFIG)
    result.assert_outcomes(failed=2)
    assert result.stdout.str().count("smallest program") == 1
    result.stdout.fnmatch_lines(
        [f"*{CONFIG}[[]async[]] is broken, by the same program*as [[]sync[]]"]
    )


@pytest.mark.parametrize("order", ["forward", "backward"])
def test_a_consequence_is_folded_in_any_order(project: Project, order: str) -> None:
    project.fake(broken("put.is-readable", CONFIG))
    project.declare()
    if order == "backward":
        project.write(
            "conftest.py", "def pytest_collection_modifyitems(items):\n    items.reverse()\n"
        )
    result = project.run(*TWO, *SYNC)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [f"*{CONFIG}[[]sync[]] is broken, a consequence of put.is-readable*"]
    )
    result.stdout.fnmatch_lines(
        [
            "  MUST broken: put.is-readable[[]sync[]]: acknowledged data can be lost",
            f"    from it follow: {CONFIG}",
        ]
    )
    alone = project.run(f"test_acme.py::acme::{CONFIG}[sync]")
    alone.stdout.fnmatch_lines(["smallest program*"])  # nothing else is shown that would explain it


def test_stopping_and_running_the_failed_ones_again(project: Project) -> None:
    project.fake(broken("put.is-readable"))
    project.declare()
    project.run(*TWO, "-x").assert_outcomes(failed=1)
    project.run(*TWO, "--lf").assert_outcomes(failed=1)


def test_the_command_that_runs_it_again_starts_where_pytest_was_started(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.fake(broken("put.is-readable"))
    project.write("deep/er/test_acme.py", module("acme", "Sound"))
    monkeypatch.chdir(project.path / "deep")
    result = project.run(*ONE, *SYNC, "--lineage-profile", "default")
    found = re.search(
        r"^rerun    pytest ['\"](.+)['\"] --lineage-profile default$", result.stdout.str(), re.M
    )
    assert found is not None
    assert found[1].replace("\\", "/") == "er/test_acme.py::acme::put.is-readable[sync]"
    project.run(found[1]).assert_outcomes(failed=1)


def test_a_run_of_nothing_is_incomplete(project: Project) -> None:
    project.fake(lambda law, face: ("not-applicable", "there is no such thing"))
    project.declare()
    result = project.run(*TWO, *SYNC, "-rs")
    assert result.parseoutcomes() == {"skipped": 2}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["acme: INCOMPLETE: no law got a verdict"])
    result.stdout.fnmatch_lines(
        ["SKIPPED [[]2[]] test_acme.py:5: not applicable: there is no such thing"]
    )
    assert (
        project.run(*TWO, *SYNC, "-k", "accepted").ret == 0
    )  # whoever picks some does not ask for all


def test_a_face_that_ran_nothing_is_incomplete(project: Project) -> None:
    project.fake(lambda law, face: ("holds", "") if face == "sync" else ("not-applicable", "no"))
    project.declare()
    result = project.run(*TWO)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["acme: INCOMPLETE: the face async ran nothing"])


def test_what_the_time_limit_leaves_over_is_inconclusive_and_fails(project: Project) -> None:
    project.fake()
    project.declare()
    result = project.run(*TWO, *SYNC, "--lineage-time-limit", "1e-9")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*is inconclusive, and a run without the verdict of a MUST is incomplete"]
    )
    result.stdout.fnmatch_lines(["*INCOMPLETE: 1 MUST without a verdict*"])


def test_the_report_is_that_of_check(project: Project) -> None:
    project.fake(broken(CONFIG))
    project.write("a/test_acme.py", module("acme", "Sound"))
    project.write("b/test_acme2.py", module("acme", "Sound"))
    result = project.run("--lineage-laws", CONFIG, *SYNC, "--lineage-report", "deep/out.jsonl")
    assert result.ret == 1
    document = jsonl.read(project.path / "deep" / "out.jsonl")
    rows = {row["target"]: row["verdict"] for row in document["laws"]}
    assert rows == {"a/test_acme.py::acme": "broken", "b/test_acme2.py::acme": "broken"}
    assert document["exit_code"] == 1
    assert [target["faces"] for target in document["targets"]] == [["sync"], ["sync"]]
