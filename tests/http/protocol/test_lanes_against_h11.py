"""Streams that two lanes answer together: what h11 sees in them, and what one process alone would answer.

Two servers on real sockets, connected as the processes of a replica are. Connections move whenever a call follows
another request, and some calls move only once they have been read.
"""

import asyncio
import random
import re
import socket
from types import SimpleNamespace

import h11
import pytest
import uvloop
from far_ends import Recorder
from http_streams import BATCHES, SEED, STREAMS, plain, repeats_of, require_agreement, stream_of, we_read
from uvicorn.server import ServerState

from app.errors import AppError
from app.http.answers import RawResponse
from app.http.problems import error_answer
from app.http.protocol import dispatch
from app.http.protocol.connection import ClientConnection
from app.runtime.lanes.lane import Lane
from tests.support import parts

CALL = b"POST /v1/authorize "
_MOST = 1 << 20
_PATIENCE_S = 10
_HOST = b"HTTP/1.1\r\nHost: h\r\n"
LANES_OWN = (
    b"GET /a %b\r\n" % _HOST,
    b"GET /a %bConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n" % _HOST,
    b"HEAD /a %b\r\n" % _HOST,
    b"POST /a %bContent-Length: 3\r\n\r\n{a}" % _HOST,
    b"POST /v1/authorize?a %bContent-Length: 3\r\n\r\n{b}" % _HOST,
    b"%b%bContent-Length: 3\r\n\r\n{c}" % (CALL, _HOST),
    b"%b%bContent-Length: 3\r\nTE: known\r\n\r\n{d}" % (CALL, _HOST),
    b"%b%bContent-Length: 3\r\nExpect: 100-continue\r\n\r\n{e}" % (CALL, _HOST),
    b"%b%bContent-Length: 20000\r\n\r\n%b" % (CALL, _HOST, b"f" * 20_000),
    b"%b%bTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n2;x=y\r\ng}\r\n0\r\nA: b\r\n\r\n" % (CALL, _HOST),
    b"%b%bTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n7\r\nh0\r\n\r\n}\r\n0\r\n\r\n" % (CALL, _HOST),
    b"%b%bTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (CALL, _HOST),
)
"""Requests of either lane: with a body in one piece, in chunks, with trailers, too long for the fast lane."""


class Application(Recorder):
    """What one lane serves. Both write down what they see in one list, with their own order."""

    def __init__(self, lane, requests, moves_late):
        super().__init__()
        self.requests = requests
        decisions = SimpleNamespace(lane=lane, requests=requests, moves_late=moves_late)
        self.state = SimpleNamespace(services=SimpleNamespace(decisions=decisions))


async def respond(decisions, _door, exchange):
    """A call, as the application would record it; in the fast lane, every second one takes long."""
    try:
        body = await exchange.body(_MOST)
    except AppError as error:
        return error_answer(error)
    if decisions.moves_late(body):
        decisions.lane.require_short()
    head = exchange.head
    decisions.requests.append((head.method, head.target, b"", head.headers, body))
    return RawResponse(200, [], b"%d" % len(decisions.requests))


