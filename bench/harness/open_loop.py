"""Open-loop load: requests are sent at a fixed rate, whether or not the service keeps up.

A process of its own (`python -m bench.harness.open_loop`), one thread over epoll: no library's event loop delays a
request that is due, and select waits with microsecond precision.
Reads a `Job` on its standard input, writes an `Outcome` to its standard output, both as JSON.
"""

import gc
import select
import socket
import subprocess
import sys
import time
from collections import deque

import msgspec
from msgspec import Struct

from bench.harness.arrivals import Arrivals, Phase, Slice
from bench.harness.closed_loop import Call, WrongAnswer
from bench.harness.cores import pinned
from bench.harness.processes import Server

SLICE_US = 100_000
_PATIENCE_US = 20_000_000
_LENGTH = b"content-length: "


class Job(Struct, frozen=True, kw_only=True):
    """What to send, and where. Answers must be 200 and contain `expected`; 503 counts as shed, anything else fails.

    skip_seconds: the part of the first phase that is warm-up and counts in no phase.
    """

    port: int
    calls: list[Call]
    expected: str
    connections: int
    phases: list[Phase]
    skip_seconds: float = 0.5


class Outcome(Struct, frozen=True, kw_only=True):
    """Each phase as a whole, and all of them in slices of 100 ms; busy: the generator's share of its core."""

    phases: list[Slice]
    slices: list[Slice]
    busy_percent: float


def run(job: Job, core: int) -> Outcome:
    """The outcome of the job, run on `core`. Raises WrongAnswer at any answer but the expected one and 503."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.harness.open_loop"],
        input=msgspec.json.encode(job),
        capture_output=True,
        check=False,
        preexec_fn=pinned(core),
    )
    if done.returncode:
        raise WrongAnswer(done.stderr.decode().strip().rpartition("\n")[2])
    return msgspec.json.decode(done.stdout, type=Outcome)


def run_beside(job: Job, core: int, server: Server) -> tuple[Outcome, float]:
    """As `run`, and the share of its runnable time, in %, in which other processes had the server's core."""
    waited_us, spent_us = server.waited_us(), server.cpu_us()
    outcome = run(job, core)
    waited_us, spent_us = server.waited_us() - waited_us, server.cpu_us() - spent_us
    return outcome, 100 * waited_us / (waited_us + spent_us)


class _Connection:
    """One keep-alive connection with at most one request under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.number = -1
        self.free_since_us = 0
        self.pending = b""


class Generator:
    """Sends requests when they are due and reads answers, until every request has its answer."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.arrivals = Arrivals(job.phases)
        self._requests = [request_bytes(call) for call in job.calls]
        self._expected = job.expected.encode()
        self._connections = {each.socket.fileno(): each for each in _connect(job)}
        self._free = deque(self._connections.values())
        self._epoll = select.epoll()
        for descriptor in self._connections:
            self._epoll.register(descriptor, select.EPOLLIN)

    def run(self) -> None:
        """Run until every request is answered. Raises WrongAnswer; TimeoutError after 20 s without an answer."""
        arrivals, epoll = self.arrivals, self._epoll
        start_ns = time.perf_counter_ns()
        last_answer_us = 0
        while arrivals.open:
            now_us = (time.perf_counter_ns() - start_ns) // 1000
            self._send_due(now_us)
            ready = epoll.poll(0)
            if not ready:
                select.select([epoll.fileno()], [], [], self._wait_s((time.perf_counter_ns() - start_ns) // 1000))
                ready = epoll.poll(0)
            for descriptor, _ in ready:
                last_answer_us = self._receive(self._connections[descriptor], start_ns)
            if now_us - max(last_answer_us, arrivals.intended_us[0]) > _PATIENCE_US:
                raise TimeoutError(f"{arrivals.open} requests were not answered within 20 s")

    def close(self) -> None:
        """Close the connections."""
        self._epoll.close()
        for connection in self._connections.values():
            connection.socket.close()

    def _send_due(self, now_us: int) -> None:
        free, requests = self._free, self._requests
        while free:
            connection = free[0]
            number = self.arrivals.take(now_us, connection.free_since_us)
            if number is None:
                return
            free.popleft()
            connection.number = number
            connection.socket.send(requests[number % len(requests)])

    def _wait_s(self, now_us: int) -> float:
        moment_us = self.arrivals.next_moment_us()
        if moment_us is None or not self._free:
            return 1.0
        return max(0.0, (moment_us - now_us) / 1e6)

    def _receive(self, connection: _Connection, start_ns: int) -> int:
        data = connection.socket.recv(65536)
        now_us = (time.perf_counter_ns() - start_ns) // 1000
        if not data:
            raise WrongAnswer("the service closed a connection with a request under way")
        if connection.pending:
            data = connection.pending + data
        if not is_whole(data):
            connection.pending = data
            return now_us
        connection.pending = b""
        shed = data.startswith(b"HTTP/1.1 503")
        if not shed and not (data.startswith(b"HTTP/1.1 200") and self._expected in data):
            raise WrongAnswer(data[:400].decode(errors="replace").replace("\r\n", " "))
        self.arrivals.answered(connection.number, now_us, shed=shed)
        connection.free_since_us = now_us
        self._free.append(connection)
        return now_us


def is_whole(data: bytes) -> bool:
    """Whether an answer is complete: its head, and all of the body that its Content-Length announces."""
    head = data.find(b"\r\n\r\n")
    if head < 0:
        return False
    at = data.lower().find(_LENGTH, 0, head)
    if at < 0:
        raise WrongAnswer("an answer without Content-Length")
    end = data.index(b"\r\n", at)
    return len(data) >= head + 4 + int(data[at + len(_LENGTH) : end])


def request_bytes(call: Call) -> bytes:
    """The call as it goes over the wire."""
    lines = [f"POST {call.path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    if call.raw_key:
        lines.append(f"Authorization: Bearer {call.raw_key}")
    lines.append(f"Content-Length: {len(call.body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + call.body


def _connect(job: Job) -> list[_Connection]:
    return [_Connection(job.port) for _ in range(job.connections)]


def _outcome(job: Job, arrivals: Arrivals, busy_percent: float) -> Outcome:
    phases: list[Slice] = []
    begins_us = 0.0
    for number, phase in enumerate(job.phases):
        ends_us = begins_us + phase.seconds * 1e6
        skip_us = 0.0 if number else job.skip_seconds * 1e6
        phases.append(arrivals.slice(int(begins_us + skip_us), int(ends_us)))
        begins_us = ends_us
    slices = [arrivals.slice(at, at + SLICE_US) for at in range(0, int(begins_us), SLICE_US)]
    return Outcome(phases=phases, slices=slices, busy_percent=busy_percent)


def main() -> None:
    """Read a job, run it, write its outcome."""
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    generator = Generator(job)
    gc.disable()
    cpu, wall = time.process_time(), time.perf_counter()
    generator.run()
    busy_percent = 100 * (time.process_time() - cpu) / (time.perf_counter() - wall)
    sys.stdout.buffer.write(msgspec.json.encode(_outcome(job, generator.arrivals, busy_percent)))


if __name__ == "__main__":
    main()
