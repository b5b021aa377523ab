"""How long can a body, a pattern or a string block the event loop?"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import uvloop
from msgspec import Struct, json

from app.main import create_app
from app.settings import Settings
from bench.harness import hostile
from bench.harness.bench import Bench
from bench.harness.cores import moved_to
from bench.harness.population import HOT_RULES, TOOL, Place, PolicySketch, make_place
from bench.harness.table import Goal, Row, Sample, Table

ORDINARY = "an ordinary call"
WALL, CPU = "longest stall ms", "longest step, CPU ms"
_BEAT_S = 0.001
_LISTED = 400
_SCHEMAS, _PROPERTIES = 300, 50
"""More schemas than a replica keeps compiled."""


class Request(Struct, frozen=True):
    """What one caller sends. name: what makes it hard."""

    name: str
    path: str
    key: str
    body: bytes
    method: str = "POST"


class Heart:
    """Ticks every millisecond, and records the longest delay."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.reset()
        self._next = self._loop.call_later(_BEAT_S, self._beat)

    def reset(self) -> None:
        """Forget earlier delays."""
        self.wall_ms = self.cpu_ms = 0.0
        self._wall, self._cpu = time.perf_counter(), time.thread_time()

    def stop(self) -> None:
        self._next.cancel()

    def _beat(self) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        self.wall_ms = max(self.wall_ms, (wall - self._wall - _BEAT_S) * 1e3)
        self.cpu_ms = max(self.cpu_ms, (cpu - self._cpu) * 1e3)
        self._wall, self._cpu = wall, cpu
        self._next = self._loop.call_later(_BEAT_S, self._beat)


def measure(bench: Bench) -> Table:
    """The longest stall of the loop while it answers hostile inputs, one after the other."""
    with bench.running_store("stalls") as store:
        groups = _groups(store.url)
        with moved_to(bench.cores.service):
            rounds = [uvloop.run(_round(store.url, groups)) for _ in range(bench.rounds)]
    rows = [Row(label=label, samples=[each[label][0] for each in rounds]) for label in groups]
    longest = max(((each[label][0][CPU], each[label][1]) for each in rounds for label in groups), default=(0.0, ""))
    return Table(
        name="stalls",
        question="how long can one request keep all others waiting?",
        command=bench.command,
        columns={WALL: ".1f", CPU: ".1f"},
        rows=rows,
        baseline=ORDINARY,
        compared=CPU,
        first_column="What is sent",
        goals=[Goal(wanted="longest step of the loop, CPU ms", bound=10, at_least=False, measured=longest[0])],
        left_out=[
            (
                "A stall is a beat of the loop that is late by a millisecond or more. Its wall time "
                "is that of a shared machine, and includes waiting for Python's lock while a thread "
                "compiles patterns."
            ),
            f"The longest step was for: {longest[1]}.",
        ],
    )


async def _round(store_url: str, groups: dict[str, list[Request]]) -> dict[str, tuple[Sample, str]]:
    """For each group, its longest stalls and the input that caused the longest."""
    app = create_app(Settings(redis_url=store_url, store_timeout_ms=10_000))
    found = {}
    async with app.lifespan():
        gc.collect()
        gc.freeze()  # as a worker does after its start
        heart = Heart()
        for label, requests in groups.items():
            sample, worst = {WALL: 0.0, CPU: 0.0}, ""
            for request in requests:
                await asyncio.sleep(5 * _BEAT_S)
                heart.reset()
                await _send(app, request)
                await asyncio.sleep(2 * _BEAT_S)
                if heart.cpu_ms > sample[CPU]:
                    worst = f"{label}: {request.name}"
                sample = {WALL: max(sample[WALL], heart.wall_ms), CPU: max(sample[CPU], heart.cpu_ms)}
            found[label] = (sample, worst)
        heart.stop()
    return found


