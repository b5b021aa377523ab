"""Readings that are costly to make and often asked for, such as those of monitors."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class KeptReading(Generic[_T]):
    """A reading that is made again only once it is older than `seconds`, however many ask for it at once."""

    def __init__(
        self, read: Callable[[], Awaitable[_T]], seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._seconds = seconds
        self._now = now
        self._kept: tuple[_T, float] | None = None
        self._reading = asyncio.Lock()

    async def __call__(self) -> _T:
        """The reading, at most so many seconds old. Raises what reading raises."""
        async with self._reading:
            if self._kept is None or self._now() - self._kept[1] >= self._seconds:
                self._kept = await self._read(), self._now()
            return self._kept[0]
