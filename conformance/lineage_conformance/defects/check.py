"""Run the suite inside faulty and fixed environments of every known defect.

``python -m lineage_conformance.defects.check [--only D-06] [--python python3.12]``

For each defect two environments are made, once, in a cache folder (with uv where it is installed, else with venv and
pip). The suite is built from its source, or taken as a wheel, and installed into them without its dependencies, so
that nothing but the pins decides which LangGraph is there. On the faulty pins the named law must be broken and the
run must end with exit code 1; on the fixed pins the law must hold on every face. Exit code 0 if that is so for all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lineage_conformance import law as laws
from lineage_conformance.defects import FOLDER, Defect, catalogue

TOOLS = ("hypothesis>=6.100", "pytest>=8.0")
"""What the suite itself needs beside LangGraph."""

TIMEOUT = 600
"""Seconds for one command."""


class Failed(Exception):
    """A command that was needed did not work."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the defects that were asked for, print a table, record the results."""
    parser = argparse.ArgumentParser(
        prog="python -m lineage_conformance.defects.check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="ID", help="only this defect (repeatable)"
    )
    parser.add_argument(
        "--python", metavar="PROGRAM", help="interpreter for the environments (default: by version)"
    )
    parser.add_argument(
        "--project", type=Path, metavar="PATH", help="source tree or wheel of the suite"
    )
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where the environments are kept")
    parser.add_argument("--output", type=Path, metavar="FILE", default=FOLDER / "results.json")
    options = parser.parse_args(arguments)
    known = {defect.id: defect for defect in catalogue()}
    if strange := set(options.only) - set(known):
        parser.error(
            f"no defect is called {', '.join(sorted(strange))}; known are {', '.join(known)}"
        )
    chosen = [defect for defect in known.values() if not options.only or defect.id in options.only]
    cache = options.cache or _cache()
    with tempfile.TemporaryDirectory() as folder:
        try:
            wheel = _wheel(options.project, Path(folder), options.python or sys.executable)
        except Failed as error:
            print(error, file=sys.stderr)
            return 2
        results = []
        for defect in chosen:
            results.append(_judge(defect, wheel, cache, options.python))
            print(_line(results[-1]), flush=True)
    _record(options.output, results)
    good = sum(result["ok"] for result in results)
    print(f"{good} of {len(results)} defects are told apart")
    return 0 if good == len(results) else 1


def _judge(defect: Defect, wheel: Path, cache: Path, python: str | None) -> dict[str, Any]:
    """Run the defect's law in both environments and say whether it tells them apart."""
    result: dict[str, Any] = {
        "id": defect.id,
        "title": defect.title,
        "law": defect.law,
        "target": defect.target,
    }
    for side, pins in (("faulty", defect.faulty), ("fixed", defect.fixed)):
        try:
            env = _environment(pins, cache, python or f"python{defect.python}")
            _install(env, [str(wheel)], "--no-deps", "--force-reinstall")
            result[side] = _run(defect, env)
        except Failed as error:
            result[side] = {"error": str(error)}
        result[side]["pins"] = list(pins)
    faulty, fixed = result["faulty"].get("faces", {}), result["fixed"].get("faces", {})
    ran = {verdict for verdict in fixed.values() if verdict != "not-applicable"}
    told = "broken" in faulty.values() or "hangs" in faulty.values()
    result["ok"] = told and result["faulty"].get("exit") == 1 and ran == {"holds"}
    return result


def _run(defect: Defect, env: Path) -> dict[str, Any]:
    """Check the target with the law's group; the verdicts of the law by face, the exit code, a reason."""
    command = [
        str(_program(env, "pytest-lineage")),
        "check",
        defect.target,
        "--laws",
        defect.group,
        "--profile",
        "quick",
        "--format",
        "json",
    ]
    if laws.get(defect.law).level is not laws.Level.MUST:
        command.append("--fail-on-should")
    done = _call(command, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise Failed(
            f"exit {done.returncode}, no report: {_tail(done.stderr or done.stdout)}"
        ) from None
    rows = [row for row in report["laws"] if row["law"] == defect.law]
    reasons = [row["reason"] for row in rows if row["verdict"] in ("broken", "hangs")]
    return {
        "exit": done.returncode,
        "faces": {row["face"]: row["verdict"] for row in rows},
        "reason": reasons[0] if reasons else "",
        "versions": {
            k: v for k, v in report.get("versions", {}).items() if k.startswith("langgraph")
        },
    }


def _environment(pins: Sequence[str], cache: Path, python: str) -> Path:
    """An environment with the pins, made when it is first needed."""
    key = hashlib.sha256(json.dumps([python, TOOLS, *pins]).encode()).hexdigest()[:16]
    env = cache / key
    done = env / "complete"
    if not done.exists():
        shutil.rmtree(env, ignore_errors=True)
        cache.mkdir(parents=True, exist_ok=True)
        uv = shutil.which("uv")
        _call(
            [uv, "venv", "-q", "-p", python, str(env)] if uv else [python, "-m", "venv", str(env)]
        )
        _install(env, [*pins, *TOOLS])
        done.touch()
    return env


def _install(env: Path, what: Sequence[str], *options: str) -> None:
    uv = shutil.which("uv")
    program = str(_program(env, "python"))
    if uv:
        _call([uv, "pip", "install", "-q", "-p", program, *options, *what])
    else:
        _call(
            [program, "-m", "pip", "install", "-q", "--disable-pip-version-check", *options, *what]
        )


def _wheel(project: Path | None, folder: Path, python: str) -> Path:
    """The suite as a wheel, built from its source unless it is one already."""
    source = project or FOLDER.parents[2]
    if source.suffix == ".whl":
        return source
    if not (source / "pyproject.toml").exists():
        raise Failed(
            "the suite is not run from its source tree: name its source or a wheel with --project"
        )
    uv = shutil.which("uv")
    if uv:
        _call([uv, "build", "-q", "--wheel", "--out-dir", str(folder), str(source)])
    else:
        _call([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(source)])
    return next(folder.glob("*.whl"))


def _call(command: Sequence[str], check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command without what our own environment would bring into it."""
    environ = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT,
            env=environ,
            stdin=subprocess.DEVNULL,
            check=False,
            cwd=tempfile.gettempdir(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{Path(command[0]).name}: {error}") from None
    if check and done.returncode:
        raise Failed(
            f"{Path(command[0]).name} {command[1]} failed: {_tail(done.stderr or done.stdout)}"
        )
    return done


def _program(env: Path, name: str) -> Path:
    return env / ("Scripts" if os.name == "nt" else "bin") / name


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pytest-lineage" / "defects"


def _tail(text: str) -> str:
    return " | ".join(text.strip().splitlines()[-3:])[-400:]


def _line(result: dict[str, Any]) -> str:
    """One line of the table: id, outcome, law, and what was seen on both sides."""
    sides = []
    for side in ("faulty", "fixed"):
        faces = result[side].get("faces", {})
        seen = sorted(set(faces.values())) or [result[side].get("error", "nothing ran")]
        sides.append(f"{side}: {', '.join(seen)}")
    mark = "ok  " if result["ok"] else "FAIL"
    return f"{result['id']}  {mark}  {result['law']:<45} {'; '.join(sides)}"


def _record(path: Path, results: list[dict[str, Any]]) -> None:
    """Write the results, keeping those of defects that were not asked for."""
    kept: dict[str, Any] = {}
    if path.exists():
        kept = {
            entry["id"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))["results"]
        }
    kept.update((entry["id"], entry) for entry in results)
    data = {"format": 1, "results": [kept[id] for id in sorted(kept)]}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