async def _send(app: Callable[..., Awaitable[None]], request: Request) -> None:
    """Wait for the application's answer; a 503 because a thread took too long counts as an answer."""
    path, _, query = request.path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"bench"), (b"authorization", b"Bearer " + request.key.encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    statuses: list[int] = []

    to_come = [{"type": "http.request", "body": request.body, "more_body": False}]
    whole = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if not to_come:
            await whole.wait()
        return to_come.pop() if to_come else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
        elif not message.get("more_body", False):
            whole.set()

    await app(scope, receive, send)
    if statuses[0] >= 500 and statuses[0] != 503:
        raise RuntimeError(f"{request.name}: answered {statuses[0]}")


def _groups(store_url: str) -> dict[str, list[Request]]:
    """The requests of each row of the table."""
    hot = make_place(store_url, "hot", [PolicySketch(HOT_RULES)])
    patterns = make_place(store_url, "patterns", [PolicySketch([_searched(n)]) for n in range(len(hostile.PATTERNS))])
    many = make_place(store_url, "many", [PolicySketch([_searched(0)] * 8)] * _LISTED)
    schemas = make_place(store_url, "schemas", [PolicySketch([_schema(n)]) for n in range(_SCHEMAS)])
    call = {"agent_id": hot.agent_id, "tool_name": TOOL, "parameters": {"amount": 7, "currency": "EUR"}}
    refused = [hostile.policy_body([_constraint(pattern)]) for pattern in hostile.REFUSED]
    return {
        ORDINARY: [_ask(hot, ORDINARY, json.encode(call))] * 20,
        "JSON bombs to /v1/authorize": [_ask(hot, *bomb) for bomb in hostile.JSON_BOMBS.items()],
        "calls of 1 MiB": [_ask(hot, *bomb) for bomb in hostile.LARGE_CALLS.items()],
        "JSON bombs to /v1/policies": [_make(hot, *bomb) for bomb in hostile.JSON_BOMBS.items()],
        "policies as large as they may be": [_make(hot, *bomb) for bomb in hostile.POLICY_BOMBS.items()],
        "patterns that are refused": [
            _make(hot, pattern, body) for pattern, body in zip(hostile.REFUSED, refused, strict=True)
        ],
        "exploding patterns in long texts": list(_searches(patterns)),
        f"the list of {_LISTED} policies of 8 patterns": [Request("list", "/v1/policies", many.admin_key, b"", "GET")],
        f"the list of {_SCHEMAS} policies with a schema of {_PROPERTIES} patterns": [
            Request("list", "/v1/policies", schemas.admin_key, b"", "GET")
        ],
        "texts full of names of secrets": [_ask(hot, *each) for each in _with_secrets(call)],
        "what their agent may call": [_get(many, f"/v1/agents/{many.agent_id}/tools")],
        "the document and its page": [_get(many, "/openapi.json"), _get(many, "/docs")],
        "the first call of their agent": [_ask(many, "first", json.encode({**call, "agent_id": many.agent_id}))],
    }


def _ask(place: Place, name: str, body: bytes) -> Request:
    return Request(name, "/v1/authorize", place.raw_key, body.replace(hostile.AGENT.encode(), place.agent_id.encode()))


def _make(place: Place, name: str, body: bytes) -> Request:
    return Request(name, "/v1/policies", place.admin_key, body.replace(hostile.AGENT.encode(), place.agent_id.encode()))


def _get(place: Place, path: str) -> Request:
    return Request(path, path, place.admin_key, b"", "GET")


def _with_secrets(call: dict[str, Any]) -> Iterable[tuple[str, bytes]]:
    """Strings that take the longest to redact, in the sizes handled by the loop, by a thread and by the log."""
    for part in ("token=a ", "curl -u a ", "name: token\nvalue: x\n", "' password: "):
        for texts in (1, 7, 500):
            parameters = {"a": [(part * 2_000)[:1_900]] * texts}
            yield f"{texts} texts of {part!r}", json.encode({**call, "parameters": parameters})


def _searches(place: Place) -> Iterable[Request]:
    for number, pattern in enumerate(hostile.PATTERNS):
        for name, text in hostile.TEXTS.items():
            body = {"agent_id": place.agent_id, "tool_name": f"search.{number}", "parameters": {"text": text}}
            yield _ask(place, f"{pattern} in {name}", json.encode(body))


def _constraint(pattern: str) -> dict[str, Any]:
    return {"type": "parameter_constraint", "tools": ["*"], "parameters": {"text": {"regex": pattern}}}


def _schema(number: int) -> dict[str, Any]:
    """A rule whose schema has patterns that no other schema has."""
    properties = {f"p{each}": {"pattern": f"^[a-z]{{1,20}}{number}-{each}$"} for each in range(_PROPERTIES)}
    return {"type": "parameter_schema", "tools": ["*"], "schema": {"type": "object", "properties": properties}}


def _searched(number: int) -> dict[str, Any]:
    return {**_constraint(hostile.PATTERNS[number]), "tools": [f"search.{number}"]}
