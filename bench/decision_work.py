"""How much of a core can deciding one call take, in each lane? The worst of many calls that stretch a feature each."""

import random
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct, json

from app.errors import AppError
from app.http.api.authorize import read_call
from app.http.hot_path import IN_THE_LOOP_BYTES
from app.http.tool_calls import MAX_CALL_BYTES, Reading
from app.model.agents import Agent
from app.model.canonical_call import canonical_call
from app.model.constraints import MAX_REQUEST_BYTES, REQUEST
from app.model.decisions import AuthorizeRequest
from app.model.policies import Policy
from app.pdp import CompiledAgent, compile_agent, decide_at_length
from app.redaction.recording import takes_long, with_request
from app.redaction.redactor import Redactor
from app.redaction.signer import Signer
from app.settings import Settings
from bench.harness.bench import Bench
from bench.harness.population import TOOL, rules_of
from bench.harness.table import Goal, Row, Table

MOST_MS = 50.0
FAST, SLOW = "fast lane, worst ms", "slow lane, worst ms"
_SIZES = (3_000, 8_000, 15_000, 60_000, 250_000, 1_000_000)
_AGENT = "8a3d2a52-6f0e-4f39-8d3b-0a8a4b4c4b4c"
_redactor, _signer = Redactor(Settings().redact.split(",")), Signer([b"n" * 32])
_LINEAR = ("^.{1,255}$", r"^[\p{L} ]+$", r"\d{4}-\d\d-\d\d", "(?i)(password|secret|token)\\s*=", r"(\w+\s?){1,50}$")
_COSTLY = (".{1000}$", "(.{100}){10}z", "(a|b)*a(a|b){300}c", "(a|b)*a(a|b){30}c", "((a?){50}){5}a{50}c")
_SCHEMAS: tuple[dict[str, Any], ...] = (
    {"properties": {"a": {"items": {"anyOf": [{"const": f"v{number}"} for number in range(250)]}}}},
    {"properties": {"a": {"items": {"pattern": "(a|b)*a(a|b){300}c"}}}},
    {"properties": {"a": {"uniqueItems": True}}},
    {"properties": {"a": {"items": {"multipleOf": 0.01, "maximum": 10**300}}}},
)
_DEEP = ".".join("ab" * 8)


class Case(Struct, frozen=True):
    """What is stretched: constraints by name, or a schema; values of the parameter `a` by size; the user's request; the
    work that is measured, deciding if left out.
    """

    rules: list[dict[str, Any]]
    values: Callable[[random.Random, int], Any]
    request: Callable[[random.Random], str] | None = None
    work: Callable[[CompiledAgent, AuthorizeRequest], object] | None = None


def measure(bench: Bench) -> Table:
    """Each call is judged twice, and the shorter time counts."""
    rows = []
    for label, cases in _cases().items():
        chance = random.Random(7)
        spent = {FAST: [0.0], SLOW: [0.0]}
        for case in cases:
            for is_fast, milliseconds in _worst_of(case, chance, max(1, int(2 * bench.seconds))):
                spent[FAST if is_fast else SLOW].append(milliseconds)
        rows.append(Row(label=label, samples=[{lane: max(each) for lane, each in spent.items()}]))
    most = {lane: max(row.samples[0][lane] for row in rows) for lane in (FAST, SLOW)}
    return Table(
        name="decision_work",
        question="how much of a core can deciding one call take, after it is read?",
        command=bench.command,
        columns={FAST: ".2f", SLOW: ".1f"},
        rows=rows,
        baseline="plain calls",
        compared=SLOW,
        first_column=f"Calls of up to {MAX_CALL_BYTES // 1024} KiB that stretch",
        goals=[
            Goal(wanted=f"the worst, {lane.split(',')[0]}, ms", bound=MOST_MS, at_least=False, measured=most[lane])
            for lane in (FAST, SLOW)
        ],
        left_out=[
            "CPU time of the thread. The fast lane decides a call if it is short and quick.",
            "Reading and redacting the call is measured in `call_work`; the commit is the store's.",
        ],
    )


