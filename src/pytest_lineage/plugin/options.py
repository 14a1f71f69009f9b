"""Options: one table of flag, ini key, environment variable, default and help; and how they are read.

The first of flag, environment variable, ini key and default that says something counts. Nothing here
imports more than pytest itself, and records are named tuples, which are made faster than dataclasses: every
pytest run reads these options.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

Kind = Literal["targets", "words", "choice", "text", "seconds", "file", "switch"]

FACES = ("sync", "async", "sync->async", "async->sync")
PROFILES = ("quick", "default", "deep")

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


class Option(NamedTuple):
    """One option. Its flag, ini key and environment variable are spelled from its name."""

    name: str
    kind: Kind
    help: str
    default: Any = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """The command line's spelling: ``--lineage-op-limit``."""
        return f"--lineage-{self.name}"

    @property
    def key(self) -> str:
        """The ini file's spelling, also the attribute of `config.option`: ``lineage_op_limit``."""
        return f"lineage_{self.name.replace('-', '_')}"

    @property
    def variable(self) -> str:
        """The environment's spelling: ``LINEAGE_OP_LIMIT``."""
        return self.key.upper()


TABLE: tuple[Option, ...] = (
    Option(
        "target", "targets", metavar="TARGET", default=(),
        help="judge this target too: a built-in name, an installed saver's name, pkg.mod:factory, "
        "./file.py:factory or a langgraph.json (repeatable; one per line in an ini file, separated by "
        "commas in the environment). From an ini file it joins only runs that are not narrowed to files or ids",
    ),
    Option("kind", "choice", "kind of the targets named by --lineage-target", "saver", "KIND"),
    Option(
        "over", "text", "saver under a built-in reference of another kind, as `check --over` has it", "", "TARGET"
    ),
    Option("laws", "words", "only these laws: ids, groups or globs", (), "GLOB,..."),
    Option("face", "words", f"only these faces: {', '.join(FACES)}", (), "FACE,...", FACES),
    Option(
        "profile", "choice",
        "quick replays the corpus (fast, the same programs every time); default adds generated "
        "programs; deep many of them",
        "quick", "PROFILE", PROFILES,
    ),
    Option("op-limit", "seconds", "seconds for one operation before it counts as hanging", 5.0, "S"),
    Option("start-limit", "seconds", "seconds for importing and opening a target before it counts as hanging", 20,
           "S"),
    Option("time-limit", "seconds", "seconds for each target, in each process; what is left then has no verdict",
           None, "S"),
    Option("report", "file", "write a report with one line per verdict, as `pytest-lineage check --report` does",
           None, "FILE.jsonl"),
    Option("allow-nonempty", "switch", "accept a target that holds data; only threads of ours are touched", False),
    Option("fail-on-should", "switch", "a broken SHOULD fails too", False),
    Option("known", "file", "known failures (default: lineage-known.toml in rootdir, if there is one)", None, "FILE"),
    Option("fail-on", "choice", "which failures fail the run: those that are not known (new), known ones too (any), "
           "or none (never)", "new", "WHICH", ("new", "any", "never")),
    Option("cov", "switch", "measure which lines of the target's module the laws reached", False),
)  # fmt: skip


class Named(NamedTuple):
    """A target that was named: the text a user knows it by, and the one by which a worker finds it."""

    label: str
    text: str
    joins: bool = True
    """Whether it takes part in this run without being picked by a node id."""


class Settings(NamedTuple):
    """What the options come to."""

    targets: tuple[Named, ...]
    kind: str
    over: str
    laws: tuple[str, ...]
    face: tuple[str, ...]
    profile: str
    op_limit: float
    start_limit: float
    time_limit: float | None
    report: Path | None
    allow_nonempty: bool
    fail_on_should: bool
    known: Path | None
    fail_on: str
    cov: bool
    asked: frozenset[str] = frozenset()
    """Names of the options that this run was given by flag or environment, not by an ini file."""


def add(parser: pytest.Parser) -> None:
    """Declare every flag and ini key."""
    group = parser.getgroup("lineage", "pytest-lineage: laws of LangGraph checkpointers")
    for option in TABLE:
        shown = "" if option.default in (None, (), "", False) else f" (default: {option.default})"
        more: dict[str, Any] = {"dest": option.key, "default": None, "help": option.help + shown}
        if option.kind == "switch":
            more.update(action="store_const", const=True)
        else:
            more.update(metavar=option.metavar)
            if option.kind in ("targets", "words"):
                more["action"] = "append"
        group.addoption(option.flag, **more)
        parser.addini(option.key, option.help, _INI_TYPES.get(option.kind, "string"), default=None)


_INI_TYPES: Mapping[str, Any] = {"targets": "linelist", "words": "linelist", "switch": "bool"}


