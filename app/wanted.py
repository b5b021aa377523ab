"""Whether anybody still waits for what this thread does. Work that takes long asks now and then, and stops."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Unwanted(Exception):
    """Nobody waits for the result any more, so the work was abandoned."""


class _Here(threading.local):
    is_wanted: Callable[[], bool] | None = None


_here = _Here()


@contextmanager
def asking(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """In this thread, until the end of the block, `require_wanted` asks `is_wanted`."""
    _here.is_wanted = is_wanted
    try:
        yield
    finally:
        _here.is_wanted = None


def require_wanted() -> None:
    """Raise Unwanted if nobody waits; where nobody was named who might, somebody does."""
    if _here.is_wanted is not None and not _here.is_wanted():
        raise Unwanted