def _cases() -> dict[str, list[Case]]:
    def constrained(name: str = "a", **constraint: Any) -> list[dict[str, Any]]:
        return [{"type": "parameter_constraint", "tools": [TOOL], "parameters": {name: constraint}}]

    def words(chance: random.Random, size: int) -> list[str]:
        return ["".join(chance.choices("abé ", k=6)) for _ in range(min(size // 10, 9_000))]

    texts: tuple[Callable[[random.Random, int], Any], ...] = (
        lambda chance, size: "".join(chance.choices("ab", k=size)),
        lambda _, size: "a" * size,
        lambda chance, size: "".join(chance.choices("abcdefgéßñ漢字 ", k=size // 2)),
    )
    lists: tuple[Callable[[random.Random, int], Any], ...] = (
        words,
        lambda chance, size: [chance.randrange(10**19, 10**20) for _ in range(min(size // 24, 9_000))],
        lambda _, size: [1e300] * min(size // 8, 480),
        lambda _, size: ["v249"] * min(size // 8, 9_000),
        lambda _, size: ["ab" * 1_000] * (size // 2_010),
    )
    numbers: tuple[Callable[[random.Random, int], Any], ...] = (
        lambda _, size: [10**300] * min(size // 302, 480),
        lambda _, size: [1.7e300] * min(size // 8, 480),
        lambda _, size: [0.1] * min(size // 4, 9_000),
    )
    enum = [f"v{number}" for number in range(100)]
    return {
        "plain calls": [Case(constrained(maxLength=10), lambda _, size: "x" * size)],
        "patterns": [Case(constrained(notRegex=regex), made) for regex in _LINEAR for made in texts],
        "patterns with many states": [Case(constrained(notRegex=regex), made) for regex in _COSTLY for made in texts],
        "JSON Schemas": [
            Case([{"type": "parameter_schema", "tools": [TOOL], "schema": schema}], made)
            for schema in _SCHEMAS
            for made in lists
        ],
        "elements of a list": [
            Case(constrained("a[*]", **constraint), made)
            for constraint in (
                {"enum": enum},
                {"notRegex": "(a|b)*a(a|b){30}c"},
                {"min": -(10**400), "max": 10**400},
                {"path": {"under": ["/repo"]}},
                {"host": {"in": ["*.corp.com"]}},
            )
            for made in lists
        ],
        "numbers": [Case(constrained("a[*]", min=0, max=10**30), made) for made in numbers],
        "names that mean several things": [
            Case(constrained(f"a.{_DEEP}", maxLength=3), _nested),
            Case(constrained("a.b.c.d.e", maxLength=3), _nested),
        ],
        "other spellings of names": [
            Case(
                [{"type": "parameter_constraint", "tools": [TOOL], "parameters": {"amount": {"max": 3}}}],
                lambda _, size: {f"\u00c9{number}": 1 for number in range(min(size // 12, 8_000))},
            )
        ],
        "`fromRequest`": [
            Case(constrained("a[*]", fromRequest=how), made, asked)
            for how in ("exact", "text")
            for made in (words, lambda _, size: ["a"] * min(size // 4, 9_000))
            for asked in (lambda _: "a " * (MAX_REQUEST_BYTES // 2), lambda chance: " ".join(words(chance, 30_000)))
        ],
        "the form to which approvals are bound": [
            Case(constrained(maxLength=1), made, None, _canonical)
            for made in (
                *lists,
                *numbers,
                lambda _, size: {f"n{number}": {} for number in range(min(size // 12, 8_000))},
            )
        ],
        "`keepsRequests`": [Case(constrained(maxLength=1), lambda *_: "x", _hostile, _kept) for _ in range(20)],
    }


def _hostile(chance: random.Random) -> str:
    unit = "".join(chance.choices(("password", "=", ":", " ", '"', "'", "\\", "token ", "bearer ", "a"), k=8))
    return ("password " + unit * MAX_REQUEST_BYTES)[: chance.choice((1_900, MAX_REQUEST_BYTES // 2))]


def _nested(_: random.Random, size: int) -> Any:
    """As many ways to split the name as fit, each of which leads on."""
    value: Any = "x"
    parts = _DEEP.split(".")
    for end in range(len(parts) - 1, -1, -1):
        value = {parts[end]: value}
        if len(json.encode(value)) < size // 3 and end:
            value |= {".".join(parts[end : end + 2]): value[parts[end]]}
    return value


def _canonical(_: CompiledAgent, request: AuthorizeRequest) -> object:
    return canonical_call("k", request.agent_id, request.tool_name, request.action, request.body, {})


def _kept(_: CompiledAgent, request: AuthorizeRequest) -> object:
    return with_request(request.recorded_context, request.context or {}, _redactor)


def _decided(agent: CompiledAgent, request: AuthorizeRequest) -> object:
    return decide_at_length(agent, request, 0)


def _worst_of(case: Case, chance: random.Random, number: int) -> Iterable[tuple[bool, float]]:
    agent = _compiled(case.rules)
    for size in _SIZES * number:
        context = {} if case.request is None else {REQUEST: case.request(chance)}
        body = json.encode(
            {"agent_id": _AGENT, "tool_name": TOOL, "parameters": {"a": case.values(chance, size)}, "context": context}
        )
        with suppress(AppError):
            request = read_call(body, Reading(_redactor, "w", _signer))
            is_fast = len(body) <= IN_THE_LOOP_BYTES and agent.is_quick(request) and not takes_long(body, _redactor)
            yield is_fast, min(_timed(partial(case.work or _decided, agent, request)) for _ in range(2))


def _compiled(rules: list[dict[str, Any]]) -> CompiledAgent:
    agent = Agent(id=_AGENT, name="a", description=None, created_ms=0, updated_ms=0, version="v")
    policy = Policy(id="p", agent_id=_AGENT, name="p", rules=rules_of(rules), created_ms=0, updated_ms=0, version=1)
    return compile_agent(agent, [policy], _redactor.is_secret)


def _timed(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1000
