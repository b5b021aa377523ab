"""Cancels work in a thread: long-running work checks now and then whether its result is still needed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Cancelled(Exception):
    """The result is no longer needed, so the work was abandoned."""


class _Thread(threading.local):
    is_cancelled: Callable[[], bool] | None = None


_this_thread = _Thread()


@contextmanager
def cancelled_when(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Until the end of the block, `raise_if_cancelled` asks `is_cancelled` in this thread."""
    _this_thread.is_cancelled = is_cancelled
    try:
        yield
    finally:
        _this_thread.is_cancelled = None


def raise_if_cancelled() -> None:
    """Raise Cancelled if the result is no longer needed. Outside `cancelled_when`, it always is."""
    if _this_thread.is_cancelled is not None and _this_thread.is_cancelled():
        raise Cancelled
