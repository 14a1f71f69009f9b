"""What the tests of the strict saver share: a saver on either face, and short words for its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from inspect import isasyncgenfunction
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from lineage_reference import StrictSaver

DELTA = hasattr(BaseCheckpointSaver, "get_delta_channel_history")


class Face:
    """Calls the sync or the async half of a saver under the sync names."""

    def __init__(self, saver: StrictSaver, asynchronous: bool) -> None:
        self.saver, self.asynchronous = saver, asynchronous

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.saver, ("a" if self.asynchronous else "") + name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.asynchronous:
                found = method(*args, **kwargs)
                return [*found] if isinstance(found, Iterator) else found

            async def run() -> Any:
                if isasyncgenfunction(method):
                    return [each async for each in method(*args, **kwargs)]
                return await method(*args, **kwargs)

            return asyncio.run(run())

        return call


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> Any:
    return Face(StrictSaver(), request.param == "async")


def at(thread: Any = "t", ns: str | None = "", cid: str | None = None, **more: Any) -> Any:
    where = {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": cid}
    return {"configurable": {k: v for k, v in {**where, **more}.items() if v is not None}}


def check(cid: str, values: dict[str, Any] | None = None, *bare: str) -> Any:
    """A checkpoint with these values; the channels in `bare` have a version but no value."""
    values = values or {}
    return {
        "v": 1,
        "id": cid,
        "ts": "2024-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": dict.fromkeys([*values, *bare], "1"),
        "versions_seen": {"node": {"a": "1"}},
        "updated_channels": ["a"],
    }


def put(face: Any, cid: str, parent: str | None = None, *bare: str, **more: Any) -> Any:
    where = at(more.get("thread", "t"), more.get("ns", ""), parent)
    checkpoint = check(cid, more.get("values"), *bare)
    versions = checkpoint["channel_versions"]
    return face.put(where, checkpoint, more.get("metadata", {}), versions)


def ids(face: Any, config: Any = None, **query: Any) -> list[str]:
    return [found.checkpoint["id"] for found in face.list(config or at(), **query)]
