"""Threads that run next to a test until it ends them."""

import threading
from typing import Self


class Background:
    """`count` threads, each of which runs `_run` until the context ends: it goes on while `_stopping` is not set."""

    def __init__(self, count: int = 1) -> None:
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self, number: int) -> None:
        """What the thread of this number does."""
        raise NotImplementedError
