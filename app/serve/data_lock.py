"""The lock of a data directory, which only one remit may use at a time."""

import contextlib
import fcntl
import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from app.settings import SettingsError

_BRIEF_SECONDS = 3.0
_RELEASE_SECONDS = 30.0
"""As long as a store may take to stop after its service was killed."""


def lock_folder(folder: Path, pause: Callable[[], None]) -> IO[str]:
    """Lock the folder and return the lock file; closing that unlocks. Waits for a process that is just releasing it.

    Raises SettingsError if another remit has the folder in use.
    """
    lock = (folder / "lock").open("a+")
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip()
            waited = time.monotonic() - began
            if waited > (_BRIEF_SECONDS if _is_alive(holder) else _RELEASE_SECONDS):
                lock.close()
                raise SettingsError(in_use(folder, holder)) from None
            pause()
        else:
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            return lock


def _is_alive(pid: str) -> bool:
    with contextlib.suppress(PermissionError, ValueError):
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return False
    return True


def holder_of(folder: Path) -> str | None:
    """The pid of the process that uses this data directory; None if none does."""
    with contextlib.suppress(OSError), (folder / "lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return lock.read().strip() or "unknown"
    return None


def in_use(folder: Path, pid: str, port: int | None = None) -> str:
    """The message that a second service cannot use this data directory, with what to do.

    port: one that a service beside the first could take, if the configured port is in use.
    """
    other_settings = f"REMIT_DATA_DIR={shlex.quote(f'{folder}-2')}"
    if port is not None:
        other_settings += f" REMIT_PORT={port}"
    return (
        f"REMIT_DATA_DIR: {folder} is in use by another remit (pid {pid}); use that one, stop it first, or start one "
        f"beside it with {other_settings} before make run or remit serve"
    )
