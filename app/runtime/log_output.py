"""Writes log lines to stderr without ever waiting for their reader.

A collector that hangs, or a terminal that is paused, must not stop decisions: what does not fit into the buffer of the
pipe, terminal or socket is lost, and the next line that fits is preceded by one that says how many were.
"""

import contextlib
import io
import logging
import os
import socket
import stat
import sys
from collections.abc import Callable
from typing import TextIO

Write = Callable[[bytes], int]
"""Writes the beginning of some bytes, and returns how many; raises BlockingIOError if none fit."""


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
    """Writes each line whole or not at all; the end of a line that fits in part waits for the next one."""

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
