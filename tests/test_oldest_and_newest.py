"""Which interpreters README's test command runs on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import oldest_and_newest as chooser


@pytest.mark.parametrize(
    ("found", "running", "others"),
    [
        ([], 12, []),
        ([12], 12, []),
        ([10], 12, [10]),
        ([13], 12, [13]),
        ([10, 11, 12, 13], 12, [10, 13]),
        ([10, 11, 12, 13], 10, [13]),
        ([10, 11, 12, 13], 13, [10]),
        ([11], 10, [11]),
        ([10, 11], 13, [10]),
    ],
)
def test_the_oldest_and_the_newest_are_chosen(
    found: list[int], running: int, others: list[int]
) -> None:
    chosen = chooser.others([(3, n) for n in found], (3, running))
    assert chosen == [(3, n) for n in others]


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="needs scripts without a suffix")
def test_only_what_runs_is_found(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    program(first, "python3.10", "echo 'pyenv: python3.10: command not found' >&2; exit 127")
    program(first, "python3.11", "echo 3 11")
    program(first, "python3.13", "echo nonsense")
    program(first, "python3", "echo 3 99")
    program(second, "python3.11", "exit 1")
    program(second, "python", "echo 3 12")
    found = chooser.interpreters(f"{first}{os.pathsep}{second}")
    assert found == {(3, 11): str(first / "python3.11"), (3, 12): str(second / "python")}


def test_tox_is_asked_for_both() -> None:
    made = chooser.command({(3, 10): "/a/python", (3, 13): "/b/python"}, Path("work"))
    assert made[:4] == [sys.executable, "-m", "tox", "run"]
    assert made[-1] == "py310-fast,py313-fast"
    assert made.count("--discover") == 2


def test_what_asks_for_a_few_tests_runs_here_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert chooser.main(["tests/test_x.py"]) == 0
    assert "alone" in capsys.readouterr().out


CONFTEST = (Path(__file__).parent / "conftest.py").read_text(encoding="utf-8")


def test_the_essence_is_one_of_each_slow_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers = slow: s")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.slow
        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_slow(n): assert n == 1

        @pytest.mark.slow
        class TestMore:
            def test_slow(self): pass

        @pytest.mark.parametrize("n", [1, 2])
        def test_fast(n): pass
        """
    )
    pytester.runpytest("--essence", "-p", "no:xdist").assert_outcomes(passed=4, deselected=2)
    pytester.runpytest("-p", "no:xdist").assert_outcomes(passed=4, failed=2)
