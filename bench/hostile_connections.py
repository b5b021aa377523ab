"""What does a hostile connection cost: without a key, with a key, and from a client that never reads?"""

import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.harness.bench import Bench
from bench.harness.population import hot_place
from bench.harness.processes import Replica
from bench.harness.table import Goal, Sample, Table, take_turns_by_label

CONNECTIONS = 1_000
BOUND_KIB = 64
IDLE = "connected, and silent"
MEMORY, CPU = "KiB a connection", "service us a connection"
_PAGE = 1024
_HOST = b"Host: bench\r\n"


def measure(bench: Bench) -> Table:
    """Memory of a fresh replica before and after a thousand connections of each kind have sent their data."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with bench.running_store("hostile") as store:
        key = hot_place(store.url).raw_key.encode()

        def sample(label: str) -> Sample:
            with Replica(store.url, bench.cores.service, REMIT_CONNECTIONS_PER_ADDRESS="0") as replica:
                return _sample(replica, _kinds(key)[label])

        rows = take_turns_by_label(_kinds(key), sample, bench.rounds)
    worst = max(row.median(MEMORY) or 0.0 for row in rows)
    return Table(
        name="hostile_connections",
        question=f"what do {CONNECTIONS:,} hostile connections cost?",
        command=bench.command,
        columns={MEMORY: ".1f", CPU: ".0f"},
        rows=rows,
        baseline=IDLE,
        compared=MEMORY,
        first_column="What each of them does",
        goals=[Goal(wanted="memory of the worst, KiB a connection", bound=BOUND_KIB, at_least=False, measured=worst)],
        left_out=[
            "Resident memory of the replica, before and after, by the number; what the kernel holds is not in it.",
            "Each kind gets a fresh replica, so memory that was freed but not returned counts only for its own kind.",
        ],
    )


def _kinds(key: bytes) -> dict[str, bytes]:
    """What one connection of each kind sends before it waits."""
    call = b"POST /v1/authorize HTTP/1.1\r\n" + _HOST
    known = call + b"Authorization: Bearer " + key + b"\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n\r\n"
    ask = b"GET /openapi.json HTTP/1.1\r\n" + _HOST + b"\r\n"
    return {
        IDLE: b"",
        "31 KiB of a head": b"GET / HTTP/1.1\r\nX: " + b"a" * 31 * _PAGE,
        "99 headers and a body that does not come": call
        + b"".join(b"x%d:%d\r\n" % (n, n) for n in range(98))
        + b"Content-Length: 9\r\n\r\n",
        "trailers without end": b"POST /livez HTTP/1.1\r\n" + _HOST + chunked + b"0\r\n" + b"a:b\r\n" * 20 * _PAGE,
        "a known key, and 30 KiB of a body": known + b"Content-Length: 40000\r\n\r\n" + b" " * 30 * _PAGE,
        "a known key, and chunks of a byte": known + chunked + b"1\r\n \r\n" * 10 * _PAGE,
        "1,000 requests at once": (b"GET /livez HTTP/1.1\r\n" + _HOST + b"\r\n") * 1_000,
        "asks for 1 MB and more, and does not read": ask * 40,
    }


def _sample(replica: Replica, sent: bytes) -> Sample:
    """Memory and CPU time that a thousand such connections cost until they have sent everything."""
    _settle(replica)
    before, spent = _resident_kib(replica), replica.cpu_us()
    with _connected(replica.port, sent):
        _settle(replica)
        held = _resident_kib(replica) - before
        return {MEMORY: held / CONNECTIONS, CPU: (replica.cpu_us() - spent) / CONNECTIONS}


@contextmanager
def _connected(port: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """A thousand clients that send and read nothing."""
    clients: list[socket.socket] = []
    try:
        for _ in range(CONNECTIONS):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.connect(("127.0.0.1", port))
            client.setblocking(False)
            clients.append(client)
        waiting = [(client, memoryview(sent)) for client in clients]
        _until(lambda: not _send_on(waiting), seconds=10)
        yield clients
    finally:
        for client in clients:
            client.close()


def _send_on(waiting: list[tuple[socket.socket, memoryview]]) -> int:
    """How many clients could send more of their data."""
    moved = 0
    for place, (client, left) in enumerate(waiting):
        try:
            size = client.send(left) if left else 0
        except OSError:
            continue  # its buffer is full, or it has been closed
        waiting[place] = client, left[size:]
        moved += size > 0
    time.sleep(0.02)
    return moved


def _settle(replica: Replica) -> None:
    """Wait until the replica is idle."""
    last = -1.0

    def is_quiet() -> bool:
        nonlocal last
        time.sleep(0.3)
        last, before = replica.cpu_us(), last
        return last - before < 20_000

    _until(is_quiet, seconds=15)


def _until(claim: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not claim() and time.monotonic() < end:
        pass


def _resident_kib(replica: Replica) -> float:
    """Resident memory of the processes that answer, in KiB."""
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in replica.worker_pids())
    return pages * resource.getpagesize() / 1024
