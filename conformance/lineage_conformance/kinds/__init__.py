"""The kinds of target, a room for each: its protocol, its cases, how they are played, its strategies and its laws.

Importing a module of laws registers its laws.
"""

from __future__ import annotations

import functools
import importlib

GROUPS: dict[str, tuple[str, ...]] = {
    "saver": (
        "put", "versions", "values", "latest", "fork", "writes", "list", "namespaces", "metadata", "serde",
        "delete", "copy", "prune", "runs", "delta_history", "durability", "concurrency", "security", "machine",
    ),
    "branching": ("branching", "workspace", "creation", "cost"),
    "delta": ("delta_blobs", "service"),
    "rollback": ("rollback", "turns"),
    "answer": ("answer",),
    "transfer": ("transfer", "points", "together", "cost"),
    "graph": (
        "graph_resume", "graph_interrupts", "graph_fork", "graph_subgraph", "graph_durability", "graph_stops",
        "graph_delta",
    ),
}  # fmt: skip
"""Room: its modules of laws in the order in which they run, causes before consequences."""


@functools.cache
def load() -> None:
    """Import every module of laws, and add the corpus to its laws, once."""
    for room, modules in GROUPS.items():
        for module in modules:
            importlib.import_module(f"{__name__}.{room}.laws.{module}")
    importlib.import_module(f"{__name__}.saver.corpus").attach()
