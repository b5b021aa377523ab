"""Connections that move to the other lane: which ones do, what moves with them, and what clients see if that lane is
stuck.
"""

import asyncio
import json
import socket

import pytest
from far_ends import FarEnd, Recorder, settle

from app.http.hot_path import IN_THE_LOOP_BYTES
from app.http.protocol import states
from app.http.protocol.dispatch import Dispatch
from app.http.protocol.head import read_head
from app.runtime.lanes.lane import AGAIN_SECONDS, Lane
from tests.support import parts

GET = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
CALL = b"POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"
CHUNKED = b"POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
LARGE = b"POST /v1/authorize HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % (IN_THE_LOOP_BYTES + 1)


class Pair:
    """A lane with a simulated connection, and the other lane at the end of the channel."""

    def __init__(self, *, is_fast):
        self.ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.here, self.there = Lane(), Lane()
        self.here.attach(self.ends[0], is_fast=is_fast)
        self.there.attach(self.ends[1], is_fast=not is_fast)
        self.came = []

    def connect(self, moved=None):
        self.recorder, self.reasons = Recorder(), []
        self.far_end = FarEnd(
            self.recorder,
            shared=parts.connections(self.reasons.append, lane=self.here),
            socket=self.ends[0],
            moved=moved,
        )
        return self.far_end

    def moved(self):
        """The bytes with which connections have moved so far."""
        while (moved := self.there._next()) is not None:
            moved.connection.close()
            self.came.append(moved)
        return [each.request for each in self.came]


@pytest.fixture
def make_pair():
    made = []

    def make(*, is_fast):
        made.append(Pair(is_fast=is_fast))
        return made[-1]

    yield make
    for pair in made:
        for end in pair.ends:
            end.close()


HIDDEN = b'POST /v1/authorize HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{"a": 0\r\n\r\n'
"""An incomplete chunk that ends like a body."""

BITS = CHUNKED.replace(b"4\r\nbody", b"1\r\nb\r\n" * 60 + b"4\r\nbody")
"""A short body in so many chunks that joining them takes long."""

TRAILERS = CHUNKED[:-2] + b"a:\r\n" * 200 + b"\r\n"
LONG = b"x" * (IN_THE_LOOP_BYTES + 1)
LONG_CHUNK = CHUNKED.replace(b"4\r\nbody", b"%x\r\n%b" % (len(LONG), LONG))


@pytest.mark.parametrize(
    "request_",
    [GET, LARGE, CHUNKED[:-1], HIDDEN, LONG_CHUNK, BITS, TRAILERS, CALL.replace(b"authorize ", b"authorize?a ")],
)
async def test_the_fast_lane_passes_on_everything_but_short_calls(make_pair, request_):
    """With what it has read of them; the rest stays in the socket."""
    pair = make_pair(is_fast=True)
    far_end = pair.connect()
    await far_end.send(request_[: states.READ_BYTES])
    assert (far_end.state, pair.reasons, far_end.transport.written) == ("closed", ["moved"], b"")
    assert pair.moved() == [request_[: states.READ_BYTES]]
    assert pair.recorder.requests == []


@pytest.mark.parametrize("request_", [CALL, CHUNKED])
async def test_the_slow_lane_passes_on_only_short_calls(make_pair, request_):
    pair = make_pair(is_fast=False)
    far_end = pair.connect()
    await far_end.send(GET)
    await far_end.send(LARGE + b"x" * (IN_THE_LOOP_BYTES + 1))
    assert far_end.statuses == [200, 200]
    await far_end.send(request_)
    assert pair.moved() == [request_]
    assert pair.reasons == ["moved"]


@pytest.mark.parametrize(
    ("is_fast", "stays"), [(True, CALL), (True, CHUNKED), (False, GET), (False, LARGE[:-4] + b"\r\n\r\n")]
)
async def test_each_lane_keeps_its_own_requests(make_pair, is_fast, stays):
    pair = make_pair(is_fast=is_fast)
    far_end = pair.connect()
    await far_end.send(stays)
    assert far_end.state != "closed"
    assert pair.moved() == []


async def test_requests_behind_a_moving_one_move_with_it(make_pair):
    """Those before it are answered first, and their answers written."""
    pair = make_pair(is_fast=True)
    far_end = pair.connect()
    await far_end.send(CALL + CALL + GET + CALL)
    assert far_end.statuses == [200, 200]
    assert pair.moved() == [GET + CALL]


