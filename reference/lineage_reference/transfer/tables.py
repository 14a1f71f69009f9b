"""The tables of threads, views, runs, transfers, handoffs and receipts, for SQLite and Postgres.

A view is never copied: a fork keeps the length of its parent's view that it began with, and only the pieces
that came after as rows of its own. That is why a fork costs the same whatever the length of its source. For the
same reason a transfer names its slice as a range of a view: views only grow at their end.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

METADATA = MetaData()
ID = String(200)

THREADS = Table(
    "lineage_transfer_threads",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("id", ID, nullable=False, unique=True),
    Column("parent_id", ID, nullable=True),
    Column("relationship", String(20), nullable=True),
    Column("root_id", ID, nullable=False),
    Column("provider", ID, nullable=True),
    # How much of the parent's view it began with, how long its own is, how much of it the parent has.
    Column("inherited", Integer, nullable=False),
    Column("length", Integer, nullable=False),
    Column("merged", Integer, nullable=False),
    Column("adopted", Boolean, nullable=False),
    Column("start_id", ID, nullable=True),
    Column("active_run", ID, nullable=True),
    Column("returned_run", ID, nullable=True),
    # Who resolves the thread just now, and until when that may be believed.
    Column("claim", ID, nullable=True),
    Column("claimed_until", Float, nullable=True),
    Index("lineage_transfer_by_parent", "parent_id"),
)

RUNS = Table(
    "lineage_transfer_runs",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("id", ID, nullable=False, unique=True),
    Column("thread_id", ID, nullable=False),
    Column("provider", ID, nullable=False),
    Column("status", String(20), nullable=False),
    Column("native_thread", ID, nullable=True),
    Column("native_turn", ID, nullable=True),
    Column("checkpoint_thread", ID, nullable=True),
    Column("checkpoint_id", ID, nullable=True),
    Column("items", Text, nullable=False),
    # Where it stands in the view of its thread; only a stable run does.
    Column("position", Integer, nullable=True),
    # Ids of the transfers that it was begun with, as JSON.
    Column("context", Text, nullable=False),
    Index("lineage_transfer_stable", "thread_id", "position"),
    Index("lineage_transfer_by_checkpoint", "thread_id", "checkpoint_id"),
    Index("lineage_transfer_turns", "provider", "native_thread", "number"),
)

PASSED = Table(
    "lineage_transfer_passed",
    METADATA,
    Column("run_id", ID, primary_key=True),
    Column("checkpoint_thread", ID, primary_key=True),
    Column("checkpoint_id", ID, primary_key=True),
)
"""Checkpoints that runs have reached before they ended."""

PIECES = Table(
    "lineage_transfer_pieces",
    METADATA,
    Column("thread_id", ID, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("run_id", ID, nullable=True),
    # Only the last item of the run: the result of a subagent.
    Column("last_only", Boolean, nullable=False),
    # Of a piece of which no run is known: all messages of this checkpoint.
    Column("checkpoint_id", ID, nullable=True),
)
"""What a thread's view has beyond the inherited part."""

SESSIONS = Table(
    "lineage_transfer_sessions",
    METADATA,
    Column("thread_id", ID, primary_key=True),
    Column("provider", ID, primary_key=True),
    Column("session", ID, nullable=False),
    Column("covered", Integer, nullable=False),
)
"""The native session of each provider on a thread, and how much of the view it covers."""

TRANSFERS = Table(
    "lineage_transfer_transfers",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("id", ID, nullable=False, unique=True),
    Column("type", String(20), nullable=False),
    Column("source_thread", ID, nullable=False),
    Column("target_thread", ID, nullable=False),
    Column("source_point", Text, nullable=True),
    Column("base_point", Text, nullable=True),
    Column("source_provider", ID, nullable=True),
    Column("target_provider", ID, nullable=True),
    Column("status", String(20), nullable=False),
    Column("resolution", String(20), nullable=True),
    Column("created_by", String(20), nullable=False),
    Column("created_at", Float, nullable=False),
    Column("resolved_at", Float, nullable=True),
    Column("consumed_at", Float, nullable=True),
    Column("consumed_by", ID, nullable=True),
    Column("handoff_id", ID, nullable=True),
    Column("native_thread", ID, nullable=True),
    Column("reason", String(40), nullable=True),
    Column("replaced_by", ID, nullable=True),
    # The slice: a range of the view of a thread. Of a spawned subagent: its task instead.
    Column("slice_thread", ID, nullable=True),
    Column("slice_from", Integer, nullable=False),
    Column("slice_to", Integer, nullable=False),
    Column("task", Text, nullable=True),
    Column("changed_at", Float, nullable=False),
    Index("lineage_transfer_to", "target_thread", "status"),
    Index("lineage_transfer_from", "source_thread"),
)

STATUS_MOVES = Table(
    "lineage_transfer_moves",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("transfer_id", ID, nullable=False),
    Column("before", String(20), nullable=True),
    Column("after", String(20), nullable=False),
    Column("at", Float, nullable=False),
    Column("reason", String(40), nullable=True),
    Index("lineage_transfer_story", "transfer_id", "number"),
)

HANDOFFS = Table(
    "lineage_transfer_handoffs",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("transfer_id", ID, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("covers", Text, nullable=False),
    # The messages as the saver's serializer writes them, and the name that it gives to that form.
    Column("form", String(40), nullable=False),
    Column("items", LargeBinary, nullable=False),
    # Bytes, since not every text that an agent writes is one that a database takes.
    Column("text", LargeBinary, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created_at", Float, nullable=False),
)

RECEIPTS = Table(
    "lineage_transfer_receipts",
    METADATA,
    Column("receipt", ID, primary_key=True),
    Column("command", String(40), nullable=False),
    Column("argument", ID, nullable=False),
    # None: a dispatch whose run is still active.
    Column("answer", Text, nullable=True),
    Column("run_id", ID, nullable=True),
    Index("lineage_transfer_receipt_of", "run_id"),
)

CHILDREN = Table(
    "lineage_transfer_children",
    METADATA,
    Column("provider", ID, primary_key=True),
    Column("session", ID, primary_key=True),
    Column("thread_id", ID, nullable=False),
)
"""Subagents of a provider's own that were observed: their native session, and the thread that stands for it."""
