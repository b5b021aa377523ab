"""What does a decision cost over a Unix socket, beside TCP on loopback?"""

import select
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness.bench import ALLOWED, Bench, forget_entries
from bench.harness.hostile_load import kept_open
from bench.harness.population import hot_call, hot_place
from bench.harness.processes import Replica
from bench.harness.table import KEPT_WAITING, Goal, Sample, Table, take_turns

TCP, UNIX = "TCP on loopback", "Unix socket"
ONE, MANY = 1, 32
WARM_UP = 500
_EXPECTED = ALLOWED.encode()


def measure(bench: Bench) -> Table:
    """The hot call over both, by one caller and by many, on the same replica."""
    groups = {ONE: "1 connection", MANY: f"{MANY} connections"}
    with tempfile.TemporaryDirectory() as folder, bench.running_store("unix_socket") as store:
        path = Path(folder) / "remit.sock"
        with bench.replica(store, REMIT_SOCKET=str(path)) as replica:
            place = hot_place(store.url)
            hot = hot_call(place)
            request = kept_open("POST", hot.path, hot.raw_key, hot.body)
            forget = forget_entries(store, [place])

            def turn(connect: Callable[[], socket.socket], connections: int) -> Callable[[], Sample]:
                def act() -> Sample:
                    forget()
                    return _sample(replica, [connect() for _ in range(connections)], request, bench.seconds)

                return act

            def tcp() -> socket.socket:
                made = socket.create_connection(("127.0.0.1", replica.port))
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return made

            def unix() -> socket.socket:
                made = socket.socket(socket.AF_UNIX)
                made.connect(str(path))
                return made

            rows = [
                row
                for connections, group in groups.items()
                for row in take_turns({TCP: turn(tcp, connections), UNIX: turn(unix, connections)}, bench.rounds, group)
            ]
    table = Table(
        name="unix_socket",
        question="what does a decision cost over a Unix socket, beside TCP on loopback?",
        command=bench.command,
        columns={"p50 ms": ".3f", "p99 ms": ".3f", "service us": ".1f", "req/s": ",.0f"},
        rows=rows,
        baseline=TCP,
        compared="p50 ms",
        group_column="Callers",
        left_out=["The load generator is a Python program on the store's core; each caller waits for its answer."],
    )
    table.goals = [
        Goal(wanted=wanted, bound=bound, at_least=False, measured=_ratio(table, column, group), needs_quiet=quiet)
        for wanted, bound, column, group, quiet in (
            ("p50 of one caller, of that over TCP", 0.8, "p50 ms", groups[ONE], True),
            (f"service CPU at {MANY} callers, of that over TCP", 0.85, "service us", groups[MANY], False),
        )
    ]
    return table


def _ratio(table: Table, column: str, group: str) -> float | None:
    return table.row(UNIX, group).ratio(column, table.row(TCP, group))


def _sample(replica: Replica, callers: list[socket.socket], request: bytes, seconds: float) -> Sample:
    """One round of a closed loop. Raises RuntimeError at the first answer that is not as expected."""
    try:
        _ask_all(callers, request, lambda times: len(times) < WARM_UP)
        spent_us, waited_us, began = replica.cpu_us(), replica.waited_us(), time.perf_counter()
        times = _ask_all(callers, request, lambda _: time.perf_counter() - began < seconds)
        took = time.perf_counter() - began
        spent_us, waited_us = replica.cpu_us() - spent_us, replica.waited_us() - waited_us
    finally:
        for caller in callers:
            caller.close()
    return {
        "p50 ms": statistics.median(times) * 1000,
        "p99 ms": statistics.quantiles(times, n=100)[-1] * 1000,
        "service us": spent_us / len(times),
        "req/s": len(times) / took,
        KEPT_WAITING: 100 * waited_us / (waited_us + spent_us),
    }


def _ask_all(callers: list[socket.socket], request: bytes, goes_on: Callable[[list[float]], bool]) -> list[float]:
    """How long each answer took, in seconds. Every caller sends its next request once it has its answer."""
    times: list[float] = []
    if len(callers) == 1:
        [caller] = callers
        while goes_on(times):
            sent = time.perf_counter()
            caller.sendall(request)
            _read(caller)
            times.append(time.perf_counter() - sent)
        return times
    by_number, since = {each.fileno(): each for each in callers}, dict[int, float]()
    with select.epoll() as poll:
        for number, caller in by_number.items():
            poll.register(number, select.EPOLLIN)
            since[number] = time.perf_counter()
            caller.sendall(request)
        while since:
            for number, _ in poll.poll():
                _read(by_number[number])
                now = time.perf_counter()
                times.append(now - since.pop(number))
                if goes_on(times):
                    since[number] = now
                    by_number[number].sendall(request)
    return times


def _read(caller: socket.socket) -> None:
    got = caller.recv(65536)
    if not (got.startswith(b"HTTP/1.1 200") and _EXPECTED in got and got.endswith(b"}")):
        raise RuntimeError(f"the answer was {got.decode()}")
