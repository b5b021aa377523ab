"""Hostile load: a separate process that sends the same requests until it is stopped.

`python -m bench.harness.hostile_load` reads a `HostileJob` on its standard input. Answers are discarded.
"""

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from app.explain.replay_jobs.processes import lower_priority
from bench.harness.cores import pinned

_CHUNK = 1 << 16


class HostileJob(Struct, frozen=True, kw_only=True):
    """Requests as raw bytes, each sent in turn on every one of `connections`."""

    port: int
    requests: list[bytes]
    connections: int


@contextlib.contextmanager
def under(job: HostileJob, core: int) -> Iterator[None]:
    """Run the load until the end of the block. Raises RuntimeError if it ended by itself."""
    command = [sys.executable, "-m", "bench.harness.hostile_load"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, preexec_fn=pinned(core)) as process:
        if process.stdin is None:
            raise RuntimeError("no way to tell the load what to send")
        process.stdin.write(msgspec.json.encode(job))
        process.stdin.close()
        try:
            yield
            if process.poll() is not None:
                raise RuntimeError("the hostile load has ended by itself")
        finally:
            process.kill()


def request_of(method: str, path: str, raw_key: str, body: bytes = b"") -> bytes:
    """A request after whose answer the connection is closed."""
    return kept_open(method, path, raw_key, body).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)


def kept_open(method: str, path: str, raw_key: str, body: bytes = b"") -> bytes:
    """A request after whose answer the connection is ready for another."""
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", f"Authorization: Bearer {raw_key}"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def _send_on(job: HostileJob, first: int) -> None:
    for request in itertools.islice(itertools.cycle(job.requests), first, None):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", job.port)) as link:
            link.sendall(request)
            while link.recv(_CHUNK):
                pass


def main() -> None:
    """Read a job, and run it until stopped, at a priority that leaves the core to what is measured on it."""
    lower_priority(os.getpid())
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=HostileJob)
    threads = [threading.Thread(target=_send_on, args=(job, number)) for number in range(job.connections)]
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main()
