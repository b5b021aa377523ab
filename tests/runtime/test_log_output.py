"""The log never waits for its reader, and says what is missing."""

import io
import logging
import os
import pty
import socket
import subprocess
import sys

import pytest

from app.runtime.logs import NonBlockingHandler, log_handler

LINES = 5_000
PADDING = "x" * 200
LOST = "lines lost here, because nobody read the log in time: "


def pipe():
    return os.pipe()


def sockets():
    return tuple(end.detach() for end in socket.socketpair())


def terminal():
    return pty.openpty()


@pytest.fixture(params=[pipe, sockets, terminal])
def ends(request):
    """A reading and a writing end."""
    reading, writing = request.param()
    os.set_blocking(reading, False)
    yield reading, writing
    for each in (reading, writing):
        os.close(each)


def log(handler, number):
    handler.emit(logging.LogRecord("app", logging.INFO, "", 0, "line %d %s", (number, PADDING), None))


def all_there_is(reading) -> str:
    read = b""
    while True:
        try:
            some = os.read(reading, 65_536)
        except BlockingIOError:
            return read.decode().replace("\r\n", "\n")
        read += some


def test_a_reader_that_stops_loses_lines_and_learns_how_many(ends):
    """Each line that comes is whole, and none is missing that is not counted; the reader stops twice."""
    reading, writing = ends
    with os.fdopen(os.dup(writing), "w") as stream:
        handler = log_handler(stream)
    text, number = "", 0
    for _ in range(2):
        for _ in range(LINES):
            log(handler, number)
            number += 1
        text += all_there_is(reading)
    while not text.endswith(f"line {number - 1} {PADDING}\n"):
        log(handler, number)
        number += 1
        text += all_there_is(reading)
    expected = lost = 0
    for line in text.splitlines():
        if line.startswith(LOST):
            expected += int(line.removeprefix(LOST))
            lost += int(line.removeprefix(LOST))
        else:
            assert line == f"line {expected} {PADDING}"
            expected += 1
    handler.close()
    assert expected == number
    assert lost > LINES


def test_the_end_of_a_line_comes_before_the_next_one():
    """Whatever part of what is left the buffer takes."""
    taken, room = b"", [3, 0, 4, 1_000, 0, 2, 1_000, 1_000]

    def write(data):
        nonlocal taken
        size = room.pop(0)
        if not size:
            raise BlockingIOError
        taken += data[:size]
        return min(size, len(data))

    handler = NonBlockingHandler(write)
    while room:
        handler.emit(logging.LogRecord("app", logging.INFO, "", 0, "abcdefgh", (), None))
    line = "abcdefgh\n"
    assert taken.decode() == f"{line}{LOST}2\n{line}{LOST}1\n{line}{line}{line}"


def test_a_stream_in_memory_takes_everything():
    stream = io.StringIO()
    log(log_handler(stream), 7)
    assert stream.getvalue() == f"line 7 {PADDING}\n"


def test_a_file_takes_everything_at_its_end(tmp_path):
    with (tmp_path / "log").open("a+") as file:
        file.write("before\n")
        file.flush()
        handler = log_handler(file)
        log(handler, 7)
        handler.close()
        file.seek(0)
        assert file.read() == f"before\nline 7 {PADDING}\n"


def test_what_comes_after_the_end_goes_nowhere():
    """Least of all into a file that has the descriptor's number by then."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream, os.fdopen(reading) as read:
        handler = log_handler(stream)
        log(handler, 1)
        handler.close()
        handler.close()
        log(handler, 2)
        stream.close()
        assert read.read() == f"line 1 {PADDING}\n"


def test_a_pipe_stays_as_other_processes_have_it():
    """They share its flags, and may not be prepared for a write that fails."""
    program = (
        "import logging, os; from app.runtime.logs import configure_logging; configure_logging('info');"
        "logging.info('hello'); print(os.get_blocking(2))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr.count("hello")) == ("True\n", 1)
