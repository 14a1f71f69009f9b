"""The protocol of kind ``toy``: a counter for each thread, over a checkpointer of its own in `saver`."""

from __future__ import annotations

from typing import Protocol


class Counter(Protocol):
    """Counters, sync."""

    def add(self, thread: str, amount: int) -> int:
        """Add an amount to the counter of a thread and return its new total."""
        ...

    def forget(self, thread: str) -> None:
        """Optional. Set the counter of a thread to nothing."""
        ...


class AsyncCounter(Protocol):
    """The same, awaited."""

    async def aadd(self, thread: str, amount: int) -> int:
        """As `Counter.add`."""
        ...

    async def aforget(self, thread: str) -> None:
        """Optional. As `Counter.forget`."""
        ...
