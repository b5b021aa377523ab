"""Logging: one line per event on stderr, as text for people or as JSON for machines.

A line never contains a raw key, whatever logged it, and a caller's input cannot start a new line. Nobody waits for the
reader of the lines.
"""

import contextlib
import io
import logging
import os
import re
import socket
import stat
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TextIO

import msgspec

from app.model.agents import Agent
from app.model.api_keys import without_raw_keys
from app.model.decisions import AuthorizeRequest, Decision
from app.model.times import rfc3339

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that this task answers; every line written meanwhile carries it."""
DECISION_ID: ContextVar[str | None] = ContextVar("decision_id", default=None)
"""With tracing, the id of the decision that this task has made."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_plain_field = re.compile(r"[^\s=\"\\]+").fullmatch
_LIBRARIES = ("uvicorn", "uvicorn.error", "asyncio", "litestar", "redis")
_decisions = logging.getLogger("app.decisions")
_COLOURS = {"allowed": "\x1b[32m", "denied": "\x1b[31m", "escalated": "\x1b[33m"}
_PLAIN = "\x1b[0m"
_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure_logging(level: str, style: str = "text") -> None:
    """Log everything from `level` (debug, info, warning, error) on to stderr, and libraries from warning on."""
    handler = log_handler(sys.stderr)
    text = TerminalLines if sys.stderr.isatty() else TextLines
    handler.setFormatter(JsonLines() if style == "json" else text())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for library in _LIBRARIES:
        logging.getLogger(library).setLevel(max(logging.WARNING, logging.getLogger().level))


Write = Callable[[bytes], int]
"""Writes the beginning of some bytes, and returns how many; raises BlockingIOError if none fit."""
DecisionNoter = Callable[[str, AuthorizeRequest, Decision, int], None]
"""Called with the workspace, the call, the decision and how many us its caller waited."""


def decision_noter(
    when: str, find_agent: Callable[[str, str], Agent | None], *, tracing: bool = False
) -> DecisionNoter | None:
    """A function that logs each decision, or None if this is switched off. when: `terminal`, `always` or `never`.

    find_agent: looks up the agent with an id or alias in a workspace, if this replica has it cached.
    tracing: whether it also notes the decision's id for the span of the request.
    """
    logs = when != "never" and (when == "always" or sys.stderr.isatty()) and _decisions.isEnabledFor(logging.INFO)
    if not logs and not tracing:
        return None

    def note(workspace_id: str, request: AuthorizeRequest, decision: Decision, waited_us: int) -> None:
        if tracing:
            DECISION_ID.set(decision.id)
        if not logs:
            return
        agent = find_agent(workspace_id, request.agent_id)
        called = {"agent_id": request.agent_id}
        if agent is not None:
            called = {"agent": agent.alias or agent.name, "agent_id": agent.id}
        _note_decision(called, request, decision, waited_us)

    return note


def _note_decision(agent: dict[str, str], request: AuthorizeRequest, decision: Decision, waited_us: int) -> None:
    outcome = decision.outcome
    fields = {
        "result": outcome.result.value,
        **agent,
        "tool": request.tool_name,
        "reason": outcome.reason,
        "ms": round(waited_us / 1000, 3),
        "decision_id": decision.id,
    }
    _decisions.info("decided", extra=fields)


class TextLines(logging.Formatter):
    """`2026-11-20T12:34:56.789Z WARNING app.redis_client.pipelined: … name=value`; a traceback follows, indented."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with control characters shown as codes rather than sent to a terminal."""
        fields = "".join(f" {name}={_field(value)}" for name, value in _fields(record).items())
        first = f"{_time(record)} {record.levelname} {record.name}: {record.getMessage()}{fields}"
        lines = [first.replace("\n", "\\n"), *(f"  {line}" for line in self._traceback(record).splitlines())]
        return without_raw_keys(
            "\n".join(_CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", each) for each in lines)
        )

    def _traceback(self, record: logging.LogRecord) -> str:
        return self.formatException(record.exc_info) if record.exc_info else ""


class JsonLines(TextLines):
    """One JSON object per line: time, level, logger, message, request_id and the event's own fields."""

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


class TerminalLines(TextLines):
    """Lines for a person watching: short times, results in colour, the level only where it matters."""

    def format(self, record: logging.LogRecord) -> str:
        """`12:34:56.789  denied     <agent>  refund.create  Parameter … (0.6 ms)`."""
        clock = _time(record)[11:23]
        if record.name == _decisions.name:
            event = vars(record)
            colour = "" if os.environ.get("NO_COLOR") else _COLOURS.get(event["result"], "")
            agent = f"{event['agent']} ({event['agent_id']})" if "agent" in event else event["agent_id"]
            line = f"{agent}  {event['tool']}  {event['reason']} ({event['ms']:.1f} ms)"
            return f"{clock}  {colour}{event['result']:9}{_PLAIN if colour else ''}  {self._shown(line)}"
        level = "" if record.levelno == logging.INFO else f"{record.levelname}  "
        fields = _fields(record)
        shown = "  ".join(f"{name}={fields[name]}" for name in ("status", "ms") if name in fields)
        first = self._shown(f"{level}{record.getMessage()}  {shown}".rstrip())
        return "\n".join([f"{clock}  {first}", *map(self._shown, self._traceback(record).splitlines())])

    def _shown(self, text: str) -> str:
        return without_raw_keys(_CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text.replace("\n", "\\n")))


