"""The plugin on real savers, each in its worker process: what goes wrong there, and what is left behind."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator

import pytest

from tests.plugin_kit import Project, module

CONFIG = "put.config-is-accepted-everywhere"
ONE = ("--lineage-laws", "put.is-readable")
SYNC = ("--lineage-face", "sync")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(pytester, monkeypatch)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


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
            "expected [[]*'task-1', 'a', '*'*[]]",
            "got      []",
            "rerun    pytest *",
            "acme (quick; sync): 1 SHOULD broken, 1 broken",
            f"  MUST broken: {CONFIG}[[]sync[]]: acknowledged data can be lost",
            "    from it follow: put.read-is-isolated",
            "XFAIL *put.read-is-isolated[[]sync[]] - *SHOULD: *",
            f"FAILED test_acme.py::acme::{CONFIG}[[]sync[]]*",
        ]
    )
    result.stdout.no_fnmatch_line("*failure.py*")
    found = re.search(r"^rerun    pytest ['\"](.+)['\"]$", result.stdout.str(), re.MULTILINE)
    assert found is not None
    project.run(found[1]).assert_outcomes(failed=1)


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_modules_in_packages_and_out_of_them(project: Project, mode: str) -> None:
    project.write("pkg/__init__.py", "")
    project.write("pkg/sub/__init__.py", "")
    project.write("pkg/sub/helpers.py", "from savers import Sound as Relative\n")
    text = module("inside", "Relative").replace("savers import *", ".helpers import Relative")
    project.write("pkg/sub/test_inside.py", text)
    project.write("loose/test_loose.py", module("loose", "Sound"))
    project.spawn(f"--import-mode={mode}", *ONE, *SYNC).assert_outcomes(passed=2)


def test_a_target_that_does_not_open_is_one_clear_error(project: Project) -> None:
    project.write("test_acme.py", module("acme", "missing_server"))
    result = project.run(*ONE)
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        ["acme: the factory raised NameError*", "acme: not opened: *", "ERROR test_acme.py*"]
    )
    result.stdout.no_fnmatch_line("*collector.py*")


def test_a_target_that_is_not_there_when_the_module_is_imported_again(project: Project) -> None:
    project.write("conftest.py", "import savers\nsavers.inside_pytest = True\n")
    text = module("acme", "Sound").replace("make():", "_made():") + "import savers\n"
    text += "made = globals().pop('_made')\nif hasattr(savers, 'inside_pytest'):\n    make = made\ndel made\n"
    project.write("test_acme.py", text)
    result = project.run(*ONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*has no attribute 'make'*declared at the top of the module*"])


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
    result = project.run("--lineage-laws", f"put.is-readable,{CONFIG}", *SYNC, "-s")
    result.assert_outcomes(passed=4)
    result.stdout.no_fnmatch_line("*noise*")


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_with_the_asyncio_plugins(project: Project, mode: str) -> None:
    pytest.importorskip("pytest_asyncio")
    project.declare(
        attribute="test_make",
        extra="pytestmark = [pytest.mark.asyncio, pytest.mark.anyio]\nasync def test_plain():\n    pass\n",
    )
    result = project.spawn(*ONE, "-W", "error::ResourceWarning", "-o", f"asyncio_mode={mode}")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] >= 5
    assert not {"failed", "errors"} & set(outcomes)


# -- what a run leaves behind ------------------------------------------------------------------------

NOTE = "open(__file__ + '.pid', 'w').write(str(__import__('os').getpid())), Sound()"
ENDS = {
    "well": "pass",
    "interrupted": "raise KeyboardInterrupt",
    "internal error": "pass",
}


@pytest.mark.skipif(sys.platform == "win32", reason="asks for a process by its number")
@pytest.mark.parametrize("how", ENDS)
def test_no_worker_outlives_the_run(project: Project, how: str) -> None:
    text = module("acme", "Sound", extra=f"def test_end():\n    {ENDS[how]}\n")
    project.write("test_acme.py", text.replace("return Sound()", f"return ({NOTE})[1]"))
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
    project.declare("HangsInWrites")
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
