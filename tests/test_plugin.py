"""Targets that a test module declares: nodes, verdicts, what is shown, and what a run leaves behind."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.plugin_kit import Project, module

TWO = ("--lineage-laws", "put.is-readable,put.config-is-accepted-everywhere")
ONE = ("--lineage-laws", "put.is-readable")
SYNC = ("--lineage-face", "sync")
CONFIG = "put.config-is-accepted-everywhere"


@pytest.fixture(autouse=True)
def _no_outer_options(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("LINEAGE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


# -- nodes -------------------------------------------------------------------------------------------


def test_each_law_on_each_face_is_an_item(project: Project) -> None:
    project.declare("Sound", extra="def test_plain():\n    assert True\n")
    result = project.run(*ONE, "-v", "--junitxml=out.xml")
    result.assert_outcomes(passed=5)
    ids = [f"test_acme.py::acme::put.is-readable[[]{f}[]] PASSED*" for f in ("sync", "async->sync")]
    result.stdout.fnmatch_lines([*ids, "test_acme.py::test_plain PASSED*"])
    result.stdout.fnmatch_lines(
        [
            "*= lineage =*",
            "acme (quick; sync, async, sync->async, async->sync): 4 holds",
            "  put  4 holds",
        ]
    )
    case = ElementTree.parse(project.path / "out.xml").find(
        ".//testcase[@classname='test_acme.acme']"
    )
    assert case is not None
    assert {p.get("name"): p.get("value") for p in case.iter("property")} == {
        "law": "put.is-readable", "target": "acme", "face": "sync", "level": "MUST", "verdict": "holds",
    }  # fmt: skip


def test_items_are_selected_as_any_others(project: Project) -> None:
    project.declare("Sound", extra="def test_plain():\n    assert True\n")
    stem = f"test_acme.py::acme::{CONFIG}"
    assert project.ids(*TWO, f"{stem}[async->sync]") == [f"{stem}[async->sync]"]
    assert len(project.ids(*TWO, stem)) == 4
    assert len(project.ids(*TWO, "test_acme.py::acme")) == 8
    assert project.ids(*TWO, *SYNC, "-k", "accepted") == [f"{stem}[sync]"]
    assert project.ids(*TWO, *SYNC, "--deselect", f"{stem}[sync]", "-m", "lineage") == [
        "test_acme.py::acme::put.is-readable[sync]"
    ]
    assert project.ids("-m", "not lineage") == ["test_acme.py::test_plain"]


def test_a_target_in_conftest_is_collected_once_with_its_folder(project: Project) -> None:
    project.write(
        "tests/conftest.py", module("conftest", "Sound", extra="def test_never(): 1 / 0\n")
    )
    project.write("tests/test_a.py", "def test_a(): pass\n")
    project.write("tests/deeper/conftest.py", module("deep", "Sound"))
    project.write("tests/deeper/test_b.py", "def test_b(): pass\n")
    project.pytester.makeini("[pytest]\npythonpath = .\n")
    law = f"tests/conftest.py::conftest::{'put.is-readable'}[sync]"
    deep = "tests/deeper/conftest.py::deep::put.is-readable[sync]"
    plain = ["tests/deeper/test_b.py::test_b", "tests/test_a.py::test_a"]
    assert sorted(project.ids(*ONE, *SYNC)) == sorted([law, deep, *plain])
    assert project.ids(*ONE, *SYNC, "tests/test_a.py") == ["tests/test_a.py::test_a"]
    project.run(*ONE, *SYNC, deep, law).assert_outcomes(passed=2)


@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
def test_modules_in_packages_and_out_of_them(project: Project, mode: str) -> None:
    project.pytester.makeini("[pytest]\npythonpath = .\n")
    project.write("pkg/__init__.py", "")
    project.write("pkg/sub/__init__.py", "")
    project.write("pkg/sub/helpers.py", "from savers import Sound as Relative\n")
    text = module("inside", "Relative").replace("savers import *", ".helpers import Relative")
    project.write("pkg/sub/test_inside.py", text)
    project.write("loose/test_loose.py", module("loose", "Sound"))
    result = project.spawn(f"--import-mode={mode}", *ONE, *SYNC)
    result.assert_outcomes(passed=2)


def test_marks_on_the_factory_are_marks_of_its_items(project: Project) -> None:
    text = module("acme", "Sound").replace(
        "def make", "@pytest.mark.skip(reason='later')\ndef make"
    )
    project.write("test_acme.py", text)
    project.run(*ONE, *SYNC, "-rs").assert_outcomes(skipped=1)


def test_one_target_under_two_names_is_one_target(project: Project) -> None:
    project.declare("Sound", extra="again = make\n")
    assert len(project.ids(*ONE, *SYNC)) == 1


# -- errors ------------------------------------------------------------------------------------------


def test_two_targets_of_one_name_are_an_error(project: Project) -> None:
    other = "@pytest_lineage.target('acme')\ndef second():\n    return Sound()\n"
    project.declare("Sound", extra=other)
    result = project.run(*ONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["test_acme.py: two targets are called 'acme' (make and second)*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_name_that_is_no_part_of_a_node_id_is_an_error(project: Project) -> None:
    project.declare("Sound", name="acme")
    project.write("test_acme.py", module("a::b", "Sound"))
    result = project.run(*ONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*'a::b' cannot be a target's name here*"])


def test_a_target_that_does_not_open_is_one_clear_error(project: Project) -> None:
    project.write(
        "test_acme.py", module("acme", "nothing").replace("nothing()", "missing_server()")
    )
    result = project.run(*ONE)
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["acme: the factory raised NameError*", "ERROR test_acme.py::acme*"]
    )
    result.stdout.no_fnmatch_line("*collector.py*")


def test_a_target_that_is_not_there_when_the_module_is_imported_again(project: Project) -> None:
    project.write("conftest.py", "import savers\nsavers.inside_pytest = True\n")
    text = module("acme", "Sound").replace(
        "@pytest_lineage", "import savers\n\ndef declare():\n  @pytest_lineage"
    )
    text = text.replace(
        "\ndef make():\n    return Sound()", "\n  def make():\n    return Sound()\n  return make"
    )
    project.write(
        "test_acme.py", f"{text}\nif hasattr(savers, 'inside_pytest'):\n    make = declare()\n"
    )
    result = project.run(*ONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*has no attribute 'make'*declared at the top of the module*"])


def test_a_face_that_the_target_has_not(project: Project) -> None:
    project.write(
        "savers.py",
        "from langgraph.checkpoint.memory import InMemorySaver\n"
        "class Sound(InMemorySaver):\n"
        "    async def aget_tuple(self, config):\n        raise NotImplementedError\n",
    )
    project.declare("Sound")
    result = project.run(*ONE, "--lineage-face", "async")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["acme: nothing to judge (async: *"])


# -- verdicts ----------------------------------------------------------------------------------------


def test_a_broken_must_fails_and_a_broken_should_does_not(project: Project) -> None:
    project.declare("LosesWrites")
    result = project.run("--lineage-laws", f"{CONFIG},put.read-is-isolated", *SYNC, "-rxf")
    result.assert_outcomes(failed=1, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            f"*_ acme: {CONFIG}[[]sync[]] _*",
            f"acme: {CONFIG}[[]sync[]] is broken",
            "MUST     The config that put returned works*",
            "source   *",
            "smallest program*",
            "*put(id=1)",
            "  > 3  get(id=1)",
            "expected [[]*'task-1', 'a', 'w'*[]]",
            "got      []",
            "rerun    pytest *",
            "acme (quick; sync): 1 broken, 1 SHOULD broken",
            f"  MUST broken: {CONFIG}[[]sync[]]",
            "  SHOULD broken: put.read-is-isolated[[]sync[]]",
            "XFAIL *put.read-is-isolated[[]sync[]] - SHOULD: *",
            f"FAILED test_acme.py::acme::{CONFIG}[[]sync[]]*",
        ]
    )
    result.stdout.no_fnmatch_line("*failure.py*")
    found = re.search(r"^rerun    pytest '(.+)'$", result.stdout.str(), re.MULTILINE)
    if sys.platform != "win32":
        assert found is not None
        project.run(found[1]).assert_outcomes(failed=1)


def test_a_broken_should_fails_when_asked_to(project: Project) -> None:
    project.declare("LosesWrites")
    arguments = ("--lineage-laws", "put.read-is-isolated", *SYNC)
    project.run(*arguments, "--lineage-fail-on-should").assert_outcomes(failed=1)
    assert project.run(*arguments).ret == 0


def test_the_same_failure_on_another_face_is_said_shortly(project: Project) -> None:
    project.declare("LosesWrites")
    result = project.run("--lineage-laws", CONFIG)
    result.assert_outcomes(failed=4)
    assert result.stdout.str().count("smallest program") == 1
    result.stdout.fnmatch_lines(
        [f"*{CONFIG}[[]async[]] is broken, by the same program*as [[]sync[]]"]
    )


@pytest.mark.parametrize("order", ["forward", "backward"])
def test_a_consequence_is_folded_in_any_order(project: Project, order: str) -> None:
    project.declare("Forgets")
    if order == "backward":
        project.write(
            "conftest.py", "def pytest_collection_modifyitems(items):\n    items.reverse()\n"
        )
    result = project.run(*TWO, *SYNC, "--lineage-report=out.jsonl")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [f"*{CONFIG}[[]sync[]] is broken, a consequence of put.is-readable*"]
    )
    result.stdout.fnmatch_lines(
        ["  MUST broken: put.is-readable[[]sync[]] (and 1 that follow from it)"]
    )
    alone = project.run(f"test_acme.py::acme::{CONFIG}[sync]")
    alone.stdout.fnmatch_lines(["smallest program*"])  # nothing else is shown that would explain it


def test_stopping_and_running_the_failed_ones_again(project: Project) -> None:
    project.declare("Forgets")
    result = project.run(*TWO, "-x")
    result.assert_outcomes(failed=1)
    again = project.run(*TWO, "--lf")
    again.assert_outcomes(failed=1)


def test_not_applicable_is_skipped_and_a_run_of_nothing_is_incomplete(project: Project) -> None:
    project.declare("Sound")
    arguments = ("--lineage-laws", "prune", *SYNC, "-rs")
    result = project.run(*arguments)
    assert result.parseoutcomes().keys() == {"skipped"}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["acme: INCOMPLETE: no law got a verdict"])
    result.stdout.fnmatch_lines(["SKIPPED [[]*[]] test_acme.py:*: not applicable: *prune*"])


def test_what_the_time_limit_leaves_over_is_inconclusive_and_fails(project: Project) -> None:
    project.declare("Sound")
    result = project.run(*TWO, *SYNC, "--lineage-time-limit", "0.000001")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*is inconclusive, and a run without the verdict of a MUST is incomplete"]
    )
    result.stdout.fnmatch_lines(["*INCOMPLETE: 1 MUST without a verdict*"])


def test_hanging_and_dying_are_verdicts_and_the_run_goes_on(project: Project) -> None:
    project.write("test_hangs.py", module("hangs", "HangsInWrites"))
    project.write("test_dies.py", module("dies", "Dies"))
    laws = f"{CONFIG},put.keeps-every-field"
    result = project.run("--lineage-laws", laws, *SYNC, "--lineage-op-limit", "1")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["dies: * is broken", "*exit status 7*"])
    result.stdout.fnmatch_lines(
        ["hangs: * hangs", "*no answer for 1 s in writes*", "program so far"]
    )


def test_savers_that_print_or_fork_do_no_harm(project: Project) -> None:
    project.write("test_prints.py", module("prints", "Prints"))
    project.write("test_forks.py", module("forks", "Forks"))
    result = project.run(*TWO, *SYNC, "-s")
    result.assert_outcomes(passed=4)
    result.stdout.no_fnmatch_line("*noise*")


# -- with other plugins ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_with_the_asyncio_plugins(project: Project, mode: str) -> None:
    pytest.importorskip("pytest_asyncio")
    project.declare(
        "Sound",
        attribute="test_make",
        extra="pytestmark = [pytest.mark.asyncio, pytest.mark.anyio]\nasync def test_plain():\n    pass\n",
    )
    result = project.spawn(*ONE, "-W", "error::ResourceWarning", "-o", f"asyncio_mode={mode}")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] >= 5
    assert "failed" not in outcomes
    assert "errors" not in outcomes


# -- what a run leaves behind ------------------------------------------------------------------------

PID = "open(__file__ + '.pid', 'w').write(str(__import__('os').getpid())), Sound()"


@pytest.mark.skipif(sys.platform == "win32", reason="asks for a process by its number")
@pytest.mark.parametrize("how", ["well", "interrupted", "internal error", "exit"])
def test_no_worker_outlives_the_run(project: Project, how: str) -> None:
    ends = {
        "well": "pass",
        "interrupted": "raise KeyboardInterrupt",
        "internal error": "pass",
        "exit": "pytest.exit('enough')",
    }
    extra = f"def test_end():\n    {ends[how]}\n"
    project.declare("Sound", extra=extra)
    text = (
        (project.path / "test_acme.py").read_text().replace("return Sound()", f"return ({PID})[1]")
    )
    project.write("test_acme.py", text)
    if how == "internal error":
        project.write("conftest.py", "def pytest_runtest_logreport(report):\n    1 / 0\n")
    result = project.spawn(*ONE, *SYNC)
    assert (result.ret == 0) == (how == "well")
    assert not alive(int((project.path / "test_acme.py.pid").read_text()))


@pytest.fixture
def _alarm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="as pytest-timeout does it on POSIX")
@pytest.mark.usefixtures("_alarm")
def test_an_item_that_another_plugin_stops_does_not_confuse_the_next(project: Project) -> None:
    project.write("test_acme.py", module("acme", "HangsInWrites"))
    project.write(
        "conftest.py",
        "import signal, pytest\n"
        "def stop(*_):\n    pytest.fail('took too long')\n"
        "@pytest.hookimpl(wrapper=True)\n"
        "def pytest_runtest_call(item):\n"
        "    signal.signal(signal.SIGALRM, stop)\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.5 if 'accepted' in item.name else 60)\n"
        "    try:\n        return (yield)\n"
        "    finally:\n        signal.setitimer(signal.ITIMER_REAL, 0)\n",
    )
    laws = f"put.is-readable,{CONFIG},put.keeps-every-field"
    result = project.run("--lineage-laws", laws, *SYNC, "--lineage-op-limit", "50", "-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*took too long*"])


def test_the_report_is_that_of_check(project: Project) -> None:
    from pytest_lineage.report import jsonl

    project.write("a/test_acme.py", module("acme", "Sound"))
    project.write("b/test_acme2.py", module("acme", "LosesWrites"))
    project.pytester.makeini("[pytest]\npythonpath = .\n")
    result = project.run("--lineage-laws", CONFIG, *SYNC, "--lineage-report", "deep/out.jsonl")
    assert result.ret == 1
    document = jsonl.read(project.path / "deep" / "out.jsonl")
    rows = {row["target"]: row["verdict"] for row in document["laws"]}
    assert rows == {"a/test_acme.py::acme": "holds", "b/test_acme2.py::acme": "broken"}
    assert document["exit_code"] == 1
    assert [target["faces"] for target in document["targets"]] == [["sync"], ["sync"]]
    assert Path(project.path, "deep", "out.jsonl").is_file()
