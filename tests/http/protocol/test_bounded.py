"""Requests that are too large or too slow to become one: refused with our own body, and the connection is closed."""

import json
import socket

import pytest
import uvicorn
from uvicorn.server import ServerState

from app.http.protocol.bounded import HEAD_BYTES, MOST_PIPELINED, REQUEST_SECONDS, BoundedHttpProtocol

HEAD = b"POST /v1/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"


class Loop:
    """Stands for the loop: what is to happen later happens when the test says so."""

    def __init__(self):
        self.soon, self.later = [], []

    def call_soon(self, callback):
        self.soon.append(callback)

    def call_later(self, seconds, callback):
        self.later.append([seconds, callback])
        timer = self.later[-1]
        return type("Timer", (), {"cancel": lambda _: self.later.remove(timer)})()

    def create_task(self, coroutine):
        coroutine.close()
        return type("Task", (), {"add_done_callback": lambda *_: None})()

    def let_time_pass(self):
        """Everything that is due by now happens."""
        due, self.later = self.later, []
        for _, callback in due:
            callback()


class Transport:
    """Stands for the socket."""

    def __init__(self):
        self.written, self.closed = b"", False

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def get_extra_info(self, _name):
        return None

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


@pytest.fixture
def connection():
    """A new connection, its loop and its socket."""
    loop, transport = Loop(), Transport()
    config = uvicorn.Config(lambda *_: None, log_config=None, ws="none", lifespan="off")
    protocol = BoundedHttpProtocol(config, ServerState(), {}, _loop=loop)
    protocol.connection_made(transport)
    return protocol, loop, transport


def refusal(transport):
    """Status and error of what was written."""
    head, body = transport.written.split(b"\r\n\r\n", 1)
    assert b"content-length: %d\r\n" % len(body) in head
    assert b"connection: close" in head
    return int(head.split()[1]), json.loads(body)["error"]["code"]


def test_a_request_that_comes_whole_leaves_no_timer(connection):
    """Nothing is waited for while it is answered, nor after."""
    protocol, loop, transport = connection
    protocol.data_received(HEAD + b"body")
    assert (loop.later, transport.closed) == ([], False)


