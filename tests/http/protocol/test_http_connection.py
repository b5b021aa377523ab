"""A connection's states: each is limited in time and in bytes, and requests are answered in order."""

import json

import pytest
from far_ends import FarEnd, Recorder, answer, settle

from app.http.open_streams import OPEN_STREAM
from app.http.protocol import states
from tests.support import parts

GET = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n"
CHUNKS = b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def far_end(recorder):
    return FarEnd(recorder)


def refusal(far_end):
    """Status and code of the last answer, which ends the connection."""
    status, fields, body = far_end.answers[-1]
    assert fields[b"connection"] == b"close"
    assert far_end.transport.ended or far_end.transport.closed
    return status, json.loads(body)["error"]["code"]


async def slow_answer(scope, receive, send):
    """Never answers."""
    while (await receive())["type"] != "http.disconnect":
        pass


# Time.


async def test_a_silent_connection_is_closed(far_end):
    """Without an answer, because nothing was asked."""
    await far_end.pass_time(states.FIRST_SECONDS - 1)
    assert far_end.state == "idle"
    await far_end.pass_time(1)
    assert (far_end.state, far_end.transport.written, far_end.reasons) == ("closed", b"", ["idle"])


@pytest.mark.parametrize("part", [GET[:1], GET[:-2], POST[:-2], CHUNKS[:-4]])
async def test_a_head_that_does_not_end_in_time_is_408(far_end, part):
    """Even if a byte arrives now and then: the time runs from the first byte."""
    for byte in part:
        await far_end.send(bytes([byte]))
        await far_end.pass_time(states.REQUEST_SECONDS / len(part) - 0.001)
    assert far_end.state == "head"
    await far_end.pass_time(1)
    assert refusal(far_end) == (408, "REQUEST_TIMEOUT")


@pytest.mark.parametrize(
    "part", [POST + b"abc", CHUNKS + b"3\r\nabc", CHUNKS + b"3\r\nabc\r\n0\r\n", CHUNKS + b"0\r\na: b\r\n", CHUNKS]
)
async def test_a_body_that_does_not_end_in_time_ends_the_connection(recorder, part):
    """Trailers included. A handler that waits for the body is told, and its answer is the last."""
    far_end = FarEnd(recorder)
    await far_end.send(part)
    await far_end.pass_time(states.REQUEST_SECONDS - 1)
    assert (far_end.state, far_end.statuses) == ("body", [])
    await far_end.pass_time(1)
    assert (far_end.statuses, recorder.requests) == ([400], [])
    assert far_end.answers[0][1][b"connection"] == b"close"
    await far_end.pass_time(states.LINGER_SECONDS)
    assert far_end.state == "closed"


async def test_head_and_body_have_one_time_together(far_end):
    """A slow head leaves its body only the rest of the time."""
    await far_end.send(POST[:9])
    await far_end.pass_time(states.REQUEST_SECONDS - 1)
    await far_end.send(POST[9:])
    await far_end.pass_time(1)
    assert far_end.statuses == [400]


async def test_between_requests_a_connection_is_kept_longer_than_balancers_keep_it(far_end):
    """But not for ever. Empty lines are not a request."""
    await far_end.send(GET)
    for _ in range(int(states.IDLE_SECONDS) - 1):
        await far_end.pass_time(1)
        await far_end.send(b"\r\n")
    assert far_end.state == "idle"
    await far_end.pass_time(1)
    assert (far_end.state, far_end.reasons) == ("closed", ["idle"])


async def test_an_answer_is_waited_for_as_long_as_it_takes():
    """The store has its own deadline, and a stream has no end."""
    far_end = FarEnd(slow_answer)
    await far_end.send(GET)
    await far_end.pass_time(3600)
    assert far_end.state == "answering"


