"""The embedded store: a private Redis or Valkey child process on a private socket, which syncs before it answers."""

import contextlib
import ctypes
import errno
import hashlib
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Self
from urllib.parse import quote

from app.errors import StoreUnavailable
from app.serve.append_only_files import cut_torn_write
from app.serve.data_folder import data_folder
from app.serve.data_lock import lock_folder
from app.serve.server_binaries import has_been_served, record_server, server_for
from app.settings import MIN_SECRET_BYTES, Settings, SettingsError

log = logging.getLogger(__name__)
_MAX_SOCKET_PATH = 100
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_RESPAWN_SECONDS, _LONGEST_RESPAWN_SECONDS = 1.0, 30.0
_SETTLED_SECONDS = 10.0
"""A store that ran this long is restarted immediately; one that keeps dying is restarted after growing pauses."""
_PR_SET_PDEATHSIG = 1
Say = Callable[[str], None]


@contextlib.contextmanager
def reachable_store(settings: Settings) -> Iterator[str]:
    """The URL of the store that the settings name; an embedded one runs at least as long as this context.

    If the embedded store is running already, it is used and left running. Raises SettingsError if there has never been
    one: an empty store would mean that the directory is wrong.
    """
    folder = data_folder(settings)
    if settings.redis_url is not None:
        yield settings.redis_url
    elif (url := running_store(folder)) is not None:
        yield url
    elif not has_been_served(folder):
        message = f"REMIT_DATA_DIR: {folder} contains no store; `remit serve` makes one, REMIT_REDIS_URL names another"
        raise SettingsError(message)
    else:
        with EmbeddedStore(folder) as store:
            yield store.url


def running_store(folder: Path) -> str | None:
    """The URL of the embedded store that serves `folder` now; None if none does."""
    path = _socket_path(folder)
    return _url(path) if _reply(path) is not None else None


class EmbeddedStore:
    """A store process on the files in `folder`; stopped cleanly when the context ends.

    Every write is synced before it is answered. It listens on a socket that only this user can open.
    pause: called repeatedly while the start waits; it may raise to abort that.
    Raises SettingsError if the folder cannot be used or another process uses it, or no server can be found.
    """

    def __init__(self, folder: Path, pause: Callable[[], None] = lambda: time.sleep(0.01)) -> None:
        self.folder = folder
        self._pause = pause
        self.process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self._born = self._not_before = 0.0
        self._failures = 0

    def __enter__(self) -> Self:
        try:
            server_for(self.folder)  # before the folder is created, in case no store can be started
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = lock_folder(self.folder, self._pause)
            self.socket_path = _socket_path(self.folder)
            self.url = _url(self.socket_path)
            self.start()
        except OSError as error:
            self._release()
            raise SettingsError(_unusable(self.folder, error)) from None
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    def start(self) -> None:
        """Start the store and wait until it has loaded its files; that may take any time while the store says so."""
        self._spawn()
        deadline = time.monotonic() + _START_SECONDS
        while (reply := _reply(self.socket_path)) != b"+PONG":
            if (
                self.process is None
                or self.process.poll() is not None
                or (reply is None and time.monotonic() > deadline)
            ):
                raise StoreUnavailable(f"The embedded store did not start: {self._last_words()}")
            self._pause()

    def keep(self) -> None:
        """Restart the store if it has died; everything it answered is on disk. Does not wait for it.

        If it cannot be started (no memory, no descriptors, no server), this is logged and tried again later.
        """
        if self.process is None or self.process.poll() is None or time.monotonic() < self._not_before:
            return
        pid, code = self.process.pid, self.process.returncode
        self._failures = 0 if time.monotonic() - self._born >= _SETTLED_SECONDS else self._failures + 1
        pause_s = min(_RESPAWN_SECONDS * 2**self._failures, _LONGEST_RESPAWN_SECONDS)
        log.error("the embedded store (pid %s) ended with %s; starting it again: %s", pid, code, self._last_words())
        try:
            self._spawn()
        except (OSError, SettingsError, subprocess.SubprocessError) as error:
            self._born = time.monotonic()
            log.error("the embedded store cannot be started: %s; trying again in %.0f s", error, pause_s)  # noqa: TRY400 - a sentence says it
        self._not_before = time.monotonic() + pause_s

    def stop(self) -> None:
        """Stop the store, once it has written everything."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def _spawn(self) -> None:
        server = server_for(self.folder)
        record_server(self.folder, server)
        if cut := cut_torn_write(self.folder):
            log.warning("%s", cut)
        self.socket_path.unlink(missing_ok=True)
        options = {
            "port": "0",
            "unixsocket": str(self.socket_path),
            "unixsocketperm": "700",
            "dir": str(self.folder.resolve()),
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "maxmemory-policy": "noeviction",
            "logfile": "store.log",
        }
        arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
        # The store inherits the lock: if this process is killed, no other opens the files before it has closed them.
        inherited = () if self._lock is None else (self._lock.fileno(),)
        self.process = subprocess.Popen(  # noqa: S603 - a server found on PATH or in a wheel, with our own options
            [server.path, *arguments],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            umask=0o077,
            pass_fds=inherited,
            preexec_fn=die_with_parent(),
        )
        self._born = time.monotonic()

    def _release(self) -> None:
        self.stop()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _last_words(self) -> str:
        """The end of the store's own log, which gives the reason."""
        path = self.folder / "store.log"
        try:
            lines = [line for line in path.read_text(errors="replace").splitlines()[-20:] if line.strip()]
        except FileNotFoundError:
            return f"it wrote no {path}"
        except OSError as error:
            return f"{path} cannot be read ({error.strerror})"
        return f"{lines[-1]} ({path})" if lines else f"{path} is empty"


