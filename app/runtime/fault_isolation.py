"""Fault isolation: work done in turn or repeatedly, where one failure does not stop the rest."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import AppError


@contextmanager
def failures_logged(log: logging.Logger, what: str, *, level: int = logging.ERROR) -> Iterator[None]:
    """Log a failure inside instead of raising it. what: completes the sentence "cannot …", as in `seal workspace …`.

    level: of an expected failure; any other is an error.
    """
    try:
        yield
    except AppError as error:
        log.log(level, "cannot %s: %s", what, error)
    except Exception:
        log.exception("cannot %s", what)
