# mypy: ignore-errors
"""Law: concurrency.sync-call-in-own-loop (SHOULD)   saver: AsyncSqliteSaver; AsyncPostgresSaver likewise
versions: langgraph-checkpoint-sqlite 3.1.2, langgraph-checkpoint 4.3.2
get_tuple and list refuse a call from the saver's own loop; put and put_writes wait for that loop for ever.
"""

import asyncio
import os
import threading

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


def give_up() -> None:
    """End the process that hangs."""
    print("VIOLATION put did not answer within five seconds", flush=True)
    os._exit(1)


async def main() -> None:
    """Put from inside the loop."""
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        config = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
        try:
            saver.put(config, empty_checkpoint(), {}, {})
        except asyncio.InvalidStateError as error:
            print("refused:", error)
    print("PASS", flush=True)
    os._exit(0)


threading.Timer(5, give_up).start()
asyncio.run(main())