def _unusable(folder: Path, error: OSError) -> str:
    """The message that the data directory cannot be used, with what to do."""
    elsewhere = "name a directory elsewhere"
    if error.errno in {errno.EACCES, errno.EPERM}:
        way_out = "let this user read and write it and all its files, or name another directory"
    elif error.errno in {errno.ENOSPC, errno.EDQUOT}:
        way_out = f"make room on its disk, or {elsewhere}"
    else:
        way_out = elsewhere
    return f"REMIT_DATA_DIR: {folder} cannot be used ({error.strerror}: {error.filename or folder}); {way_out}"


def die_with_parent() -> Callable[[], None]:
    """A function to run in a child before it executes another program: the child then ends with its parent.

    On Linux, even if the parent is killed.
    """
    parent = os.getpid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def arrange() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)  # the parent was killed in between, so no signal would come

    return arrange


def _reply(path: Path) -> bytes | None:
    """The store's reply to PING: +PONG, or -LOADING … while it reads its files; None without a store."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        probe.connect(str(path))
        probe.sendall(b"PING\r\n")
        return probe.recv(1024).partition(b"\r\n")[0]
    return None


def _url(path: Path) -> str:
    return f"unix://{quote(str(path))}"


def _socket_path(folder: Path) -> Path:
    """`<folder>/store.sock`, or a short path in a directory of this user if that path is too long for the system."""
    path = folder.resolve() / "store.sock"
    if len(os.fsencode(path)) <= _MAX_SOCKET_PATH:
        return path
    short = Path(tempfile.gettempdir()) / f"remit-{os.getuid()}"
    short.mkdir(mode=0o700, exist_ok=True)
    status = short.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077 or not short.is_dir() or short.is_symlink():
        # The folder's owner could answer in the store's place.
        raise SettingsError(f"REMIT_DATA_DIR: its path is too long for a socket, and {short} is not this user's alone")
    return short / f"{hashlib.sha256(bytes(path)).hexdigest()[:16]}.sock"


def embedded_secret(folder: Path) -> str:
    """The secret of this data directory, created if it is missing: beside the store's files, never in them.

    Only the user who runs this can read it.

    It is written whole or not at all, even in a crash. The caller must hold the folder's lock. Raises SettingsError.
    """
    path = folder / "secret"
    try:
        if not path.exists():
            _write_secret(path, secrets.token_hex(MIN_SECRET_BYTES))
        secret = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"REMIT_DATA_DIR: {path} cannot be used ({error}); REMIT_SECRET gives another") from None
    if len(secret) < MIN_SECRET_BYTES:
        raise SettingsError(
            f"REMIT_DATA_DIR: {path} contains no secret of {MIN_SECRET_BYTES} bytes; restore or remove it"
        )
    return secret


def _write_secret(path: Path, secret: str) -> None:
    draft = path.with_name(f"{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        draft.unlink()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{secret}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
