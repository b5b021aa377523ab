"""Shared polling: a thousand idle streams that wait for the same thing cost one query."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from app.errors import AppError

T = TypeVar("T")


class Polled(Generic[T]):
    """The result of the latest poll: a value, or the error raised instead. wakes: events set when it has changed."""

    def __init__(self, value: T) -> None:
        self.value = value
        self.error: AppError | None = None
        self.wakes: set[asyncio.Event] = set()

    def show(self, value: T, error: AppError | None) -> None:
        """Publish what was seen; watchers are woken if it is new."""
        is_news = error is not None or value != self.value
        self.value, self.error = value, error
        if is_news:
            self.wake()

    def wake(self) -> None:
        for each in self.wakes:
            each.set()


class SharedPolling(Generic[T]):
    """Subjects being watched; one task polls each of them every `every_s` seconds.

    stopping: once set, all watchers are woken and polling ends.
    """

    def __init__(self, look: Callable[[str], Awaitable[T]], every_s: float, stopping: asyncio.Event) -> None:
        self._look, self._every_s, self._stopping = look, every_s, stopping
        self._watched: dict[str, tuple[Polled[T], asyncio.Task[None]]] = {}

    def __len__(self) -> int:
        return len(self._watched)

    @asynccontextmanager
    async def on(self, subject: str, wake: asyncio.Event) -> AsyncIterator[Polled[T]]:
        """The subject's latest value; `wake` is set when it changes. Raises what the first poll raises."""
        if subject not in self._watched:
            polled = Polled(await self._look(subject))
            if subject not in self._watched:  # another task may have polled it meanwhile
                self._watched[subject] = polled, asyncio.create_task(self._keep_looking(subject, polled))
        watched, task = self._watched[subject]
        watched.wakes.add(wake)
        try:
            yield watched
        finally:
            watched.wakes.discard(wake)
            if not watched.wakes and self._watched.get(subject) == (watched, task):
                del self._watched[subject]
                task.cancel()

    async def _keep_looking(self, subject: str, watched: Polled[T]) -> None:
        while not self._stopping.is_set():
            try:
                await asyncio.wait_for(self._stopping.wait(), self._every_s)
            except TimeoutError:
                try:
                    watched.show(await self._look(subject), None)
                except AppError as error:
                    watched.show(watched.value, error)
        watched.wake()