async def test_a_client_that_does_not_read_is_closed(far_end):
    """The memory held for it is freed."""
    far_end = FarEnd(lambda _scope, _receive, send: answer(send, 200, b"x" * 100_000), shared=far_end.shared)
    far_end.transport.reads = False
    await far_end.send(GET)
    assert (far_end.state, far_end.shared.unread_bytes) == ("unread", far_end.transport.held)
    await far_end.pass_time(states.UNREAD_SECONDS)
    assert far_end.transport.aborted
    assert (far_end.state, far_end.shared.unread_bytes, len(far_end.shared.stalled)) == ("closed", 0, 0)


async def test_a_client_that_reads_again_gets_everything(far_end):
    """Its later requests are answered only then."""
    far_end = FarEnd(lambda _scope, _receive, send: answer(send, 200, b"x" * 100_000))
    far_end.transport.reads = False
    await far_end.send(GET * 3)
    assert len(far_end.answers) == 1
    for count in (2, 3, 3):
        await far_end.pass_time(states.UNREAD_SECONDS - 1)
        await far_end.read_all(goes_on=False)
        assert len(far_end.answers) == count
    assert far_end.state == "idle"


async def test_a_stream_waits_for_its_reader():
    """It produces no more than a transport holds, and ends if its client stops reading."""
    made = 0

    async def endless(_scope, _receive, send):
        nonlocal made
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            made += 1
            await send({"type": "http.response.body", "body": b"x" * 16_384, "more_body": True})

    far_end = FarEnd(endless)
    far_end.transport.reads = False
    await far_end.send(GET)
    assert (far_end.state, made) == ("answering", 5)
    await far_end.pass_time(states.UNREAD_SECONDS)
    assert (far_end.state, far_end.reasons) == ("closed", ["unread"])
    [task] = far_end.server.tasks
    task.cancel()


async def test_a_last_answer_can_be_read_although_more_is_coming(far_end):
    """Closing with unread bytes would reset the connection and lose the answer, so bytes are dropped for a while."""
    await far_end.send(b"no HTTP\r\n\r\n")
    assert (far_end.state, far_end.transport.ended, far_end.transport.closed) == ("lingering", True, False)
    for _ in range(10):
        await far_end.send(GET * 100)
    assert far_end.statuses == [400]
    await far_end.pass_time(states.LINGER_SECONDS)
    assert (far_end.state, far_end.reasons) == ("closed", ["refused"])


async def test_a_replica_that_stops_answers_requests_on_their_way(far_end, recorder):
    """The answer says that the connection closes; an idle connection closes soon."""
    quiet = FarEnd(recorder)
    for each in (far_end, quiet):
        each.connection.shutdown()
    await far_end.send(GET)
    assert far_end.answers[0][1][b"connection"] == b"close"
    assert far_end.transport.closed
    await quiet.pass_time(states.DRAIN_IDLE_SECONDS)
    assert (quiet.state, quiet.reasons) == ("closed", ["drained"])


async def test_a_replica_that_stops_answers_requests_waiting_in_line(far_end):
    """Because all of them have been accepted."""
    await far_end.send(POST)
    far_end.connection.shutdown()
    await far_end.send(b"body" + GET + GET)
    await far_end.flush()
    assert [(status, fields.get(b"connection")) for status, fields, _ in far_end.answers] == [
        (200, None),
        (200, None),
        (200, b"close"),
    ]


@pytest.mark.parametrize("sent", [POST + b"bo", GET], ids=["a body", "an answer"])
async def test_a_replica_that_stops_does_not_wait_long_for_others(far_end, sent):
    """Neither for a body that does not arrive nor for an answer that nobody reads."""
    far_end = FarEnd(lambda _scope, _receive, send: answer(send, 200, b"x" * 100_000))
    far_end.transport.reads = False
    await far_end.send(sent)
    far_end.connection.shutdown()
    await far_end.pass_time(states.DRAIN_REQUEST_SECONDS + states.LINGER_SECONDS)
    assert far_end.state == "closed"


