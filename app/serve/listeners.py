"""Listening sockets that close without cutting off a client.

Closing one resets the connections that the kernel has accepted but the worker has not, although their clients may have
sent requests by then.
"""

import contextlib
import ctypes
import select
import socket
import struct
import sys
import time

_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
_HANDSHAKE_SECONDS = 0.02
"""The time given to handshakes that have begun. A client with a longer round trip may be cut off."""
_DROP_SYN = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # load the flags of the TCP header
        (0x54, 0, 0, 0x12),  # of them SYN and ACK
        (0x15, 0, 1, 0x02),  # if it is SYN alone, go on; else skip one
        (0x06, 0, 0, 0),  # keep nothing of this packet
        (0x06, 0, 0, 0xFFFFFFFF),  # keep all of it
    )
)
"""A program for the kernel's packet filter. It passes the last packet of a handshake, because its client takes the
connection for open and may already have sent its request.
"""


def drain_accept_queue(listener: socket.socket) -> list[socket.socket]:
    """The connections that the kernel has accepted, or begun to accept, but the worker has not. On Linux, no more
    follow.

    New SYNs are dropped, so clients retry: TCP does so after a second, when the port is closed or the next worker has
    it. Nothing else happens in this thread for the 20 ms that handshakes are given.
    """
    came = []
    _drop_syns(listener)
    listener.setblocking(False)
    coming = select.poll()
    coming.register(listener, select.POLLIN)
    deadline = time.monotonic() + _HANDSHAKE_SECONDS
    while coming.poll(max(0.0, deadline - time.monotonic()) * 1000):
        with contextlib.suppress(OSError):  # the client has gone again
            came.append(listener.accept()[0])
    return came


def accept_again(listener: socket.socket) -> None:
    """Accept new connections again: the last worker's filter may still be on the supervisor's socket."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # there was no filter
            listener.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)


def _drop_syns(listener: socket.socket) -> None:
    if sys.platform == "linux" and listener.family != socket.AF_UNIX:
        program = ctypes.create_string_buffer(_DROP_SYN)
        filtered = struct.pack("HP", len(_DROP_SYN) // 8, ctypes.addressof(program))
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, filtered)
