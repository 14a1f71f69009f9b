# mypy: ignore-errors
"""Law: serde.extreme-numbers (SHOULD)   saver: PostgresSaver, AsyncPostgresSaver
versions: langgraph-checkpoint-postgres 3.2.0, langgraph-checkpoint 4.3.2, PostgreSQL 15
Plain numbers are stored inline as JSONB, whose numbers are decimals: a huge float comes back as an
int, negative zero loses its sign. Run with PG=<dsn of an empty database>.
"""

import os
import sys
import uuid

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver

given = {"huge": 1e22, "zero": -0.0}
with PostgresSaver.from_conn_string(os.environ["PG"]) as saver:
    saver.setup()
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"], checkpoint["channel_versions"] = given, dict.fromkeys(given, "1")
    config = {"configurable": {"thread_id": uuid.uuid4().hex, "checkpoint_ns": ""}}
    config = saver.put(config, checkpoint, {}, checkpoint["channel_versions"])
    found = saver.get_tuple(config).checkpoint["channel_values"]
print("PASS" if (ok := repr(found) == repr(given)) else f"VIOLATION put {given}, got {found}")
sys.exit(not ok)
