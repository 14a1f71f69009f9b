"""The laws, one module per group. Importing a module registers its laws."""

from __future__ import annotations

import functools
import importlib

GROUPS: tuple[str, ...] = (
    "put", "versions", "values", "latest", "fork", "writes", "list", "namespaces", "metadata", "serde",
    "delete", "copy", "prune", "runs", "delta_history", "durability", "concurrency", "security", "machine",
    "branching", "branching_workspace", "branching_creation", "branching_cost",
    "delta_blobs", "delta_blobs_service",
    "rollback", "rollback_turns", "answer",
    "transfer", "transfer_points", "transfer_together", "transfer_cost",
    "graph_resume", "graph_interrupts", "graph_fork", "graph_subgraph", "graph_durability", "graph_stops",
    "graph_delta",
)  # fmt: skip
"""Modules in the order in which their laws run: causes before consequences."""


@functools.cache
def load() -> None:
    """Import every group, and add the corpus to its laws, once."""
    for group in GROUPS:
        importlib.import_module(f"{__name__}.{group}")
    importlib.import_module("lineage_conformance.corpus").attach()