class Lanes:
    """A fast lane that accepts connections, and a slow one. moves: how many connections have moved to each."""

    def __init__(self, rng):
        self.requests, self.moves = [], {True: 0, False: 0}
        self._rng = rng
        self._late = {}
        self._ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    async def open(self):
        loop = asyncio.get_running_loop()
        self._lanes = []
        for place, end in enumerate(self._ends):
            lane = Lane(self._moved)
            lane.attach(end, is_fast=not place)
            config = SimpleNamespace(loaded_app=Application(lane, self.requests, self._moves_late))
            made = self._maker(config, parts.connections(lane=lane))
            lane.listen(loop, lambda moved, made=made: self._adopt(made, moved))
            self._lanes.append((lane, made))
        self._server = await loop.create_server(self._lanes[0][1], "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self):
        self._server.close()
        for end in self._ends:
            asyncio.get_running_loop().remove_reader(end)
            end.close()

    def _moved(self, to_fast):
        self.moves[to_fast] += 1

    def _moves_late(self, body):
        """The same for the same call."""
        return self._late.setdefault(body, self._rng.random() < 0.5)

    def _maker(self, config, shared):
        server = ServerState()
        return lambda moved=None: ClientConnection(config, server, {}, shared=shared, moved=moved)

    def _adopt(self, made, moved):
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(loop.connect_accepted_socket(lambda: made(moved), moved.connection))

    async def answers(self, stream, rng, answers):
        """The requests seen, and the answers that h11 reads. answers: how many come before its stream ends."""
        del self.requests[:]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            await send(writer, stream, rng)
            received, found, ended = b"", [], False
            while not ended:
                if len(found) >= answers and writer.can_write_eof():
                    writer.write_eof()
                more = await reader.read(1 << 16)
                received, ended = received + more, not more
                found = read_answers(received, [request[0] for request in self.requests], ended=ended)
        finally:
            writer.transport.abort()
        return [plain(*each) for each in self.requests], found


async def send(writer, stream, rng):
    """In pieces, if there is a generator for their sizes."""
    at = 0
    while at < len(stream):
        size = len(stream) if rng is None else rng.choice((1, 7, 50, 400, 4000))
        writer.write(stream[at : at + size])
        at += size
        for _ in range(0 if rng is None else rng.choice((0, 0, 1, 5))):
            await asyncio.sleep(0)


def read_answers(received, methods, *, ended):
    """Status and body of each final answer, as a client reads them that sent requests of these methods."""
    found = []
    while received:
        connection = h11.Connection(h11.CLIENT)
        method = methods[len(found)] if len(found) < len(methods) else b"GET"
        method = method if method in {b"HEAD", b"CONNECT"} else b"GET"
        connection.send(h11.Request(method=method, target="/", headers=[("host", "h")]))
        connection.send(h11.EndOfMessage())
        connection.receive_data(received)
        if ended:
            connection.receive_data(b"")
        status, body = 0, b""
        while type(event := connection.next_event()) in {h11.InformationalResponse, h11.Response, h11.Data}:
            if type(event) is h11.Data:
                body += bytes(event.data)
            else:
                status = event.status_code
        if type(event) is not h11.EndOfMessage:
            return found
        found.append((status, body))
        received = bytes(connection.trailing_data[0])
    return found


def mixed(rng):
    """Requests of both lanes, most of which let others follow; then those of the generator, with calls among them."""
    stream = stream_of(rng)
    stream = re.sub(rb"POST /a\?b=c ", lambda found: CALL if rng.random() < 0.6 else found[0], stream)
    calls = b"" if rng.random() < 0.7 else b"".join(repeats_of(rng, CALL + b"HTTP/1.1"))
    return b"".join(rng.choices(LANES_OWN, k=rng.randint(0, 5))) + calls + stream


@pytest.fixture
def calls_are_answered_here(monkeypatch):
    """Calls take Remit's direct path up to this test."""
    monkeypatch.setattr(dispatch, "Application", Application)
    monkeypatch.setattr(dispatch, "respond", respond)
    monkeypatch.setattr(dispatch, "known_caller", lambda _decisions, headers: dict(headers).get(b"te"))
    monkeypatch.setattr(dispatch, "is_refused", lambda *_, **__: False)
    monkeypatch.setattr(dispatch, "has_worked", lambda _decisions, headers: bool(dict(headers).get(b"te")))


@pytest.mark.usefixtures("calls_are_answered_here")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_two_lanes_answer_what_h11_sees_as_one_process_does(batch):
    """Every request once, in its order, with its answer in its place: whole or in pieces, half-closed soon or late."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        moves = runner.run(run_batch(range(batch, STREAMS, BATCHES)))
    assert min(moves.values()) > 0


async def run_batch(numbers):
    lanes = Lanes(random.Random(SEED))
    await lanes.open()
    try:
        for number in numbers:
            await run_stream(lanes, random.Random(SEED + number), is_first=number < BATCHES)
    finally:
        lanes.close()
    return lanes.moves


async def run_stream(lanes, rng, *, is_first):
    stream = b"".join(rng.sample(LANES_OWN, len(LANES_OWN))) if is_first else mixed(rng)
    ours, statuses, state = await we_read(stream, half_closed=True)
    require_agreement(stream, ours, statuses, state)
    before_end = len((await we_read(stream))[1])
    for pieces, count in ((None, 0), (rng, 0), (None, before_end), (rng, before_end)):
        async with asyncio.timeout(_PATIENCE_S):
            seen, answers = await lanes.answers(stream, pieces, count)
        assert seen == ours, stream
        assert [status for status, _ in answers] == statuses, stream
        bodies = [body for (_, body), (method, *_) in zip(answers, ours, strict=False) if method != b"HEAD"]
        numbered = [b"%d" % number for number, (method, *_) in enumerate(ours, 1) if method != b"HEAD"]
        assert bodies == numbered, stream
