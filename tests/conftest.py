"""What every test run of ours shows at its end: which mutant each law killed."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest_plugins = ["pytester"]  # runs of pytest inside tests

KILL = "lineage_kill"

SLOW = (
    "test_branching_laws", "test_bump", "test_delta_laws", "test_handover", "test_plugin_runs",
    "test_page_backends", "test_plugin_xdist", "test_printed_commands", "test_recorded",
    "test_reference_transfer_stores", "test_repro_real",
    "test_report_script", "test_rollback_agents", "test_rollback_laws", "test_script_targets",
    "test_show",
    "test_transfer_laws",
)  # fmt: skip
"""Modules of minutes: they build environments, start a pytest for each test, or run whole kinds of laws."""
os.environ.pop("GITHUB_ACTIONS", None)  # tests that want annotations say so


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our option."""
    parser.addoption(
        "--essence", action="store_true", help="of a slow test's parameters, only the first"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow, so that the short run can leave it out, or take one of each."""
    kept: dict[str, pytest.Item] = {}
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)
        slow = item.get_closest_marker("slow") is not None
        kept.setdefault(item.nodeid.partition("[")[0] if slow else item.nodeid, item)
    if config.getoption("--essence"):
        chosen = set(kept.values())
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = kept.values()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the kill table: one line a law, with the mutants that it noticed first."""
    killed: dict[str, list[str]] = {}
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in getattr(report, "user_properties", ()):
            if name == KILL and report.when == "call":
                law, mutant = value
                killed.setdefault(law, []).append(
                    mutant if report.passed else f"{mutant} (NOT killed)"
                )
    if not killed:
        return
    terminalreporter.section("laws and the mutants that they are the first to notice")
    width = max(map(len, killed))
    for law in sorted(killed):
        terminalreporter.write_line(f"{law:<{width}}  {', '.join(sorted(killed[law]))}")