@pytest.mark.parametrize("first", [CALL, GET])
async def test_a_moved_request_is_answered_by_the_lane_it_moved_to(make_pair, first):
    """Whatever it is: the other lane had a reason. Only later requests are judged again."""
    sent = make_pair(is_fast=False)
    await sent.connect().send(CALL)
    sent.moved()
    for is_fast, next_ in ((True, GET), (False, CALL)):
        pair = make_pair(is_fast=is_fast)
        far_end = pair.connect(sent.came[0]._replace(request=first + next_))
        await settle()
        assert far_end.statuses == [200]
        assert pair.moved() == [next_]


async def test_what_came_with_a_connection_is_forgotten_once_it_is_read(make_pair):
    """A thousand connections that send no more would hold it twice."""
    sent = make_pair(is_fast=True)
    await sent.connect().send(LARGE)
    sent.moved()
    far_end = make_pair(is_fast=False).connect(sent.came[0])
    await settle()
    assert far_end.connection._moved is None


async def test_earlier_answers_are_written_before_it_moves(make_pair):
    """The other lane cannot write answers held in this process."""
    pair = make_pair(is_fast=False)
    far_end = pair.connect()
    far_end.transport.reads = False
    await far_end.send(GET + CALL)
    assert (far_end.state, pair.moved()) == ("moving", [])
    await far_end.read_all()
    assert (far_end.state, pair.moved()) == ("closed", [CALL])


async def test_a_client_that_does_not_read_does_not_move_for_ever(make_pair):
    pair = make_pair(is_fast=False)
    far_end = pair.connect()
    far_end.transport.reads = False
    await far_end.send(GET + CALL)
    await far_end.pass_time(states.UNREAD_SECONDS - 1)
    assert far_end.state == "moving"
    await far_end.pass_time(1)
    assert (far_end.state, pair.reasons, pair.moved()) == ("closed", ["unread"], [])


async def test_if_the_other_lane_is_stuck_the_answer_is_503(make_pair):
    """And the connection ends: later requests would wait as long."""
    pair = make_pair(is_fast=True)
    while pair.here.send(pair.ends[0].fileno(), b"x" * 1000, 0) == "moved":
        pass
    far_end = pair.connect()
    await far_end.send(GET)
    assert far_end.state == "moving"
    await far_end.pass_time(states.MOVING_SECONDS - 0.1)
    assert far_end.answers == []
    await far_end.pass_time(0.2)
    [(status, fields, body)] = far_end.answers
    assert (status, json.loads(body)["error"]["code"], fields[b"retry-after"]) == (503, "OVERLOADED", b"1")
    assert far_end.state == "lingering"


async def test_a_waiting_connection_moves_as_soon_as_there_is_room(make_pair):
    pair = make_pair(is_fast=True)
    while pair.here.send(pair.ends[0].fileno(), b"x" * 1000, 0) == "moved":
        pass
    far_end = pair.connect()
    await far_end.send(GET)
    await far_end.send(GET)
    assert far_end.state == "moving"
    assert pair.moved()
    await far_end.pass_time(AGAIN_SECONDS)
    assert far_end.state == "closed"


@pytest.mark.parametrize(("is_fast", "request_"), [(True, GET), (True, CHUNKED[:-9]), (False, CALL), (False, CHUNKED)])
async def test_if_the_other_lane_has_ended_the_request_is_answered_here(make_pair, is_fast, request_):
    """With those before and after it, as if there were only one lane."""
    pair = make_pair(is_fast=is_fast)
    pair.there.listen(asyncio.get_running_loop(), pair.came.append)
    pair.there.close(pair.came.append)
    far_end = pair.connect()
    await far_end.send(GET + CALL + request_)
    await far_end.send(CHUNKED[-9:] if request_ == CHUNKED[:-9] else b"")
    await far_end.send(CALL + GET)
    assert far_end.statuses == [200] * 5
    assert [request[-1] for request in pair.recorder.requests].count(b"body") >= 2


async def test_a_half_closed_connection_moves_too(make_pair):
    """SHUT_WR: the other lane sees the end of the stream itself."""
    pair = make_pair(is_fast=False)
    far_end = pair.connect()
    far_end.transport.reads = False
    await far_end.send(GET + CALL)
    await far_end.end()
    assert not far_end.transport.closed
    await far_end.read_all()
    assert pair.moved() == [CALL]


async def test_a_lane_that_stops_moves_nothing(make_pair):
    """The other one stops at the same time."""
    pair = make_pair(is_fast=True)
    far_end = pair.connect()
    far_end.connection.shutdown()
    await far_end.send(GET)
    assert (far_end.statuses, pair.moved()) == ([200], [])


