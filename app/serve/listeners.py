"""Listening sockets that close without cutting off a client.

Closing one resets the connections that the kernel has accepted but the worker has not, although their clients may have
sent requests by then.
"""

import contextlib
import ctypes
import socket
import struct
import sys

_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
_KEEP_NOTHING = struct.pack("HBBI", 0x06, 0, 0, 0)
"""A program for the kernel's packet filter: return 0, the number of bytes to keep of any packet."""


def last_to_come(listener: socket.socket) -> list[socket.socket]:
    """The connections accepted by the kernel but not yet by the worker; on Linux it accepts no more after this.

    New SYNs are dropped, so clients retry: TCP does so after a second, when the port is closed or belongs to the next
    worker.
    """
    came = []
    _let_nobody_in(listener)
    listener.setblocking(False)
    with contextlib.suppress(OSError):  # none is left
        while True:
            came.append(listener.accept()[0])
    return came


def let_in(listener: socket.socket) -> None:
    """Accept new connections again: the last worker's filter may still be on the supervisor's socket."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # there was no filter
            listener.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)


def _let_nobody_in(listener: socket.socket) -> None:
    if sys.platform == "linux":
        program = ctypes.create_string_buffer(_KEEP_NOTHING)
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(program)))
