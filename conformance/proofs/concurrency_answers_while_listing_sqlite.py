# mypy: ignore-errors
"""Law: concurrency.answers-while-listing (SHOULD)   saver: SqliteSaver; the Postgres savers likewise
versions: langgraph-checkpoint-sqlite 3.1.2, langgraph-checkpoint 4.3.2
list() holds the saver's lock until its iterator ends, so any other call from the loop body waits for ever.
"""

import os
import threading

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver


def give_up() -> None:
    """End the process that hangs."""
    print("VIOLATION get_tuple did not answer within five seconds", flush=True)
    os._exit(1)


threading.Timer(5, give_up).start()
with SqliteSaver.from_conn_string(":memory:") as saver:
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    saver.put(config, empty_checkpoint(), {}, {})
    for row in saver.list(config):
        saver.get_tuple(row.config)
print("PASS", flush=True)
os._exit(0)
