"""The two lanes of a replica: what moves between them, and what happens when one of them ends."""

import asyncio
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.http.hot_path import IN_THE_LOOP_BYTES
from app.http.protocol import states
from app.runtime.lanes.lane import MESSAGE_BYTES, Lane, Message, MovedConnection, MoveResult, MoveToSlowLane

ROOT = Path(__file__).parents[1]


@pytest.fixture
def lanes():
    """The fast lane and the slow one, connected."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    fast, slow = Lane(), Lane()
    fast.attach(ends[0], is_fast=True)
    slow.attach(ends[1], is_fast=False)
    yield fast, slow
    for end in ends:
        end.close()


@pytest.fixture
def connection():
    """A connection's two ends: the client's, and the one that moves."""
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def adopt_all(lane) -> list[MovedConnection]:
    """Take everything sent to this lane; it then accepts no more."""
    came = []
    lane.listen(asyncio.get_running_loop(), came.append)
    lane.close(came.append)
    return came


async def test_a_connection_moves_with_what_was_read_of_its_request(lanes, connection):
    """Later bytes are read by the other lane, whose answers reach the client."""
    fast, slow = lanes
    client, served = connection
    assert fast.send(served.fileno(), b"GET / HT", 17) is MoveResult.MOVED
    served.close()
    client.sendall(b"TP/1.1")
    [moved] = adopt_all(slow)
    assert (moved.request, moved.arrived_us) == (b"GET / HT", 17)
    assert moved.connection.recv(100) == b"TP/1.1"
    moved.connection.sendall(b"answer")
    assert client.recv(100) == b"answer"
    moved.connection.close()
    assert client.recv(100) == b""


async def test_a_lane_hears_of_each_connection_once_and_in_order(lanes, connection):
    fast, slow = lanes
    came: list[MovedConnection] = []
    all_came = asyncio.Event()

    def adopt(moved):
        came.append(moved)
        if len(came) == 100:
            all_came.set()

    slow.listen(asyncio.get_running_loop(), adopt)
    for number in range(100):
        assert fast.send(connection[1].fileno(), b"%d" % number, 0) is MoveResult.MOVED
        if number % 7 == 0:
            await asyncio.sleep(0)
    await all_came.wait()
    assert [moved.request for moved in came] == [b"%d" % number for number in range(100)]
    for moved in came:
        moved.connection.close()


async def test_a_message_reaches_the_other_lane_before_what_is_sent_after_it(lanes, connection):
    """From either lane. A lane that is gone hears nothing, which does no harm."""
    for one, other in (lanes, lanes[::-1]):
        heard: list[tuple[Message, bytes]] = []
        for message in Message:
            other.on_message(message, lambda text, message=message, heard=heard: heard.append((message, text)))
        one.send_message(Message.KEYS_HAVE_WORKED, b"digest")
        one.send_message(Message.ASKS_READINESS)
        assert one.send(connection[1].fileno(), b"request", 0) is MoveResult.MOVED
        moved = other._next()
        assert heard == [(Message.KEYS_HAVE_WORKED, b"digest"), (Message.ASKS_READINESS, b"")]
        assert moved.request == b"request"
        moved.connection.close()
    adopt_all(lanes[1])
    lanes[0].send_message(Message.ASKS_READINESS)
    Lane().send_message(Message.ASKS_READINESS)


async def test_a_lane_that_takes_nothing_is_busy_and_loses_nothing(lanes, connection):
    fast, slow = lanes
    sent = 0
    while fast.send(connection[1].fileno(), b"x" * 1000, 0) is MoveResult.MOVED:
        sent += 1
        assert sent < 100_000
    assert fast.send(connection[1].fileno(), b"x", 0) is MoveResult.BUSY
    came = adopt_all(slow)
    assert len(came) == sent
    for moved in came:
        moved.connection.close()


async def test_a_lane_that_ends_takes_what_was_sent_and_leaves_the_rest_where_it_is(lanes, connection):
    """Nothing is lost: moved connections are served there, and those that cannot move any more are served here."""
    fast, slow = lanes
    assert fast.send(connection[1].fileno(), b"before", 0) is MoveResult.MOVED
    came = adopt_all(slow)
    assert [moved.request for moved in came] == [b"before"]
    assert fast.send(connection[1].fileno(), b"after", 0) is MoveResult.ALONE
    assert fast.is_alone
    assert slow.send(connection[1].fileno(), b"after", 0) is MoveResult.ALONE
    came[0].connection.close()


async def test_without_another_lane_nothing_moves(connection):
    alone = Lane()
    assert alone.send(connection[1].fileno(), b"x", 0) is MoveResult.ALONE
    alone.require_short()
    alone.close(lambda _: None)


async def test_only_the_fast_lane_refuses_what_takes_long_and_only_while_the_slow_one_is_there(lanes):
    fast, slow = lanes
    with pytest.raises(MoveToSlowLane):
        fast.require_short()
    slow.require_short()
    adopt_all(slow)
    assert fast.send(0, b"", 0) is MoveResult.ALONE
    fast.require_short()


async def test_a_connection_that_this_process_cannot_open_is_closed_and_others_are_not(lanes, connection, caplog):
    """The kernel drops a descriptor for which there is no room; the next connections are accepted again."""
    fast, slow = lanes
    client, served = connection
    assert fast.send(served.fileno(), b"lost", 0) is MoveResult.MOVED
    first_free = os.dup(served.fileno())
    os.close(first_free)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, limits[1]))
    try:
        found = slow._next()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert found is None
    assert "connections from the other lane were closed, 1 in all" in caplog.text
    assert fast.send(served.fileno(), b"kept", 0) is MoveResult.MOVED
    served.close()
    [moved] = adopt_all(slow)
    assert moved.request == b"kept"
    moved.connection.close()
    assert client.recv(1) == b""


async def test_a_lane_that_ends_takes_those_behind_one_that_it_cannot_open(lanes, connection, caplog):
    """A message without a descriptor is what is left of such a connection. All are told of in one line."""
    fast, slow = lanes
    for _ in range(3):
        fast._channel.send(bytes(8) + b"lost")
    assert fast.send(connection[1].fileno(), b"kept", 0) is MoveResult.MOVED
    [moved] = adopt_all(slow)
    assert moved.request == b"kept"
    moved.connection.close()
    assert len(caplog.records) == 1


IN_FLIGHT = """
import os, resource, socket
from app.runtime.lanes.lane import MoveResult, Lane
if not os.getuid():
    os.setgroups([])
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
ends, lane, sent = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET), Lane(), 0
lane.attach(ends[0], is_fast=True)
while (result := lane.send(0, b"x", 0)) is MoveResult.MOVED:
    sent += 1
print(sent, result, lane.is_alone)
"""


def test_a_lane_that_has_too_many_connections_on_their_way_is_busy():
    """The kernel counts those that no process has received yet (ETOOMANYREFS), and excepts who may raise the limit."""
    found = subprocess.run([sys.executable, "-c", IN_FLIGHT], capture_output=True, text=True, check=True, cwd=ROOT)
    sent, result, is_alone = found.stdout.split()
    assert (20 <= int(sent) <= 25, result, is_alone) == (True, "busy", "False")


def test_whatever_was_read_of_a_request_fits_into_a_message():
    """A head, a short body, and the bytes of one more read, twice."""
    assert states.HEAD_BYTES + IN_THE_LOOP_BYTES + 3 * states.READ_BYTES + 64 < MESSAGE_BYTES
