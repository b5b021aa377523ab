"""The session of a proxy that is given none: the program that started it, as long as that program runs."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

_INIT = 1
_AFTER_NAME, _START = b") ", 19
"""Where the kernel writes a process's start time: the 20th field after its name, which may have spaces."""


def starter_session() -> str | None:
    """The same name for every proxy that one process starts, and another for each other process; None if unknown.

    Some clients start a server anew for each call, and rules about sessions must hold all the same. A process whose
    starter has ended is given to the first one, which starts nobody's servers.
    """
    pid = os.getppid()
    if pid <= _INIT or sys.platform == "win32":
        return None
    begun = _linux(pid) if sys.platform == "linux" else _by_ps(pid)
    if begun is None or os.getppid() != pid:
        return None
    return hashlib.sha256(f"{begun} {pid}".encode()).hexdigest()[:32]


def _linux(pid: int) -> str | None:
    """Which boot and which container it is, and when in ticks the process began; a pid alone is used again."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        namespace = Path("/proc/self/ns/pid").readlink()
        return f"{boot} {namespace} {stat.rpartition(_AFTER_NAME)[2].split()[_START].decode()}"
    except (OSError, IndexError):
        return None


def _by_ps(pid: int) -> str | None:
    try:
        found = subprocess.run(  # noqa: S603 - a number
            ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
