"""Fault isolation: work for each workspace in turn, where a failure for one does not stop the others."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import AppError


@contextmanager
def failures_logged(log: logging.Logger, what: str, workspace_id: str) -> Iterator[None]:
    """Log a failure of this workspace's part instead of raising it. what: a verb, as in `cannot seal workspace …`."""
    try:
        yield
    except AppError as error:
        log.error("cannot %s workspace %s: %s", what, workspace_id, error)  # noqa: TRY400 - a sentence says it
    except Exception:
        log.exception("cannot %s workspace %s", what, workspace_id)
