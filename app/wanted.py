"""Whether anybody still waits for this thread's work.

Long-running work checks now and then, and stops if nobody does.
"""

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
    """Until the end of the block, `require_wanted` asks `is_wanted` in this thread."""
    _here.is_wanted = is_wanted
    try:
        yield
    finally:
        _here.is_wanted = None


def require_wanted() -> None:
    """Raise Unwanted if nobody waits any more. Outside of `asking`, somebody always does."""
    if _here.is_wanted is not None and not _here.is_wanted():
        raise Unwanted
