# mypy: ignore-errors
"""Law: security.backslashes-are-data   saver: PostgresSaver, AsyncPostgresSaver
versions: langgraph-checkpoint-postgres 3.2.0, langgraph-checkpoint 4.3.2, PostgreSQL 15
Reading casts the text columns task_id and channel to bytea, and that cast interprets backslashes:
"a\\b" makes the checkpoint unreadable for good, "\\101" comes back as "A".
Run with PG=<dsn of an empty database>.
"""

import os
import sys
import uuid

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver

seen = {}
with PostgresSaver.from_conn_string(os.environ["PG"]) as saver:
    saver.setup()
    for channel in ("a\\b", "\\101"):
        config = {"configurable": {"thread_id": uuid.uuid4().hex, "checkpoint_ns": ""}}
        config = saver.put(config, empty_checkpoint(), {}, {})
        saver.put_writes(config, [(channel, 1)], "task-1")
        try:
            seen[channel] = saver.get_tuple(config).pending_writes[0][1]
        except Exception as error:
            seen[channel] = repr(error)
print("PASS" if (ok := all(k == v for k, v in seen.items())) else f"VIOLATION {seen}")
sys.exit(not ok)
