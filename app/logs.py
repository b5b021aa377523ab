"""Logging of our processes: one line an event, on stderr, as text for people or as JSON for machines.

A line never holds a raw key, whoever wrote it, and what a caller sent cannot start a line of its own.
"""

import logging
import re
import sys
from contextvars import ContextVar
from typing import Any

import msgspec

from app.model.keys import without_raw_keys
from app.model.times import rfc3339

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that this task answers; every line written meanwhile carries it."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_LIBRARIES = ("uvicorn", "uvicorn.error", "asyncio", "litestar", "redis")
_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure_logging(level: str, style: str = "text") -> None:
    """Everything at `level` (debug, info, warning, error) and above goes to stderr; libraries from warning on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if style == "json" else TextLines())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for library in _LIBRARIES:
        logging.getLogger(library).setLevel(max(logging.WARNING, logging.getLogger().level))


class TextLines(logging.Formatter):
    """`2026-11-20T12:34:56.789Z WARNING app.redis_client.pipelined: … name=value`; a traceback follows, indented."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, whose control characters are shown rather than sent to a terminal."""
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        first = f"{_time(record)} {record.levelname} {record.name}: {record.getMessage()}{fields}"
        lines = [first.replace("\n", "\\n"), *(f"  {line}" for line in self._traceback(record).splitlines())]
        return without_raw_keys(
            "\n".join(_CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", each) for each in lines)
        )

    def _traceback(self, record: logging.LogRecord) -> str:
        return self.formatException(record.exc_info) if record.exc_info else ""


class JsonLines(TextLines):
    """One JSON object a line: time, level, logger, message, request_id and whatever the event adds."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; a traceback is the field `exception`."""
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self._traceback(record)
        return without_raw_keys(msgspec.json.encode(line, enc_hook=str).decode())


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """What the event gave as `extra`, and the request it happened in."""
    request_id = REQUEST_ID.get()
    given = {} if request_id is None else {"request_id": request_id}
    return given | {name: value for name, value in vars(record).items() if name not in _OWN_FIELDS}


def _time(record: logging.LogRecord) -> str:
    return rfc3339(int(record.created * 1000))
