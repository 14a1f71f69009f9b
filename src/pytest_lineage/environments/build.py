"""Sides: an environment in which a target is opened by a worker of its own, be it this one or another."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage_conformance import builder, freshness, stacks
from lineage_conformance.stacks import Stack
from pytest_lineage.run.engine import Options, default_path


class Unbuildable(Exception):
    """An environment cannot be made; the message is for the user."""


@dataclass(frozen=True)
class Side:
    """One environment of a comparison."""

    name: str
    python: str = ""
    """Its interpreter; empty: the one that runs."""
    packages: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What the user should know about how it was made."""
    seconds: float = 0.0
    """What it took to make it; 0 when it was in the cache."""

    def options(self, **more: Any) -> Options:
        """How to run a target there. A target that is a file is looked for from the current directory."""
        if not self.python:
            return Options(path=default_path(), **more)
        return Options(
            path=(str(Path.cwd()),), python=self.python, suite=str(builder.suite()), **more
        )

    @property
    def family(self) -> dict[str, str]:
        """Installed packages that decide how threads are stored and run."""
        return stacks.family(self.packages)


def of_stack(stack: Stack, more: Sequence[str] = ()) -> Side:
    """The environment of a stack, with `more` requirements (the user's own). Raises `Unbuildable`."""
    try:
        made = stack.environment(more)
    except builder.Failed as error:
        raise Unbuildable(f"{stack.id}: {error}") from None
    notes = drifted(made.packages) if stack.running else ()
    return Side(stack.id, "" if stack.running else made.python, made.packages, notes, made.seconds)


def drifted(packages: Mapping[str, str], folder: Path | None = None) -> tuple[str, ...]:
    """Where the running environment differs from the project's lock file; what is installed is what counts."""
    path = stacks.lock_file(folder or Path.cwd())
    if path is None:
        return ()
    try:
        return tuple(stacks.drift(path, packages))
    except stacks.StackError as error:
        return (str(error),)


def bumped(
    base: Stack, wanted: Sequence[str], latest: bool = False, more: Sequence[str] = ()
) -> Side:
    """The environment of a stack after ``pip install`` of what is `wanted`, as it would be for the user.

    The base is copied, exact versions and all, and the installer then changes what the wanted requirements make it
    change. With `latest`, the packages that decide how threads are stored and run are upgraded to the newest that
    fit. Raises `Unbuildable`, with the resolver's words, where there is no such environment.
    """
    pins = stacks.frozen() if base.running else [*base.requirements, *more]
    name = "latest" if latest else ", ".join(wanted)
    parts = [
        "bump", builder.interpreter_name(base.python), base.id, pins, list(base.constraints), list(wanted), latest,
    ]  # fmt: skip
    state = [
        freshness.state(pins, base.constraints, alone=base.running),
        freshness.state(wanted),
        time.strftime("%Y-%m-%d", time.gmtime())
        if latest
        else "",  # tomorrow another may be newest
    ]
    path = builder.place(parts, state)
    with builder.locked(path):
        found = builder.read(path)
        if found is not None:
            return Side(name, found.python, found.packages, found.notes)
        begin = time.monotonic()
        shutil.rmtree(path, ignore_errors=True)
        try:
            builder.create(path, base.python)
            notes = _copy(path, pins) if base.running else _plain(path, base, more)
            if latest:
                _upgrade(path)
            builder.install(path, [*wanted, *builder.TOOLS])
            made = builder.finish(
                path, f"bump: {name}", list(wanted), time.monotonic() - begin, notes
            )
        except builder.Failed as error:
            shutil.rmtree(path, ignore_errors=True)
            raise Unbuildable(f"{name}: {error}") from None
    return Side(name, made.python, made.packages, made.notes, made.seconds)


def _plain(path: Path, base: Stack, more: Sequence[str]) -> tuple[str, ...]:
    """Install a stack as `Stack.environment` does. Nothing to note."""
    builder.fill(path, [*base.requirements, *more, *builder.TOOLS], base.constraints)
    return ()


def _copy(path: Path, pins: Sequence[str]) -> tuple[str, ...]:
    """Install exact versions without asking what they need; local projects one by one, so that one may fail."""
    plain = [pin for pin in pins if "==" in pin and not pin.startswith("-e ")]
    builder.install(path, plain, "--no-deps")
    notes = []
    for pin in pins:
        if pin not in plain:
            try:
                builder.install(path, [pin], "--no-deps")
            except builder.Failed as error:
                notes.append(f"{pin} could not be put into the other environment: {error}")
    return tuple(notes)


def _upgrade(path: Path) -> None:
    names = sorted(
        name for name in stacks.family(builder.installed(str(builder.program(path, "python"))))
    )
    if shutil.which("uv"):
        builder.install(
            path, names, *(word for name in names for word in ("--upgrade-package", name))
        )
    else:
        builder.install(path, names, "--upgrade", "--upgrade-strategy", "only-if-needed")


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Packages whose version differs, as (name, old, new); empty text where one is not there.

    This suite and the tools of environments are left out: they are not what was bumped.
    """
    names = sorted({*old, *new} - {builder.DISTRIBUTION, "pip", "setuptools", "wheel", "uv"})
    return [(n, old.get(n, ""), new.get(n, "")) for n in names if old.get(n) != new.get(n)]
