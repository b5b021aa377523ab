"""`remit serve` as a person or a service manager runs it: its output, its children, its end."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from forked import Forked
from servers import clean_env, free_port, is_ready

REPLICA, STORE, COMPACTOR = "remit-replica", "unixsocket:", "remit-compactor"


NEW_INTERPRETER = ("-m", "app.cli")


class Service:
    """One `remit serve`; its output goes to files, so that it can be read at any time.

    program: what a new interpreter runs; None = a process is forked that has loaded the command line.
    """

    def __init__(self, folder: Path, *arguments: str, program: tuple[str, ...] | None = None, **env: str) -> None:
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._out, self._err = folder / "stdout.txt", folder / "stderr.txt"
        self._command = [sys.executable, *(program or NEW_INTERPRETER), "serve", *arguments]
        self._start = Forked if program is None else subprocess.Popen
        self.data_dir = folder / "data"
        self.env = clean_env() | {"REMIT_PORT": str(self.port), "REMIT_DATA_DIR": str(self.data_dir)} | env
        self.process: subprocess.Popen[bytes] | Forked | None = None

    def launch(self, **options) -> "Service":
        """Start the process, which may not serve yet, and forget earlier output."""
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = self._start(self._command, env=self.env, **({"stdout": out, "stderr": err} | options))
        return self

    def start(self) -> "Service":
        """Start the process, and return once it serves."""
        self.launch()
        self.until(lambda: "\nserving " in "\n" + self.said, "it serves")
        return self

    def ended(self) -> int:
        """Its exit code, once it has ended by itself."""
        return self.process.wait(60)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal; return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.ended()

    def until(self, claim, what: str, seconds: float = 120) -> None:
        """Return when `claim()` is true; fail if that takes too long, or the process ends first."""
        deadline = time.monotonic() + seconds
        while not claim():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"not so: {what}\n{self.said}\n{self.complained}")
            time.sleep(0.02)

    @property
    def said(self) -> str:
        return self._out.read_text()

    @property
    def complained(self) -> str:
        return self._err.read_text()

    @property
    def key(self) -> str:
        """The admin key that the first start printed."""
        return re.search(r"^admin key (svc_[0-9a-f]{32}) ", self.said, re.MULTILINE)[1]

    def children(self, kind: str = "") -> list[int]:
        """Pids of the children whose name or command line holds `kind`."""
        return [pid for pid, command in children_of(self.process.pid).items() if kind in command]

    def client(self, key: str, **options) -> httpx.Client:
        return httpx.Client(base_url=self.base_url, headers={"Authorization": f"Bearer {key}"}, timeout=30, **options)

    def answers(self) -> bool:
        """Whether decisions can be made now."""
        return is_ready(self.base_url)


def children_of(parent: int) -> dict[int, str]:
    """Names and command lines of the children of a process by pid; zombies do not count."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, ppid = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(ppid) == parent and state != "Z":
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(folder.name)] = f"{(folder / 'comm').read_text().strip()} {command}"
    return found


def is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def all_gone(pids: list[int], seconds: float = 60) -> bool:
    """Whether every one of these processes ends in time."""
    deadline = time.monotonic() + seconds
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(is_running, pids))


def kill(pid: int) -> None:
    """Kill it, as a power cut would."""
    os.kill(pid, signal.SIGKILL)


def kill_all_of(replica: Any) -> None:
    """Kill all its processes at once: workers would otherwise end in good order."""
    pids = [replica.process.pid]
    for pid in pids:
        pids += children_of(pid)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    replica.process.wait(60)