def read(config: pytest.Config) -> Settings:
    """The settings of a run. Raises `pytest.UsageError` that says which value is wrong and what is right."""
    values: dict[str, Any] = {}
    asked = []
    for option in TABLE:
        raw, source = _raw(option, config)
        name = option.key.removeprefix("lineage_")
        values["targets" if name == "target" else name] = _value(option, raw, source, config)
        if source in ("flag", "env"):
            asked.append(name)
    return Settings(**values, asked=frozenset(asked))


def _raw(option: Option, config: pytest.Config) -> tuple[Any, str]:
    """The value as it was given and where: ``flag``, ``env``, ``ini`` or ``default``."""
    given = getattr(config.option, option.key, None)
    if given is not None:
        return given, "flag"
    given = os.environ.get(option.variable, "").strip()
    if given:
        return given, "env"
    try:
        given = config.getini(option.key)
    except (ValueError, TypeError, pytest.UsageError) as error:
        raise pytest.UsageError(f"{option.key}: {error}") from None
    if given not in (None, "", []):
        return given, "ini"
    return option.default, "default"


def _value(option: Option, raw: Any, source: str, config: pytest.Config) -> Any:
    if source == "default":
        return raw
    name = {"flag": option.flag, "env": option.variable, "ini": option.key}[source]
    return _READERS[option.kind](option, raw, name, source, config)


def _targets(option: Option, raw: Any, name: str, source: str, config: pytest.Config) -> Any:
    given = raw.replace("\n", ",").split(",") if isinstance(raw, str) else raw
    labels = dict.fromkeys(item.strip() for item in given if item.strip())
    joins = source != "ini" or not narrowed(config)
    return tuple(Named(label, _located(label, source, config), joins) for label in labels)


def narrowed(config: pytest.Config) -> bool:
    """Whether the command line names nothing but files and node ids."""
    given = getattr(config, "args_source", None)
    if given is not pytest.Config.ArgsSource.ARGS:
        return False
    folder = config.invocation_params.dir
    return all("::" in arg or (folder / arg).is_file() for arg in config.args)


def _located(label: str, source: str, config: pytest.Config) -> str:
    """A path in an ini file is relative to that file; elsewhere to the current directory."""
    path, colon, attribute = label.rpartition(":")
    if not colon:
        path, attribute = label, ""
    if source != "ini" or not path.endswith((".py", ".json")) or config.inipath is None:
        return label
    return f"{config.inipath.parent / path}{colon}{attribute}"


def _words(option: Option, raw: Any, name: str, source: str, config: pytest.Config) -> Any:
    given = [raw] if isinstance(raw, str) else raw
    found = tuple(word.strip() for item in given for word in item.split(",") if word.strip())
    for word in found:
        if option.choices and word not in option.choices:
            raise pytest.UsageError(f"{name}: {word!r} is none of {', '.join(option.choices)}")
    return found


def _choice(option: Option, raw: Any, name: str, source: str, config: pytest.Config) -> Any:
    choices = option.choices
    if option.name == "kind":
        from lineage_conformance.kinds import KINDS

        choices = tuple(KINDS)
    if raw not in choices:
        raise pytest.UsageError(f"{name}: {raw!r} is none of {', '.join(choices)}")
    return raw


def _text(option: Option, raw: Any, name: str, source: str, config: pytest.Config) -> Any:
    return str(raw).strip()


def _seconds(option: Option, raw: Any, name: str, source: str, config: pytest.Config) -> Any:
    try:
        found = float(raw)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise pytest.UsageError(f"{name}: {raw!r} is no number of seconds above 0")
    return found


def _file(option: Option, raw: Any, name: str, source: str, config: pytest.Config) -> Any:
    base = (
        config.inipath.parent
        if source == "ini" and config.inipath
        else config.invocation_params.dir
    )
    file = base / Path(raw).expanduser()
    if option.name == "known":  # it is read
        if not file.is_file():
            raise pytest.UsageError(f"{name}: there is no file {raw}")
        return file
    near = next(folder for folder in file.parents if folder.exists())
    if file.is_dir() or not near.is_dir() or not os.access(near, os.W_OK):
        raise pytest.UsageError(f"{name}: {raw}: cannot be written")
    return file


def _switch(option: Option, raw: Any, name: str, source: str, config: pytest.Config) -> Any:
    if isinstance(raw, bool):
        return raw
    if raw.lower() not in _TRUE + _FALSE:
        raise pytest.UsageError(f"{name}: {raw!r} is neither {_TRUE[0]} nor {_FALSE[0]}")
    return raw.lower() in _TRUE


_READERS: Mapping[str, Callable[[Option, Any, str, str, pytest.Config], Any]] = {
    "targets": _targets,
    "words": _words,
    "choice": _choice,
    "text": _text,
    "seconds": _seconds,
    "file": _file,
    "switch": _switch,
}
