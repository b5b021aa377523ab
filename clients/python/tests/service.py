"""A real Remit on a store of its own, and a server that fails in every way a network has."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import httpx

ADMIN_KEY = "svc_" + "5eed" * 8
ROOT = Path(__file__).parents[3]
COMMAND = os.environ.get("REMIT_COMMAND", str(ROOT / ".venv/bin/remit"))
STARTS = 5


class Service:
    """`remit serve` with the embedded store in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "service.log"
        self._store = folder / "data/store.sock"
        for _ in range(STARTS):
            self.url = f"http://127.0.0.1:{free_port()}"
            with self.log.open("w") as log:
                self.process = subprocess.Popen(
                    [COMMAND, "serve"], env=self._env(folder), stdout=log, stderr=log, start_new_session=True
                )
            if self._ready():
                return
            self.stop()  # somebody was faster at the port
        raise RuntimeError(f"the service did not start: {self.log.read_text()[-2000:]}")

    def _env(self, folder: Path) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}
        return inherited | {
            "REMIT_DATA_DIR": str(folder / "data"),
            "REMIT_PORT": self.url.rpartition(":")[2],
            "REMIT_BOOTSTRAP_KEY": ADMIN_KEY,
            "REMIT_AUTH_FAILURES_PER_MINUTE": "0",
            "REMIT_STORE_TIMEOUT_MS": "5000",  # its disk may be shared and slow
        }

    def _ready(self) -> bool:
        until = time.monotonic() + 120
        while time.monotonic() < until and self.process.poll() is None:
            # Patiently: a question that is given up costs a busy service as much as one that is answered.
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/readyz", timeout=30, verify=False).status_code == 200:
                    return True
            time.sleep(0.05)
        return False

    def store(self, command: str) -> str:
        """The last line of the store's answer to a command, such as ":1" for how many fields are new."""
        with socket.socket(socket.AF_UNIX) as store:
            store.connect(str(self._store))
            store.sendall(f"{command}\r\n".encode())
            return store.recv(1024).decode().splitlines()[-1]

    def stop(self) -> None:
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
            return
        self.process.kill()
        self.process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answer(status: int, body: object = None, *headers: str, raw: bytes | None = None) -> bytes:
    """One HTTP answer, as bytes."""
    content = raw if raw is not None else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}", "Content-Type: application/json", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content


def problem(status: int, code: str, *headers: str) -> bytes:
    """One of Remit's errors."""
    return answer(status, {"error": {"code": code, "message": f"This is {code}", "details": []}}, *headers)


class CutOff(bytes):
    """An answer after which the server hangs up, even if it announced more."""


class Resets(bytes):
    """An answer after which the server resets the connection."""


class Drips(bytes):
    """An answer that arrives one byte at a time."""


DRIP_S = 0.02


class FaultyServer:
    """Answers each request with the next of `answers`, and repeats the last one; None = no answer.

    asked: the requests so far, as bytes. was_left: a client has closed its connection. drips: seconds between two bytes
    of a body. greets: what it says before it is asked, and then closes. tls: it speaks TLS. `{id}` in an answer is the
    request's X-Request-ID.
    """

    def __init__(self, *answers: bytes | None, greets: bytes = b"", tls: ssl.SSLContext | None = None) -> None:
        self.answers = list(answers)
        self.greets = greets
        self._tls = tls
        self.asked: list[bytes] = []
        self.drips = 0.0
        self.was_asked, self.was_left = threading.Event(), threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._socket.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self._open.append(connection)
                if self.greets:
                    connection.sendall(self.greets)
                    connection.close()
                    continue
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)
            while request := _read_request(connection):
                self.asked.append(request)
                self.was_asked.set()
                said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if said is None:
                    continue
                whole = said.replace(b"{id}", header(request, b"X-Request-ID"))
                head, split, body = whole.partition(b"\r\n\r\n")
                at_once, slowly, pause = head + split, body, self.drips
                if isinstance(said, Drips):
                    at_once, slowly, pause = b"", whole, DRIP_S
                connection.sendall(at_once)
                for byte in [slowly[at : at + 1] for at in range(len(slowly))] if pause else [slowly]:
                    connection.sendall(byte)
                    time.sleep(pause)
                if isinstance(said, Resets):
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if b"Content-Length" not in said or isinstance(said, CutOff):
                    connection.close()
                    return
            self.was_left.set()

    @property
    def connections(self) -> int:
        """How many were opened so far."""
        return len(self._open)

    def hang_up(self) -> None:
        """Every connection has ended; new ones can be opened."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for one in [self._socket, *self._open]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@cache
def certificate(host: str) -> Path:
    """A certificate for a host, which is its own authority, and its key, in one file; made anew for every run."""
    made = Path(tempfile.mkdtemp(prefix="remit-tls-")) / "certificate.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    kind = "IP" if host[0].isdigit() else "DNS"
    named = ["-subj", f"/CN={host}", "-addext", f"subjectAltName={kind}:{host}", "-keyout", made, "-out", made]
    subprocess.run(["openssl", *words.split(), *named], check=True, capture_output=True)
    return made


def tls_of(host: str) -> ssl.SSLContext:
    """A server's side of TLS, with the certificate of a host."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(host))
    return context


def header(request: bytes, name: bytes) -> bytes:
    """The value of a header of a request; empty if it has none."""
    lines = [line.partition(b": ") for line in request.partition(b"\r\n\r\n")[0].split(b"\r\n")]
    return next((value for given, _, value in lines if given.lower() == name.lower()), b"")


def _read_request(connection: socket.socket) -> bytes:
    got = b""
    while b"\r\n\r\n" not in got:
        chunk = connection.recv(65536)
        if not chunk:
            return b""
        got += chunk
    head, _, body = got.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0
    )
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
