"""Nodes: a target becomes a collector, each of its laws on each of its faces an item.

``tests/test_acme.py::acme::fork.siblings-are-isolated[async]`` for a target that a module declares,
``lineage::sqlite::put.is-readable[sync]`` for one that is named on the command line. Which faces a target has
is known only once it was opened, so collecting a target starts its worker process.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_lineage.plugin import is_target, session
from pytest_lineage.plugin import outcome as failure
from pytest_lineage.targets import address

if TYPE_CHECKING:
    from lineage_conformance.law import Law
    from pytest_lineage.plugin.session import Lineage
    from pytest_lineage.plugin.state import State
    from pytest_lineage.run.rows import Row
    from pytest_lineage.targets import Target


COROUTINES = ("asyncio", "anyio", "trio")
"""Marks that tell a plugin how to run a coroutine function, which an item of ours is not."""


class TargetNode(pytest.Collector):
    """One target. Collecting it opens the target in a worker process."""

    lineage: Lineage
    text: str
    """What names the target to a worker."""
    label: str
    """What names it to a user."""
    kind: str
    import_path: tuple[str, ...] = ()
    where: tuple[str, int | None] = ("", None)
    """File and line (from 0) of the declaration."""

    @property
    def named(self) -> bool:
        """Whether an option names the target, not a module."""
        return self.nodeid.startswith("lineage::")

    def seen(self) -> str:
        """The node's id as it is typed where pytest was started: ids themselves start at rootdir."""
        file, colons, rest = self.nodeid.partition("::")
        start = self.config.invocation_params.dir
        return f"{os.path.relpath(self.config.rootpath / file, start)}{colons}{rest}"

    def collect(self) -> Iterable[LawItem]:
        """An item for each law on each face of the target."""
        try:
            state = self.lineage.open(self)
        except self.CollectError as error:
            raise self.CollectError(self._explained(str(error))) from None
        picked = [p for p in self.lineage.picked if session.matches(p, self.nodeid)]
        unused = set(picked)
        for law in state.laws.values():
            for face in state.faces:
                name = f"{law.id}[{face}]"
                # The id is given, not derived: pytest 9 tells the brackets from the name only in a whole id.
                item: LawItem = LawItem.from_parent(
                    self, name=name, nodeid=f"{self.nodeid}::{name}"
                )
                item.bind(state, law, face)
                wanted = [p for p in picked if session.matches(item.nodeid, p)]
                unused.difference_update(wanted)
                if wanted or not picked:
                    yield item
        if unused:
            raise self.CollectError(
                f"not found: {', '.join(sorted(unused))} (no such law or face of this target; see --collect-only)"
            )

    def _explained(self, message: str) -> str:
        shown = (
            self.text.partition(":")[0] if "/" not in self.text else self.text.rpartition(":")[0]
        )
        message = message.replace(self.text, self.label)
        if self.import_path and "has no attribute" in message:
            message += (
                f". A worker process imports {Path(shown).name} again and looks the target up there, so it must be "
                "declared at the top of the module, not in a function or by a fixture"
            )
        return message

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where the target is declared."""
        return self.where[0] or self.path, self.where[1], self.name


class LawItem(pytest.Item):
    """One law on one face of one target."""

    state: State
    law: Law
    face: str
    row: Row | None = None

    def bind(self, state: State, law: Law, face: str) -> None:
        """Say which law this is."""
        self.state, self.law, self.face = state, law, face
        self.add_marker(pytest.mark.lineage)

    def runtest(self) -> None:
        """Judge the law, and turn the verdict into pytest's words."""
        __tracebackhide__ = True
        self.row = None
        self.row, cause = self.state.judge(self.law.id, self.face)
        settings = self.state.lineage.settings
        failure.tell(self.row, cause, settings.fail_on_should, self.rerun(), settings.fail_on)

    def iter_markers_with_node(self, name: str | None = None) -> Iterator[tuple[Any, pytest.Mark]]:
        """The marks of the item and its module, but for those in `COROUTINES`."""
        for node, mark in super().iter_markers_with_node(name):
            if mark.name not in COROUTINES:
                yield node, mark

    def rerun(self) -> str:
        """The command that judges just this again."""
        state, settings = self.state, self.state.lineage.settings
        found = {**state.about["address"], "node": state.node or state.key}
        command = " ".join(address.command(found, self.law.id, self.face, settings.profile))
        if (
            not state.node
        ):  # named by an option: what the module of a target says itself must be said
            for name, default in (("kind", "saver"), ("over", "")):
                value = getattr(settings, name)
                command += f" --lineage-{name} {address.quoted(value)}" if value != default else ""
        for option, value in (
            ("-c", self.config.option.inifilename),
            ("--rootdir", self.config.option.rootdir),
        ):
            command += f" {option} {address.quoted(str(value))}" if value else ""
        return command

    def describe(self, report: pytest.TestReport) -> None:
        """Put the verdict into a report: as properties for JUnit, whole for our own writers."""
        if isinstance(report.longrepr, tuple) and report.skipped:
            path, line, _ = self.reportinfo()
            report.longrepr = (
                str(path),
                line + 1 if line is not None else None,
                report.longrepr[2],
            )  # type: ignore[assignment]
        if self.row is None:
            return
        row = self.row
        own = {"law": row.law, "target": row.target, "face": row.face, "level": row.level,
               "verdict": row.verdict}  # fmt: skip
        kept = [(name, value) for name, value in self.user_properties if name not in own]
        report.user_properties = self.user_properties = [*kept, *own.items()]
        report.lineage_row = failure.wire(self.state, row)  # type: ignore[attr-defined]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The failure as a block of text about the law; other exceptions as pytest shows them."""
        if not isinstance(excinfo.value, (failure.Failed, pytest.xfail.Exception)):
            return super().repr_failure(excinfo, style)
        shown = excinfo.getrepr(style="value")
        crash = shown.reprcrash
        if crash is not None:
            path, line, _ = self.reportinfo()
            crash.path, crash.lineno = str(path), (line or 0) + 1
            crash.message = getattr(excinfo.value, "line", str(excinfo.value))
        return shown

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where the target is declared, and what failed."""
        assert self.parent is not None
        path, line, name = self.parent.reportinfo()  # type: ignore[attr-defined]
        return (
            path,
            line,
            f"{name}: {self.name}",
        )  # no end of the id, or pytest reads its dots as ::


class NamedTargets(pytest.Collector):
    """The targets that the command line, the environment or an ini file names."""

    lineage: Lineage

    def collect(self) -> Iterable[TargetNode]:
        """A node for each."""
        for named in self.lineage.settings.targets:
            node: TargetNode = TargetNode.from_parent(self, name=named.label)
            node.lineage, node.text, node.label = self.lineage, named.text, named.label
            node.kind = self.lineage.settings.kind
            node.where = (node.nodeid, None)
            yield node


class ConftestModule(pytest.Module):
    """A ``conftest.py``, for the targets that it declares and nothing else."""

    loaded: ModuleType

    def _getobj(self) -> ModuleType:
        return self.loaded  # as pytest loaded it: several may be called "conftest"

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The targets."""
        for name, value in list(vars(self.loaded).items()):
            if is_target(value):
                found = declared(self, name, value)
                yield from found if isinstance(found, list) else [found]


