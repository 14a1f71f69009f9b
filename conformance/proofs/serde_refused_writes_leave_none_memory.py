# mypy: ignore-errors
"""Law: serde.refused-writes-leave-none (SHOULD)   saver: InMemorySaver
versions: langgraph-checkpoint 2.0.2 to 4.3.2
put_writes stores one write after the other: when it refuses the second, the first stays, and the
engine takes a task that has writes for finished.
"""

import sys

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import MemorySaver

saver = MemorySaver()
config = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
config = saver.put(config, empty_checkpoint(), {}, {})
try:
    saver.put_writes(config, [("a", "kept"), ("b", (n for n in ()))], "task-1")
except TypeError as error:
    print("refused:", error)
left = saver.get_tuple(config).pending_writes
print("PASS" if not left else f"VIOLATION left behind: {left}")
sys.exit(bool(left))
