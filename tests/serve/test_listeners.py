"""A listening socket that is about to close."""

import ctypes
import select
import socket
import struct
import sys
from contextlib import closing

import pytest

from app.serve.listeners import accept_again, drain_accept_queue

ESTABLISHED, SYN_SENT = 1, 2
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def knock(listener, *, deaf=False):
    """A connection just requested; on loopback, the kernel has answered by now, if at all.

    deaf: the answer is lost.
    """
    connection = socket.socket()
    connection.setblocking(False)
    if deaf:
        drop_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
        connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(drop_all)))
    connection.connect_ex(listener.getsockname())
    return closing(connection)


def hear(connection):
    """Let packets through again."""
    connection.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


def state_of(connection):
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


def test_connections_accepted_before_are_handed_over(listener):
    """Their clients may already have sent requests."""
    with knock(listener) as early:
        early.send(b"GET")

        came = drain_accept_queue(listener)

        assert [each.recv(3) for each in came] == [b"GET"]
        for each in came:
            each.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the filter is one of Linux")
def test_connections_half_open_before_are_accepted_after(listener):
    """A client whose SYN was answered takes the connection for open, and may have sent its request."""
    with knock(listener, deaf=True) as early:
        assert drain_accept_queue(listener) == []
        assert state_of(early) == SYN_SENT

        hear(early)  # the kernel answers again within a second
        assert select.select([], [early], [], 10)[1]
        early.send(b"GET")

        [came] = drain_accept_queue(listener)
        assert came.recv(3) == b"GET"
        came.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the filter is one of Linux")
def test_later_connections_wait_until_a_successor_listens(listener):
    """A connection that is never accepted would be reset after its request was sent."""
    drain_accept_queue(listener)
    with knock(listener) as late:
        assert state_of(late) == SYN_SENT

    accept_again(listener)

    with knock(listener) as later:
        assert state_of(later) == ESTABLISHED


def test_a_listener_without_a_filter_accepts_as_before(listener):
    """A worker also starts on a new socket."""
    accept_again(listener)

    with knock(listener) as connection:
        assert state_of(connection) == ESTABLISHED