def test_a_head_without_end_is_refused(connection):
    """In one endless header or in many; however small its pieces are."""
    protocol, _, transport = connection
    protocol.data_received(b"GET / HTTP/1.1\r\nX-Long: ")
    for _ in range(HEAD_BYTES // 1024):
        assert not transport.closed
        protocol.data_received(b"a" * 1024)
    assert transport.closed
    assert refusal(transport) == (431, "HEAD_TOO_LARGE")


def test_a_body_is_not_counted_as_a_head(connection):
    """Nor is the next request that comes with its end."""
    protocol, _, transport = connection
    protocol.data_received(HEAD.replace(b"4", b"200000"))
    for _ in range(199):
        protocol.data_received(b"b" * 1000)
    protocol.data_received(b"b" * 1000 + b"GET / HTTP/1.1\r\nX-A")
    protocol.data_received(b": a\r\n\r\n")
    assert not transport.closed


def test_a_head_that_does_not_end_in_time_is_refused(connection):
    """However diligently a byte comes now and then: one timer runs from the first."""
    protocol, loop, transport = connection
    for byte in b"GET / HTTP/1.1\r\nX-Slow":
        protocol.data_received(bytes([byte]))
    assert [seconds for seconds, _ in loop.later] == [REQUEST_SECONDS]
    loop.let_time_pass()
    assert transport.closed
    assert refusal(transport) == (408, "REQUEST_TIMEOUT")


def test_a_body_that_does_not_end_in_time_ends_the_connection(connection):
    """Who reads it is told that the client has gone; there is nothing to answer."""
    protocol, loop, transport = connection
    protocol.data_received(HEAD + b"bo")
    assert [seconds for seconds, _ in loop.later] == [REQUEST_SECONDS]
    loop.let_time_pass()
    assert (transport.closed, transport.written) == (True, b"")


def test_a_connection_on_which_nothing_comes_is_closed(connection):
    """It costs a place like any other."""
    _, loop, transport = connection
    loop.let_time_pass()
    assert (transport.closed, transport.written) == (True, b"")


def test_what_is_late_but_comes_stops_the_timer(connection):
    """Head, then body, then the end."""
    protocol, loop, transport = connection
    protocol.data_received(HEAD[:20])
    protocol.data_received(HEAD[20:])
    protocol.data_received(b"bo")
    protocol.data_received(b"dy")
    loop.let_time_pass()
    assert not transport.closed


def test_a_lost_connection_leaves_no_timer(connection):
    """It would close what is closed."""
    protocol, loop, _ = connection
    protocol.data_received(HEAD[:20])
    protocol.connection_lost(None)
    assert loop.later == []


@pytest.mark.parametrize(
    "sent",
    [b"\x16\x03\x01\x02\x00", b"garbage\r\n\r\n", b"FOO /v1/agents HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"],
)
def test_what_is_no_http_is_refused_as_everything_is(connection, sent):
    """TLS on a port without it, and methods that HTTP does not have."""
    protocol, _, transport = connection
    protocol.data_received(sent)
    assert transport.closed
    assert refusal(transport) == (400, "VALIDATION_ERROR")


def test_the_bounds_hold_on_a_real_connection(replica):
    """The worker serves with this protocol: whoever goes on sending a head is cut off, and others are served."""
    endless = b"GET /livez HTTP/1.1\r\nX-Long: " + b"a" * 64 * 1024 * 1024
    with (
        socket.create_connection(("127.0.0.1", replica.port), timeout=10) as peer,
        pytest.raises((BrokenPipeError, ConnectionResetError)),
    ):
        peer.sendall(endless)
    with replica.client() as client:
        assert client.get("/livez").status_code == 200


GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def test_who_asks_too_much_at_once_is_not_heard_any_more(connection):
    """What waits is answered, and with the last of it the connection ends; a request costs us 200 times its bytes."""
    protocol, loop, transport = connection
    protocol.data_received(GET * 3_000)
    protocol.data_received(GET * 3_000)
    assert len(protocol.pipeline) == MOST_PIPELINED
    assert (transport.written, transport.closed, loop.later) == (b"", False, [])
    assert [cycle.keep_alive for cycle, _ in protocol.pipeline] == [False] + [True] * (MOST_PIPELINED - 1)


def test_no_more_is_read_while_some_wait(connection):
    """Or each answer would let a whole read full of others in."""
    protocol, _, _ = connection
    protocol.data_received(GET * 3)
    protocol.on_response_complete()
    assert protocol.flow.read_paused
    protocol.on_response_complete()
    assert not protocol.flow.read_paused


def test_a_refusal_does_not_overtake_the_answer_before_it(connection):
    """Whoever reads the next thing that comes would take it for the answer to the first."""
    protocol, _, transport = connection
    protocol.data_received(HEAD + b"body" + b"no HTTP\r\n\r\n")
    assert (transport.written, transport.closed, protocol.cycle.keep_alive) == (b"", False, False)
    protocol.data_received(b"still no HTTP\r\n\r\n")
    assert (transport.written, transport.closed) == (b"", False)


def test_requests_one_after_the_other_are_counted_one_by_one(connection):
    """However their bytes fall into pieces: neither their heads nor their times add up."""
    protocol, loop, transport = connection
    timers = set()
    protocol.data_received(GET[:20])
    for _ in range(HEAD_BYTES // len(GET) + 2):
        protocol.data_received(GET[20:] + GET[:20])
        protocol.cycle.response_complete = True
        timers |= {id(timer) for timer in loop.later}
        assert len(loop.later) == 1
    assert (transport.written, transport.closed) == (b"", False)
    assert len(timers) > 1


def test_what_follows_a_body_is_no_header(connection):
    """A trailer is nobody's: it comes after everything has been decided by the headers."""
    protocol, _, _ = connection
    protocol.data_received(
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nAuthorization: y\r\n\r\n"
    )
    assert not protocol.cycle.more_body
    assert [name for name, _ in protocol.cycle.scope["headers"]] == [b"host", b"transfer-encoding"]
