"""Closed-loop load by wrk: each connection sends its next request once the last has been answered."""

import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.harness.cores import pinned
from bench.harness.processes import Server
from bench.harness.table import KEPT_WAITING, Goal, Row, Sample

SCRIPT = Path(__file__).with_name("decisions.lua")
COLUMNS = {
    "req/s": ",.0f",
    "p50 ms": ".2f",
    "p99 ms": ".2f",
    "service us": ".1f",
    "store us": ".1f",
    "service busy %": ".0f",
    "req/s a core": ",.0f",
}
"""us: CPU time a request, of the service's process and of the store's; busy: the service's share of its core;
a core: the rate that the service's CPU time would allow on a whole core."""


class Call(Struct, frozen=True):
    """One request to send. raw_key: "" = no Authorization header."""

    path: str
    body: bytes
    raw_key: str = ""


class WrongAnswer(RuntimeError):
    """An answer was not the expected one, so the run is worthless."""


class _Report(Struct):
    requests: int
    duration_us: int
    p50_us: int
    p90_us: int
    p99_us: int
    p999_us: int
    max_us: int
    wrong: int
    lost: int
    example: str


class Target(Struct, frozen=True, kw_only=True):
    """Where a load goes, and what the answers must contain.

    calls: drawn from at random. service: whose CPU time is the service's (several replicas: all of them).
    """

    port: int
    calls: Sequence[Call]
    expected: str
    service: Sequence[Server]
    store: Server | None = None


def load(target: Target, connections: int, seconds: float, core: int) -> Sample:
    """One run of wrk on `core`. Raises WrongAnswer if a single answer was not as expected."""
    with tempfile.NamedTemporaryFile("wb", suffix=".requests") as file:
        file.writelines(_line(call) for call in target.calls)
        file.flush()
        servers = [*target.service, *([target.store] if target.store else [])]
        spent = {server.pid: server.cpu_us() for server in servers}
        waited_us = sum(server.waited_us() for server in target.service)
        spent_by_wrk = _children_us()
        started = time.monotonic()
        text = _run_wrk(target, file.name, connections, seconds, core)
        wall_us = (time.monotonic() - started) * 1e6
        spent = {server.pid: server.cpu_us() - spent[server.pid] for server in servers}
        waited_us = sum(server.waited_us() for server in target.service) - waited_us
        spent_by_wrk = _children_us() - spent_by_wrk
    report = parse_report(text)
    service_us = sum(spent[server.pid] for server in target.service)
    sample = {
        "req/s": report.requests / (report.duration_us / 1e6),
        "p50 ms": report.p50_us / 1000,
        "p99 ms": report.p99_us / 1000,
        "p99.9 ms": report.p999_us / 1000,
        "max ms": report.max_us / 1000,
        "p99 / p50": report.p99_us / report.p50_us,
        "service us": service_us / report.requests,
        "wrk us": spent_by_wrk / report.requests,
        "service busy %": 100 * service_us / report.duration_us,
        KEPT_WAITING: 100 * waited_us / (waited_us + service_us),
        "req/s a core": 1e6 * report.requests / service_us,
        "load core busy %": 100 * spent_by_wrk / wall_us,
    }
    if target.store is not None:
        sample["store us"] = spent[target.store.pid] / report.requests
        sample["load core busy %"] += 100 * spent[target.store.pid] / wall_us
    return sample


def rate_goals(wanted: str, bound: float, row: Row, baseline: Row) -> list[Goal]:
    """A goal for the rate, and the same by CPU time, which holds even when other processes were busy."""
    return [
        Goal(wanted=f"{wanted}, req/s", bound=bound, at_least=True, measured=row.ratio("req/s", baseline)),
        Goal(
            wanted="the same by CPU time",
            bound=bound,
            at_least=True,
            measured=row.ratio("req/s a core", baseline),
            needs_quiet=False,
        ),
    ]


def parse_report(text: str) -> _Report:
    """The report of decisions.lua. Raises WrongAnswer unless every answer was as expected."""
    lines = [line for line in text.splitlines() if line.startswith('{"requests"')]
    if not lines:
        raise WrongAnswer(f"wrk gave no report: {text[-500:]}")
    report = msgspec.json.decode(lines[-1], type=_Report)
    if not report.requests:
        raise WrongAnswer("not one answer came in the whole round: the service stood still or was not there")
    if report.wrong or report.lost:
        raise WrongAnswer(
            f"{report.wrong} of {report.requests} answers were wrong and {report.lost} were lost; {report.example}"
        )
    return report


def require_wrk() -> str:
    """The path of wrk. Raises RuntimeError saying how to get it."""
    path = shutil.which("wrk")
    if path is None:
        raise RuntimeError("wrk is missing; it is packaged: apt-get install -y wrk (Debian), brew install wrk")
    return path


def _run_wrk(target: Target, requests: str, connections: int, seconds: float, core: int) -> str:
    command = [require_wrk(), "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "10s"]
    command += ["-s", str(SCRIPT), f"http://127.0.0.1:{target.port}", "--", requests, target.expected]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=pinned(core))
    return done.stdout + done.stderr


def _line(call: Call) -> bytes:
    return b"%s\t%s\t%s\n" % (call.path.encode(), call.raw_key.encode(), call.body)


def _children_us() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1e6