def declared(collector: Any, attribute: str, target: Any) -> TargetNode | list[Any]:
    """The node of a target that a module or class declares; nothing for a second name of the same target.

    Raises `pytest.Collector.CollectError` for a name that cannot be part of a node id or is taken.
    """
    where = collector.nodeid
    name = target.name
    if (
        not isinstance(name, str)
        or not name.strip()
        or any(c in name for c in "[]\n\r\0")
        or "::" in name
    ):
        raise pytest.Collector.CollectError(
            f"{where}: {name!r} cannot be a target's name here: node ids are made of it, so it must be "
            "text without '::', brackets and line breaks"
        )
    for other, value in vars(collector.obj).items():
        if other == attribute:
            break
        if value is target:
            return []
        if is_target(value) and value.name == name:
            raise pytest.Collector.CollectError(
                f"{where}: two targets are called {name!r} ({other} and {attribute}); give each its own name"
            )
    node: TargetNode = TargetNode.from_parent(collector, name=name)
    node.lineage, node.label, node.kind = session.of(collector.config), name, target.kind
    qualified = ".".join([*_classes(collector), attribute])
    node.text, node.import_path = _address(collector.path, qualified)
    node.where = _declared_at(target, collector.path)
    marks = getattr(target.factory, "pytestmark", [])
    for mark in marks if isinstance(marks, list) else [marks]:
        node.add_marker(getattr(pytest.mark, mark.name)(*mark.args, **mark.kwargs))
    return node


def _classes(collector: pytest.Collector) -> Iterator[str]:
    for node in collector.listchain():
        if isinstance(node, pytest.Class):
            yield node.name


def _address(path: Path, attribute: str) -> tuple[str, tuple[str, ...]]:
    """How a worker finds an attribute of a test module, and what it needs on its import path.

    A module in a package is imported by its dotted name, so that its relative imports work; any other by
    its file.
    """
    package = path.parent
    parts = [path.stem]
    while (package / "__init__.py").is_file() and package.name.isidentifier():
        parts.insert(0, package.name)
        package = package.parent
    text = f"{'.'.join(parts)}:{attribute}" if len(parts) > 1 else f"{path}:{attribute}"
    return text, (str(package),)


def _declared_at(target: Target, path: Path) -> tuple[str, int | None]:
    """File and line of a factory, when it is in the module; else the module."""
    try:
        factory = inspect.unwrap(target.factory)
        code = getattr(factory, "__code__", None)
        if code is not None and Path(code.co_filename) == path:
            return str(path), code.co_firstlineno - 1
    except ValueError:
        pass
    return str(path), 0
