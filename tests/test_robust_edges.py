"""Disks that are full, paths that cannot be written, and Ctrl-C at any time: one line, and nothing is lost."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.cli import main, signals
from pytest_lineage.report import jsonl
from pytest_lineage.run import engine, folders

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
PUT = ["check", "memory", "--laws", "put.is-readable", "--face", "sync"]


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert err.count("\n") == 1, err
    return err


@pytest.mark.parametrize("option", ["--report", "--junit"])
def test_a_report_path_that_is_a_directory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str
) -> None:
    assert main([*PUT, option, str(tmp_path)]) == 2
    assert "cannot be written" in one_line(capsys)


def test_a_report_below_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert main([*PUT, "--report", str(tmp_path / "file" / "r.jsonl")]) == 2
    assert "cannot be written" in one_line(capsys)


def test_a_disk_that_fills_up_takes_no_results_along(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jsonl, "write", full)
    assert main([*PUT, "--report", "r.jsonl", "--junit", "r.xml"]) == 2
    captured = capsys.readouterr()
    assert "1 law holds" in captured.out
    assert captured.err == "error: r.jsonl: cannot be written: No space left on device\n"
    assert (tmp_path / "r.xml").read_text(encoding="utf-8").startswith("<?xml")


def test_programs_that_cannot_be_saved_take_no_results_along(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(__file__).parent / "misbehaving.py"
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".lineage").touch()
    laws = ["--laws", "writes.round-trip", "--face", "sync"]
    assert main(["check", f"{file}:LosesWrites", *laws]) == 1
    captured = capsys.readouterr()
    assert "MUST broken" in captured.out
    assert "could not be saved" in captured.err


@pytest.mark.parametrize("variable", ["LINEAGE_STORE_DIR", "TMPDIR"])
def test_no_folder_for_a_worker_is_an_error_of_the_target(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    missing = str(tmp_path / "missing")
    if variable == "TMPDIR":  # Python itself looks elsewhere, unless there is nothing
        monkeypatch.setattr("tempfile.tempdir", missing)
    else:
        monkeypatch.setenv(variable, missing)
    assert main(PUT) == 2
    captured = capsys.readouterr()
    assert "no worker process can be started" in captured.out
    assert "missing" in captured.out


def test_a_worker_that_finds_no_room_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setenv("LINEAGE_STORE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("pytest_lineage.run.supervisor.Heartbeat.create", full)
    run = engine.TargetRun("memory", engine.Options())
    with pytest.raises(engine.Unusable, match="No space left on device"):
        run.start()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_gone_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> Path:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(Path, "cwd", gone)
    assert main(PUT) == 2
    assert one_line(capsys) == "error: No such file or directory\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_is_full_is_one_line() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pytest_lineage", "laws", "put"],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "error: No space left on device\n"


# The timer counts from the first line of `main`; what Python itself does before that is not ours to catch.
EARLY = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGALRM, lambda *a: signal.raise_signal(signal.SIGINT))
from pytest_lineage.cli import main
assert "argparse" not in sys.modules
signal.setitimer(signal.ITIMER_REAL, float(sys.argv.pop(1)))
sys.exit(main())
"""


@posix
@pytest.mark.parametrize("seconds", ["0.005", "0.02", "0.05", "0.1", "0.25", "0.5", "1"])
def test_ctrl_c_while_modules_are_imported_shows_no_traceback(seconds: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY, seconds, "check", "memory", "--report", "r.jsonl"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.strip().endswith("interrupted")
    if (tmp_path / "r.jsonl").exists():
        jsonl.read(tmp_path / "r.jsonl")


@posix
def test_ctrl_c_while_the_report_is_written_waits_for_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = jsonl.write

    def interrupted(*args: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        write(*args)

    outer = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jsonl, "write", interrupted)
    try:
        assert main([*PUT, "--report", "r.jsonl"]) == 130
    finally:
        signal.signal(signal.SIGINT, outer)
    captured = capsys.readouterr()
    assert "1 law holds" in captured.out
    assert jsonl.read("r.jsonl")["exit_code"] == 0


@posix
def test_ctrl_c_while_a_target_is_closed_keeps_its_verdicts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close, closed = engine.TargetRun.close, []

    def interrupted(self: engine.TargetRun, at_once: bool = False) -> None:
        closed.append(at_once)
        if len(closed) == 1:
            raise KeyboardInterrupt(signal.SIGINT)
        close(self, at_once)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine.TargetRun, "close", interrupted)
    assert main([*PUT, "--report", "r.jsonl"]) == 130
    assert closed == [False, True]
    assert "1 law holds" in capsys.readouterr().out
    assert [row["verdict"] for row in jsonl.read("r.jsonl")["laws"]] == ["holds"]


def held_while(interrupts: signals.Interrupts, done: list[int]) -> None:
    with interrupts.held():
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    done.append(2)


@posix
def test_signals_that_are_held_come_afterwards() -> None:
    outer = signal.signal(signal.SIGINT, signal.default_int_handler)
    done: list[int] = []
    try:
        with signals.interrupt_once() as interrupts, pytest.raises(KeyboardInterrupt):
            held_while(interrupts, done)
    finally:
        signal.signal(signal.SIGINT, outer)
    assert done == [1]


def test_folders_are_removed_when_one_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_STORE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError):
        folders.Belongings()
    assert list(tmp_path.iterdir()) == []
