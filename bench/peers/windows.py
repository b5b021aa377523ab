"""How many calls a limiter admits in its worst window, to a caller that knows how windows are counted."""

import time
from collections.abc import Callable, Sequence

Admission = tuple[float, float]
"""When an admitted call was sent and when it was answered, in seconds."""


def open_window(ask: Callable[[], bool], window_seconds: float) -> list[Admission]:
    """The admissions of the pattern that counts against counters.

    One call opens the window, on a multiple of the window by the clock, so that it opens the window of those that
    count by the clock as well; then silence until nearly its end; then every try there is for longer than a window.
    """
    time.sleep(window_seconds - time.time() % window_seconds)
    began = time.time()
    tries = [_attempt(ask)]
    time.sleep(max(0.0, began + 0.95 * window_seconds - time.time()))
    while time.time() < began + 2.5 * window_seconds:
        tries.append(_attempt(ask))
    return [(asked, answered) for asked, answered, admitted in tries if admitted]


def most_within(admissions: Sequence[Admission], window_seconds: float) -> int:
    """How many of them certainly lie within one window, measured from the first request to the last answer."""
    most, first = 0, 0
    for last, (_, answered) in enumerate(admissions):
        while answered - admissions[first][0] >= window_seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def _attempt(ask: Callable[[], bool]) -> tuple[float, float, bool]:
    asked = time.perf_counter()
    admitted = ask()
    return asked, time.perf_counter(), admitted