def _field(value: Any) -> str:
    """A value that ends where the next field begins: a JSON string, if it could be read as more than one field."""
    text = str(value)
    return text if _plain_field(text) else msgspec.json.encode(text).decode()


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """The event's `extra` fields, and the request it happened in."""
    request_id = REQUEST_ID.get()
    request = {} if request_id is None else {"request_id": request_id}
    return request | {name: value for name, value in vars(record).items() if name not in _OWN_FIELDS}


def _time(record: logging.LogRecord) -> str:
    return rfc3339(int(record.created * 1000))


def log_handler(stream: TextIO = sys.stderr) -> logging.Handler:
    """A handler for the stream. A stream without a descriptor is in memory, so writing to it never waits."""
    try:
        number = stream.fileno()
    except (io.UnsupportedOperation, AttributeError):
        return logging.StreamHandler(stream)
    if stat.S_ISSOCK(os.fstat(number).st_mode):
        end = socket.socket(fileno=os.dup(number))
        return NonBlockingHandler(lambda data: end.send(data, socket.MSG_DONTWAIT), end.close)
    descriptor = _opened_again(number)
    return NonBlockingHandler(
        lambda data: os.write(descriptor, data), lambda: None if descriptor == number else os.close(descriptor)
    )


class NonBlockingHandler(logging.Handler):
    """Writes lines without ever waiting for their reader.

    A collector that hangs, or a terminal that is paused, must not stop decisions: what does not fit into the buffer of
    the pipe, terminal or socket is lost, and the next line that fits is preceded by one that says how many were. Each
    line is written whole or not at all; the end of a line that fits in part waits for the next one.
    """

    def __init__(self, write: Write, close: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._write, self._close = write, close
        self._pid = os.getpid()
        self._unwritten = b""
        self._lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record's line, or count it as lost."""
        try:
            line = self.format(record)
            if self._lost:
                line = f"{self.format(self._loss())}\n{line}"
            if self._put(f"{line}\n".encode(errors="backslashreplace")):
                self._lost = 0
            else:
                self._lost += 1
        except Exception:  # noqa: BLE001 - as the standard library's handlers do
            self.handleError(record)

    def close(self) -> None:
        """Later lines are dropped: the descriptor's number may be another file's by then, as in a fork already."""
        super().close()
        with self.lock or contextlib.nullcontext():
            self._write = len
            if self._pid == os.getpid():
                self._close()
            self._close = lambda: None

    def _put(self, line: bytes) -> bool:
        """Write the end of the line before, then this line; True if at least its beginning was written."""
        ends_at = len(self._unwritten)
        data = self._unwritten + line
        try:
            written = self._write(data)
        except BlockingIOError:
            return False
        self._unwritten = data[written:] if written > ends_at else data[written:ends_at]
        return written > ends_at

    def _loss(self) -> logging.LogRecord:
        text = "lines lost here, because nobody read the log in time: %d"
        return logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, (self._lost,), None)


def _opened_again(number: int) -> int:
    """A descriptor that does not wait; the given one's flags stay as they are, because other processes share them.

    Files never wait, and are not opened again. Where a pipe or a terminal cannot be, the log waits for its reader.
    """
    if stat.S_ISFIFO(os.fstat(number).st_mode) or os.isatty(number):
        with contextlib.suppress(OSError):
            return os.open(f"/proc/self/fd/{number}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    return number
