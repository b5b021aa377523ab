"""Calls of the hot path that no ASGI server sees: which they are, and how long a connection lasts."""

from types import SimpleNamespace

import pytest
import uvicorn
from test_bounded import Loop, Transport
from uvicorn.server import ServerState

from app.http.application import build_application
from app.http.protocol.bounded import REQUEST_SECONDS
from app.http.protocol.direct import DirectHttpProtocol
from app.model.keys import new_raw_key

KEEP_ALIVE = 75
KEY = new_raw_key()
BODY = b'{"agent_id": "00000000-0000-7000-8000-000000000000", "tool_name": "t"}'


class Tasks(Loop):
    """A loop that tells who was asked to answer, and on which time goes on when the test says so."""

    def __init__(self):
        super().__init__()
        self.asked, self.now = [], 1000.0

    def create_task(self, coroutine):
        self.asked.append(coroutine.__qualname__)
        return super().create_task(coroutine)

    def time(self):
        return self.now


def services(known=(KEY,)):
    return SimpleNamespace(authenticator=SimpleNamespace(cached=lambda raw_key: raw_key if raw_key in known else None))


def connect(app=None, **given):
    """A new connection to an application of ours, or to `app`."""
    if app is None:
        app = build_application(None)
        app.state.services = services(**given)
    config = uvicorn.Config(
        app, log_config=None, ws="none", lifespan="off", proxy_headers=False, timeout_keep_alive=KEEP_ALIVE
    )
    loop, transport = Tasks(), Transport()
    protocol = DirectHttpProtocol(config, ServerState(), {}, _loop=loop)
    protocol.connection_made(transport)
    return protocol, loop, transport


