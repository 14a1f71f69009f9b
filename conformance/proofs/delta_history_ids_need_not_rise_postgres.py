# mypy: ignore-errors
"""Law: delta_history.ids-need-not-rise (SHOULD)   saver: PostgresSaver, AsyncPostgresSaver
versions: langgraph-checkpoint-postgres 3.2.0, langgraph-checkpoint 4.3.2, PostgreSQL 15
The history is read in pages of ids at or below the target's, so an ancestor with a larger id is never
seen. The base class's own walk over the same rows sees it. Run with PG=<dsn of an empty database>.
"""

import os
import sys
import uuid

from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver

with PostgresSaver.from_conn_string(os.environ["PG"]) as saver:
    saver.setup()
    config = {"configurable": {"thread_id": uuid.uuid4().hex, "checkpoint_ns": ""}}
    for id, values in (("2", {"d": ["seed"]}), ("1", {})):  # the child has the smaller id
        checkpoint = {**empty_checkpoint(), "id": id, "channel_values": values}
        checkpoint["channel_versions"] = {"d": id}
        config = saver.put(config, checkpoint, {}, {"d": id})
    own = saver.get_delta_channel_history(config=config, channels=["d"])
    walk = BaseCheckpointSaver.get_delta_channel_history(saver, config=config, channels=["d"])
print("PASS" if own == walk else f"VIOLATION own {own}, parent walk {walk}")
sys.exit(own != walk)
