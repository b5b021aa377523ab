"""Looking at something again and again, once for all who want to know: a thousand idle streams are one question."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from app.errors import AppError

T = TypeVar("T")


class Watched(Generic[T]):
    """What was seen last: a value, or the error that came in its place. wakes: set whenever it has changed."""

    def __init__(self, value: T) -> None:
        self.value = value
        self.error: AppError | None = None
        self.wakes: set[asyncio.Event] = set()

    def show(self, value: T, error: AppError | None) -> None:
        """This is what is there now; whoever watches learns of it if it is new."""
        is_news = error is not None or value != self.value
        self.value, self.error = value, error
        if is_news:
            self.wake()

    def wake(self) -> None:
        for each in self.wakes:
            each.set()


class Watch(Generic[T]):
    """Subjects that somebody watches; each is looked at every `every_s` seconds, by one task.

    stopping: when it is set everybody is woken, and nothing is looked at any more.
    """

    def __init__(self, look: Callable[[str], Awaitable[T]], every_s: float, stopping: asyncio.Event) -> None:
        self._look, self._every_s, self._stopping = look, every_s, stopping
        self._watched: dict[str, tuple[Watched[T], asyncio.Task[None]]] = {}

    def __len__(self) -> int:
        return len(self._watched)

    @asynccontextmanager
    async def on(self, subject: str, wake: asyncio.Event) -> AsyncIterator[Watched[T]]:
        """What is to be seen, kept up to date; `wake` is set when it changes. Raises what the first look raises."""
        if subject not in self._watched:
            made = Watched(await self._look(subject))
            if subject not in self._watched:  # somebody else may have looked meanwhile
                self._watched[subject] = made, asyncio.create_task(self._keep_looking(subject, made))
        watched, task = self._watched[subject]
        watched.wakes.add(wake)
        try:
            yield watched
        finally:
            watched.wakes.discard(wake)
            if not watched.wakes and self._watched.get(subject) == (watched, task):
                del self._watched[subject]
                task.cancel()

    async def _keep_looking(self, subject: str, watched: Watched[T]) -> None:
        while not self._stopping.is_set():
            try:
                await asyncio.wait_for(self._stopping.wait(), self._every_s)
            except TimeoutError:
                try:
                    watched.show(await self._look(subject), None)
                except AppError as error:
                    watched.show(watched.value, error)
        watched.wake()