async def test_a_body_that_begins_while_a_replica_stops_has_as_little_time(far_end):
    """As little as one that had begun before."""
    far_end.connection.shutdown()
    await far_end.send(POST + b"bo")
    await far_end.pass_time(states.DRAIN_REQUEST_SECONDS)
    assert (far_end.state, far_end.statuses) == ("lingering", [400])


async def test_a_replica_that_stops_does_not_wait_for_a_slow_reader_of_a_stream():
    """Whether it stops reading before or after: it gets a second, not the usual half minute."""

    async def endless(scope, _receive, send):
        scope["state"][OPEN_STREAM] = "key"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": b"x" * 16_384, "more_body": True})

    before, after = FarEnd(endless), FarEnd(endless)
    before.transport.reads = after.transport.reads = False
    await before.send(GET)
    before.connection.shutdown()
    await after.send(GET[:-1])
    after.connection.shutdown()
    await after.send(GET[-1:])
    for each in (before, after):
        await each.pass_time(states.DRAIN_IDLE_SECONDS)
        assert (each.state, each.reasons) == ("closed", ["unread"])
        [task] = each.server.tasks
        task.cancel()


async def test_a_closed_connection_leaves_no_timer(far_end):
    """Whatever it was waiting for."""
    await far_end.send(GET + POST)
    far_end.connection.connection_lost(None)
    assert far_end.clock.timers == []
    assert far_end.server.connections == set()


# Bytes.


@pytest.mark.parametrize("piece", [None, 1000, 31])
@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.1\r\nX: " + b"a" * states.HEAD_BYTES, b"GET /" + b"a" * states.HEAD_BYTES], ids=["X", "/"]
)
async def test_a_head_without_end_is_431(far_end, head, piece):
    """In one endless line or in many, in one piece or in many."""
    await far_end.send(head + b"\r\n\r\n", piece)
    assert refusal(far_end) == (431, "HEAD_TOO_LARGE")


async def test_too_many_headers_are_431(far_end, recorder):
    """Each header costs forty times its bytes."""
    fields = b"a:\r\n" * (states.FIELDS_MAX - 1)
    await far_end.send(b"GET / HTTP/1.1\r\nHost: h\r\n" + fields + b"\r\n")
    assert len(recorder.requests) == 1
    await far_end.send(b"GET / HTTP/1.1\r\nHost: h\r\n" + fields + b"a:\r\n\r\n")
    assert refusal(far_end) == (431, "HEAD_TOO_LARGE")


TOO_LONG = {
    "trailers": (b"0\r\n", b"a:b\r\n"),
    "a trailer without end": (b"0\r\nx:", b"y" * 100),
    "extensions": (b"", b"1;" + b"e" * 1000 + b"\r\nx\r\n"),
    "an extension without end": (b"1;", b"e" * 100),
    "a size without end": (b"", b"0" * 100),
}


@pytest.mark.parametrize(("first", "more"), TOO_LONG.values(), ids=TOO_LONG)
async def test_chunk_extensions_and_trailers_are_bounded_like_a_head(far_end, recorder, first, more):
    """They are dropped, and the connection ends before it has sent more than a head may have."""
    await far_end.send(CHUNKS + first)
    sent = 0
    while not far_end.answers and sent < 2 * states.HEAD_BYTES:
        await far_end.send(more)
        sent += len(more)
    assert sent <= states.HEAD_BYTES + 1100
    assert (far_end.statuses, recorder.requests) == ([400], [])
    await far_end.pass_time(states.LINGER_SECONDS)
    assert far_end.state == "closed"


