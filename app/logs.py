"""Logging of our processes: one line an event, on stderr."""

import logging
import sys


def configure_logging(level: str) -> None:
    """Everything at `level` (debug, info, warning, error) and above goes to stderr; libraries from warning on."""
    logging.basicConfig(
        stream=sys.stderr,
        level=level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
    for library in ("uvicorn", "uvicorn.error", "asyncio", "litestar"):
        logging.getLogger(library).setLevel(max(logging.WARNING, logging.getLogger().level))
