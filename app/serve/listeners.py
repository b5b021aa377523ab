"""The sockets on which the service listens, and how one of them opens and closes without leaving a client waiting."""

import contextlib
import ctypes
import errno
import grp
import os
import select
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from app.serve.data_folder import data_folder
from app.serve.data_lock import holder_of, in_use
from app.settings import LAST_PORT, Settings, SettingsError

BACKLOG = 2048
_STOPPING_SECONDS = 2.0
_PROBE_SECONDS = 1.0
_PROBE = (socket.SO_REUSEADDR,)
_REPLICA = (socket.SO_REUSEADDR, socket.SO_REUSEPORT)
_GUARD = (socket.SO_REUSEPORT,)
"""Options of bound sockets. A probe may be bound beside a replica's socket that does not listen, but not beside the
guard, which lets in only sockets that share the port. A guard never listens, so it needs no SO_REUSEADDR later.
"""
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


def tcp_sockets(settings: Settings, pause: Callable[[], None]) -> tuple[list[socket.socket], socket.socket]:
    """A bound socket for each replica, and one that keeps other services off the port. Raises SettingsError.

    A replica listens on its own socket once it can answer; the kernel spreads connections over those that listen.
    Close the last one when a replica does: until then, the kernel would let another service in beside them.
    """
    try:
        # Replicas share the port among themselves, so the kernel would let a second service in as well.
        _wait_for_port(settings, pause)
        sockets = [_bound(settings.host, settings.port, _REPLICA) for _ in range(settings.workers)]
        return sockets, _bound(settings.host, settings.port, _GUARD)
    except OSError as error:
        at_fault = "REMIT_PORT" if error.errno in {errno.EADDRINUSE, errno.EACCES} else "REMIT_HOST"
        message = f"{at_fault}: {settings.host}:{settings.port} cannot be listened on ({error.strerror})"
        if error.errno == errno.EADDRINUSE:
            other = settings.port + 1 if settings.port < LAST_PORT else settings.port - 1
            # Another port alone would not help a user who starts the service twice in one folder.
            if settings.redis_url is None and (holder := holder_of(data_folder(settings))) is not None:
                raise SettingsError(in_use(data_folder(settings), holder, other)) from None
            message += f"; REMIT_PORT={other} make run, or REMIT_PORT={other} remit serve, takes another port"
        raise SettingsError(message) from None


def _wait_for_port(settings: Settings, pause: Callable[[], None]) -> None:
    """Wait until the port is free, because a service may just be stopping. Raises OSError."""
    deadline = time.monotonic() + _STOPPING_SECONDS
    while True:
        try:
            _bound(settings.host, settings.port, _PROBE).close()
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            pause()
        else:
            return


def _bound(host: str, port: int, options: tuple[int, ...]) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        for option in options:
            bound.setsockopt(socket.SOL_SOCKET, option, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


@contextlib.contextmanager
def unix_socket(settings: Settings) -> Iterator[socket.socket | None]:
    """A bound socket at `REMIT_SOCKET`, on which every replica listens once it can answer; None without the setting.

    Its file goes afterwards. A file that a killed service has left is replaced. Raises SettingsError if another service
    has the path, or it is another kind of file or cannot be used.
    """
    if settings.socket is None:
        yield None
        return
    path = Path(settings.socket)
    try:
        _remove_stale(path)
        listener = _bound_path(path, int(settings.socket_mode, 8), settings.socket_group)
    except (OSError, KeyError) as error:
        raise SettingsError(f"REMIT_SOCKET: {path} cannot be listened on ({error})") from None
    try:
        yield listener
    finally:
        listener.close()
        with contextlib.suppress(OSError):
            path.unlink()


def _bound_path(path: Path, mode: int, group: str | None) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # nobody else may connect until mode and group are set
    try:
        listener.bind(str(path))
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    if group is not None:
        os.chown(path, -1, grp.getgrnam(group).gr_gid)
    path.chmod(mode)
    return listener


def _remove_stale(path: Path) -> None:
    """Remove the socket file of a process that has ended. Raises SettingsError if one listens on it, or it is
    not a socket.
    """
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise SettingsError(f"REMIT_SOCKET: {path} exists and is not a socket; remove it, or name another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        answer = probe.connect_ex(str(path))
    if answer != errno.ECONNREFUSED:
        raise SettingsError(f"REMIT_SOCKET: another service listens on {path}; stop it, or name another path")
    if _is_bound(path):
        raise SettingsError(f"REMIT_SOCKET: another service is starting on {path}; stop it, or name another path")
    path.unlink()


def _is_bound(path: Path) -> bool:
    """Whether a process of this machine has a socket at the path, be it one that does not listen (proc_net_unix(5))."""
    try:
        lines = Path("/proc/net/unix").read_text().splitlines()
    except OSError:  # another system
        return False
    return any(line.endswith(f" {path}") for line in lines)


def is_open(listener: socket.socket) -> bool:
    """Whether it listens: for the first time, or for a replica that has ended."""
    return bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def drain_accept_queue(listener: socket.socket) -> list[socket.socket]:
    """The connections that the kernel has accepted, or begun to accept, but the worker has not. On Linux, no more
    follow.

    Closing the listener would reset them, although their clients may have sent requests by then.

    New SYNs are dropped, so clients retry: TCP does so after a second, when the port is closed or the next worker has
    it. Nothing else happens in this thread for the 20 ms that handshakes are given.
    """
    came: list[socket.socket] = []
    if not is_open(listener):
        return came
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