async def test_a_body_is_read_only_once_it_is_wanted():
    """Reading stops, and continues when the body is wanted."""
    far_end = FarEnd(slow_answer)
    await far_end.send(b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n")
    exchange = far_end.connection._exchange
    exchange.task.cancel()
    await settle()
    exchange._waiter = None
    await far_end.send(b"x" * 1_000_000)
    assert far_end.transport.paused
    assert len(exchange.received) <= states.BODY_AHEAD_BYTES + states.READ_BYTES


async def test_later_requests_wait_in_the_socket(recorder):
    """A connection holds at most one read of them."""
    far_end = FarEnd(slow_answer)
    await far_end.send(GET * 10_000)
    assert far_end.transport.paused
    assert len(far_end.connection._incoming.take()) <= states.READ_BYTES


async def test_of_clients_that_do_not_read_those_unread_longest_are_closed():
    """The bound is per lane; a single slow reader is left alone."""
    shared = parts.connections(unread_bytes=1_000_000)
    far_ends = [
        FarEnd(lambda _scope, _receive, send: answer(send, 200, b"x" * 300_000), shared=shared) for _ in range(5)
    ]
    for each in far_ends:
        each.transport.reads = False
        await each.send(GET)
    assert [each.state for each in far_ends] == ["closed"] * 2 + ["unread"] * 3
    assert shared.unread_bytes <= 1_000_000
    alone = parts.connections(unread_bytes=100_000)
    one = FarEnd(lambda _scope, _receive, send: answer(send, 200, b"x" * 300_000), shared=alone)
    one.transport.reads = False
    await one.send(GET)
    assert one.state == "unread"


# Order.


async def test_a_good_request_before_a_bad_one_is_answered_first(far_end, recorder):
    """Otherwise the client would take the refusal for the answer to the first request."""
    await far_end.send(POST + b"body" + CHUNKS + b"no size\r\n\r\n" + GET)
    await far_end.flush()
    assert far_end.statuses == [200, 400]
    assert [body for *_, body in recorder.requests] == [b"body"]
    assert far_end.transport.ended


async def test_no_request_begins_before_the_earlier_ones_are_answered():
    """They are not even parsed: a malformed request is refused in its turn."""
    answering = []

    async def application(scope, receive, send):
        answering.append((scope["path"], send))
        await receive()
        await receive()

    far_end = FarEnd(application)
    await far_end.send(GET + b"GET /y HTTP/1.1\r\nHost: h\r\n\r\nno HTTP\r\n\r\n")
    assert [path for path, _ in answering] == ["/x"]
    assert far_end.transport.written == b""
    await answer(answering[0][1], 200, b"first")
    await settle()
    assert [path for path, _ in answering] == ["/x", "/y"]
    await answer(answering[1][1], 200, b"second")
    await settle()
    assert far_end.statuses == [200, 200, 400]


async def test_a_client_that_closes_its_sending_side_gets_its_answers(far_end):
    """SHUT_WR closes one half of a connection (RFC 9112, section 9.6): `printf … | nc` is how shells ask."""
    await far_end.send(POST)
    await far_end.send(b"body" + GET * 2)
    await far_end.end()
    assert far_end.statuses == [200, 200, 200]
    assert far_end.transport.closed


async def test_a_client_that_closes_its_half_while_it_is_answered_gets_the_answer():
    """However long the answer takes; then the connection closes."""
    held = []

    async def application(_scope, receive, send):
        held.append(send)
        await receive()
        await receive()

    far_end = FarEnd(application)
    await far_end.send(GET)
    await far_end.end()
    assert (far_end.state, far_end.transport.closed) == ("answering", False)
    await answer(held[0], 200, b"late")
    assert far_end.statuses == [200]
    assert far_end.transport.closed


@pytest.mark.parametrize("part", [GET[:9], POST + b"b", CHUNKS + b"1\r\n"])
async def test_a_request_that_ends_half_way_is_400(far_end, recorder, part):
    """The client may still be reading."""
    await far_end.send(part)
    await far_end.end()
    assert (far_end.statuses, recorder.requests) == ([400], [])
    assert far_end.transport.closed


async def test_an_upgrade_is_ignored_and_its_body_is_a_body(far_end, recorder):
    """RFC 9110, section 7.8; whatever the body looks like, and however it comes."""
    inner = b"POST /inner HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
    for asked in (b"websocket", b"h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA", b"x"):
        connection = b"Upgrade, HTTP2-Settings" if b"h2c" in asked else b"Upgrade"
        head = b"POST /outer HTTP/1.1\r\nHost: h\r\nConnection: %b\r\nUpgrade: %b\r\n" % (connection, asked)
        for piece in (None, 7):
            await far_end.send(head + b"Content-Length: %d\r\n\r\n" % len(inner) + inner, piece)
            chunks = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner)
            await far_end.send(head + chunks, piece)
    assert {(path, body) for _, path, _, _, body in recorder.requests} == {(b"/outer", inner)}
    assert far_end.statuses == [200] * 12