def post(*headers, path="/v1/authorize", method="POST", version="1.1", key=KEY, body=BODY):
    lines = [f"{method} {path} HTTP/{version}", "Host: x", f"Authorization: Bearer {key}", *headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return b"".join(line.encode() + b"\r\n" for line in (*lines, "")) + (body or b"")


DIRECT, ASGI = ["DirectHttpProtocol._answer"], ["RequestResponseCycle.run_asgi"]


@pytest.mark.parametrize(
    "sent",
    [
        post(),
        post("Connection: close"),
        post("Content-Type: text/plain", "X-Request-ID: a", "Idempotency-Key: b"),
        post(key="svc_nobody"),
        post(body=None).replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        post(body=b""),
        post(body=b"a" * 64 * 1024),
    ],
)
def test_a_plain_call_is_answered_without_a_cycle(sent):
    """However it is written, and whatever will come of it."""
    protocol, loop, _ = connect()
    protocol.data_received(sent)
    assert loop.asked == DIRECT


@pytest.mark.parametrize(
    "sent",
    [
        post(path="/v1/authorize/"),
        post(path="/v1/authorize?a=b"),
        post(path="http://x/v1/authorize"),
        post(path="/v1/%61uthorize"),
        post(path="/v1/agents"),
        post(method="GET"),
        post(method="OPTIONS"),
        post(version="1.0"),
        post("Expect: 100-continue"),
        post("Connection: upgrade", "Upgrade: h2c"),
        post(body=b"a" * (64 * 1024 + 1)),
    ],
)
def test_every_other_request_goes_the_long_way(sent):
    """There, all that HTTP knows is known."""
    protocol, loop, _ = connect()
    protocol.data_received(sent)
    assert loop.asked == ASGI


def test_around_another_application_nothing_is_special():
    """It may be a middleware that has to see everything."""

    async def app(scope, receive, send): ...

    protocol, loop, _ = connect(app)
    protocol.data_received(post())
    assert loop.asked == ASGI


def test_a_body_that_comes_later_is_waited_for():
    """Most clients write head and body apart."""
    protocol, loop, _ = connect()
    head, body = post()[: -len(BODY)], BODY
    protocol.data_received(head[:30])
    protocol.data_received(head[30:])
    protocol.data_received(body[:10])
    assert loop.asked == []
    assert [seconds for seconds, _ in loop.later] == [REQUEST_SECONDS]

    protocol.data_received(body[10:])

    assert loop.asked == DIRECT
    assert protocol.cycle.received == BODY
    assert loop.later == []


def test_a_stranger_is_not_waited_for():
    """There is an answer before the body has come, and what has come of it is not lost if the key proves good."""
    protocol, loop, _ = connect(known=())
    protocol.data_received(post()[:-10])
    assert loop.asked == ASGI
    assert (bytes(protocol.cycle.body), protocol.cycle.more_body) == (BODY[:-10], True)

    protocol.data_received(post()[-10:])
    assert (bytes(protocol.cycle.body), protocol.cycle.more_body) == (BODY, False)


def test_a_body_that_grows_too_large_changes_ways():
    """With all that has come, the scope's headers among it."""
    protocol, loop, _ = connect()
    sent = post("Connection: close", body=b"a" * 70_000)
    for start in range(0, len(sent), 10_000):
        protocol.data_received(sent[start : start + 10_000])
    assert loop.asked == ASGI
    assert (len(protocol.cycle.body), protocol.cycle.more_body, protocol.cycle.keep_alive) == (70_000, False, False)
    assert dict(protocol.cycle.scope["headers"])[b"authorization"] == f"Bearer {KEY}".encode()
    assert protocol.cycle.scope["path"] == "/v1/authorize"


def test_a_call_before_the_last_one_is_answered_waits_its_turn():
    """In uvicorn's queue."""
    protocol, loop, _ = connect()
    protocol.data_received(post() + post())
    assert loop.asked == DIRECT
    assert len(protocol.pipeline) == 1


def test_a_connection_that_nobody_uses_is_closed():
    """One timer, whatever the number of calls; it starts anew where there has been one in between."""
    protocol, loop, transport = connect()
    for _ in range(3):
        protocol.data_received(post())
        protocol.cycle.response_complete = True
        protocol._go_on()
        loop.now += 1
    assert [seconds for seconds, _ in loop.later] == [KEEP_ALIVE]

    loop.now += KEEP_ALIVE - 3
    loop.let_time_pass()
    assert not transport.closed
    assert [seconds for seconds, _ in loop.later] == [pytest.approx(2)]

    loop.now += 2
    loop.let_time_pass()
    assert transport.closed


@pytest.mark.parametrize("sent", [post(), post()[:-10]], ids=["whole", "half"])
def test_a_connection_with_a_call_under_way_is_in_use(sent):
    """However long ago the last answer was."""
    protocol, loop, transport = connect()
    protocol.data_received(post())
    protocol.cycle.response_complete = True
    protocol._go_on()
    protocol.data_received(sent)

    loop.now += 2 * KEEP_ALIVE
    [close_if_quiet] = [act for seconds, act in loop.later if seconds == KEEP_ALIVE]
    close_if_quiet()

    assert not transport.closed


def test_a_byte_that_begins_nothing_is_no_use_of_a_connection():
    """Whichever way the last answer went: a line's end now and then would hold it for ever."""
    protocol, loop, transport = connect()
    protocol.data_received(post(path="/v1/agents"))
    protocol.cycle.response_complete = True
    protocol.on_response_complete()
    protocol.data_received(b"\r\n")
    assert [seconds for seconds, _ in loop.later] == [KEEP_ALIVE]

    loop.now += KEEP_ALIVE
    loop.let_time_pass()

    assert transport.closed


def test_what_follows_a_body_is_no_header():
    """A key in a trailer authenticates nobody, in one piece or in many."""
    sent = post(body=None).replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n")
    protocol, loop, _ = connect()
    protocol.data_received(sent + b"X-Late: b\r\n\r\n")
    assert loop.asked == DIRECT
    assert [name for name, _ in protocol.cycle.headers] == [b"host", b"authorization", b"transfer-encoding"]


def test_a_stranger_whose_request_broke_off_gets_no_further():
    """It has been refused already."""
    protocol, loop, transport = connect(known=())
    protocol.data_received(post(body=None).replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n"))
    assert transport.closed
    assert loop.asked == []


def test_a_lost_connection_leaves_no_timer():
    """Nor one that a call has started."""
    protocol, loop, _ = connect()
    protocol.data_received(post())
    protocol.cycle.response_complete = True
    protocol._go_on()
    protocol.connection_lost(None)
    assert loop.later == []
