"""The Unix socket on which the service also listens, for callers on the same host."""

import contextlib
import errno
import grp
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from app.settings import Settings, SettingsError

_BACKLOG = 2048
_PROBE_SECONDS = 1.0


@contextlib.contextmanager
def unix_listener(settings: Settings) -> Iterator[socket.socket | None]:
    """A listening socket at `REMIT_SOCKET`, shared by all replicas; None without the setting. Its file goes afterwards.

    A file that a killed service has left is replaced. Raises SettingsError if somebody listens there, or the path is
    another kind of file or cannot be used.
    """
    if settings.socket is None:
        yield None
        return
    path = Path(settings.socket)
    try:
        _remove_stale(path)
        listener = _bound(path, int(settings.socket_mode, 8), settings.socket_group)
    except (OSError, KeyError) as error:
        raise SettingsError(f"REMIT_SOCKET: {path} cannot be listened on ({error})") from None
    try:
        yield listener
    finally:
        listener.close()
        with contextlib.suppress(OSError):
            path.unlink()


def _bound(path: Path, mode: int, group: str | None) -> socket.socket:
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
    listener.listen(_BACKLOG)
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
    path.unlink()