@pytest.mark.parametrize("whole", [CALL, CHUNKED, CHUNKED.replace(b"4\r\nbody\r\n", b"")])
def test_a_request_that_was_read_is_rebuilt_unchanged(whole):
    head, _, rest = whole.partition(b"\r\n\r\n")
    assert read_head(head + b"\r\n").rebuilt(b"body" if b"body" in rest else b"") == whole


async def test_waiting_connections_move_in_order_with_one_timer(make_pair):
    """A thousand waiting connections cost as much as one."""
    pair = make_pair(is_fast=True)
    while pair.here.send(pair.ends[0].fileno(), b"x" * 1000, 0) == "moved":
        pass
    far_ends = [pair.connect() for _ in range(40)]
    for number, far_end in enumerate(far_ends):
        far_end.connection._loop = far_ends[0].clock
        await far_end.send(GET.replace(b"/x", b"/%d" % number))
    clock = far_ends[0].clock
    assert [timer.when for timer in clock.timers].count(clock.now + AGAIN_SECONDS) == 1
    pair.moved()
    for _ in range(3):
        await far_ends[0].pass_time(AGAIN_SECONDS)
    assert [far_end.state for far_end in far_ends] == ["closed"] * 40
    assert pair.moved()[-40:] == [GET.replace(b"/x", b"/%d" % number) for number in range(40)]


def test_strangers_move_only_while_little_waits_for_the_other_lane(make_pair):
    """However many they are, a client whose key has worked moves at once."""
    pair = make_pair(is_fast=True)

    def send(request, *, goes_first):
        return pair.here.send(pair.ends[0].fileno(), request, 0, goes_first=goes_first)

    moved = 0
    while send(b"stranger", goes_first=False) == "moved":
        moved += 1
    assert 1 <= moved <= 16
    assert [send(b"known", goes_first=True) for _ in range(100)] == ["moved"] * 100
    assert send(b"stranger", goes_first=False) == "busy"
    assert pair.moved().count(b"known") == 100
    assert send(b"stranger", goes_first=False) == "moved"


async def test_a_client_that_is_known_moves_before_strangers_that_came_earlier(make_pair, monkeypatch):
    pair = make_pair(is_fast=True)
    while pair.here.send(pair.ends[0].fileno(), b"x" * 1000, 0) == "moved":
        pass
    known = GET.replace(b"/x", b"/known")
    monkeypatch.setattr(Dispatch, "goes_first", lambda _, head: head.target == b"/known")
    far_ends = [pair.connect() for _ in range(40)]
    for number, far_end in enumerate(far_ends):
        far_end.connection._loop = far_ends[0].clock
        await far_end.send(known if number == 39 else GET)
    pair.moved()
    pair.came.clear()
    await far_ends[0].pass_time(AGAIN_SECONDS)
    assert pair.moved()[0] == known
    assert pair.moved().count(GET) >= 1
    assert far_ends[-2].state == "moving"


async def test_a_request_that_does_not_fit_into_a_message_is_503(make_pair, monkeypatch):
    """None is that large; if one were, it could neither move nor stay."""
    monkeypatch.setattr("app.runtime.lanes.lane.MESSAGE_BYTES", 30)
    pair = make_pair(is_fast=True)
    far_end = pair.connect()
    await far_end.send(GET)
    assert far_end.statuses == [503]


async def test_a_client_that_closed_its_side_before_the_move_is_answered(make_pair):
    """Whether the rest of its request, the end of the stream or nothing arrives first."""
    sent = make_pair(is_fast=False)
    await sent.connect().send(CALL)
    sent.moved()
    for more in (b"", GET):
        far_end = make_pair(is_fast=True).connect(sent.came[0]._replace(request=CALL))
        if more:
            buffer = far_end.connection.get_buffer(-1)
            buffer[: len(CALL)] = CALL
            far_end.connection.buffer_updated(len(CALL))
        assert far_end.connection.eof_received()
        await settle()
        assert far_end.statuses == ([200, 200] if more else [200])


async def test_nothing_is_read_in_advance_of_a_moved_request_that_is_being_answered(make_pair):
    """A loop begins to read once `connection_made` has returned, even if it was told to pause in there."""
    sent = make_pair(is_fast=False)
    await sent.connect().send(CALL)
    sent.moved()
    far_end = make_pair(is_fast=True).connect(sent.came[0]._replace(request=CALL))
    assert (far_end.state, far_end.transport.paused) == ("idle", False)
    await settle()
    assert far_end.statuses == [200]