async def test_connect_is_refused_and_nothing_after_it_is_read(far_end, recorder):
    """There is no tunnel, and what the client sends into it is not a request."""
    await far_end.send(b"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n" + GET)
    assert refusal(far_end) == (400, "VALIDATION_ERROR")
    assert recorder.requests == []


async def test_after_an_early_answer_a_short_body_is_read_and_a_long_one_closes_the_connection():
    """The rest of 32 KiB is waited for and dropped; of more, the connection ends."""

    async def application(_scope, _receive, send):
        await answer(send, 401, b"")

    far_end = FarEnd(application)
    await far_end.send(POST + b"bo")
    assert (far_end.state, far_end.statuses) == ("discarding", [401])
    await far_end.send(b"dy" + GET)
    assert (far_end.state, far_end.statuses) == ("idle", [401, 401])
    await far_end.send(POST + b"bo")
    await far_end.pass_time(states.REQUEST_SECONDS)
    assert far_end.state == "closed"

    for head in (POST.replace(b"4", b"%d" % (states.REST_BYTES + 1)), CHUNKS):
        far_end = FarEnd(application)
        await far_end.send(head)
        assert far_end.answers[0][1][b"connection"] == b"close"
        assert far_end.state == "lingering"


@pytest.mark.parametrize("piece", [None, 1, 2, 3])
async def test_empty_lines_before_a_request_are_ignored(far_end, recorder, piece):
    """RFC 9112, section 2.2; wherever reads split them."""
    await far_end.send(b"\r\n\r\n" + GET + b"\r\n" + GET + b"\r\n", piece)
    assert far_end.statuses == [200] * len(recorder.requests) == [200, 200]


@pytest.mark.parametrize(
    "pieces", [(GET + b"\r\n",), (GET, b"\r", b"\n"), (GET + b"\r", b"\n\r\n"), (b"\r", b"\n" + GET)]
)
async def test_blank_lines_are_no_beginning_of_a_request(pieces):
    """Before one and after the last one, in any pieces: who sends nothing more has sent all of its requests."""
    far_end = FarEnd(Recorder())
    for piece in pieces:
        await far_end.send(piece)
    assert far_end.state == "idle"
    await far_end.end()
    assert (far_end.statuses, far_end.state) == ([200], "closed")


async def test_blank_lines_behind_a_request_are_none_either_if_the_client_sends_no_more():
    """They have come before the answer, and so has the end."""
    far_end = FarEnd(Recorder())
    buffer = far_end.connection.get_buffer(-1)
    sent = GET + b"\r\n"
    buffer[: len(sent)] = sent
    far_end.connection.buffer_updated(len(sent))
    await far_end.end()
    assert (far_end.statuses, far_end.state) == ([200], "closed")


async def test_blank_lines_do_not_keep_a_connection_open():
    """Each half of one is the beginning of something; their time limit is that of a request all the same."""
    far_end = FarEnd(Recorder())
    await far_end.send(GET)
    for _ in range(10):
        await far_end.send(b"\r")
        await far_end.send(b"\n")
        await far_end.pass_time(states.IDLE_SECONDS / 10 + 0.1)
    assert far_end.state == "closed"
