"""The pytest plugin: hooks, and nothing that a run without targets would have to pay for.

Importing this module imports neither langgraph nor hypothesis. What judges targets is imported, and starts
worker processes, only when a target is named (`--lineage-target`) or found in a collected module.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_lineage.plugin import options

if TYPE_CHECKING:
    from pytest_lineage.plugin.nodes import ConftestModule, TargetNode


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare flags and ini keys."""
    options.add(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read the options; prepare for targets that the command line names."""
    config.addinivalue_line("markers", "lineage: a law judged on a target (pytest-lineage)")
    picked = [arg for arg in config.args if arg.startswith("lineage::")]
    if picked:
        config.args[:] = [arg for arg in config.args if arg not in picked]
    settings = options.read(config)
    spread = getattr(config.option, "dist", "no") != "no"  # pytest-xdist: this process only gathers
    named = any(target.joins for target in settings.targets)
    if picked or named or spread or settings.asked & {"laws", "cov"}:
        from pytest_lineage.plugin import session

        session.configure(config, settings, picked, spread)


def is_target(value: Any) -> bool:
    """Whether `value` is a declared target, told without importing the class."""
    kind = type(value)
    return kind.__name__ == "Target" and kind.__module__ == "pytest_lineage.targets"


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: Any, name: str, obj: object
) -> TargetNode | list[Any] | None:
    """Make a node of a declared target."""
    if not is_target(obj):
        return None
    from pytest_lineage.plugin.nodes import declared

    return declared(collector, name, obj)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ConftestModule | None:
    """Collect the targets of a ``conftest.py`` along with its folder."""
    if file_path.name != "conftest.py" or parent.session.isinitpath(file_path):
        return None
    return _conftest(file_path, parent)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> ConftestModule | None:
    """Collect the targets of a ``conftest.py`` that was given on the command line."""
    return _conftest(module_path, parent) if module_path.name == "conftest.py" else None


def _conftest(path: Path, parent: pytest.Collector) -> ConftestModule | None:
    for module in parent.config.pluginmanager.get_plugins():
        if getattr(module, "__file__", None) == str(path):
            if not any(is_target(value) for value in vars(module).values()):
                return None
            from pytest_lineage.plugin.nodes import ConftestModule

            made: ConftestModule = ConftestModule.from_parent(parent, path=path)
            made.loaded = module
            return made
    return None


@pytest.fixture
def lineage_gates() -> Iterator[Any]:
    """Named gates at which a test holds tasks of a graph; all are opened when the test ends."""
    from lineage_conformance.graphs import Gates

    with Gates() as gates:
        yield gates


@pytest.fixture
def lineage_parallel_tools(lineage_gates: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes the Send-based parallel tool graph: call it with a saver and what each tool does."""
    import inspect

    from pytest_lineage.plugin.fixtures import Maker

    function = getattr(request.node, "obj", None)
    maker = Maker(lineage_gates, inspect.iscoroutinefunction(function))
    yield maker
    maker.close()
