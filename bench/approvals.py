"""What does it cost to ask a person, to use an approval, and to wait for one?"""

import asyncio
import socket
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import TypeVar

import msgspec
import uvloop
from msgspec import Struct

from app.model.actors import COMMAND_LINE, Actor, ActorKind, ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.approvals import ApprovalQuery, ApprovalStatus
from app.model.decisions import AuthorizeRequest, Decision, Result
from app.replica import Services, open_alone
from app.runtime.clock import monotonic_us
from app.settings import Settings
from app.store.keyspace import Keyspace
from bench.harness.bench import Bench
from bench.harness.population import PolicySketch, add_agent
from bench.harness.processes import Replica, Store
from bench.harness.table import Goal, Row, Sample, Table

SECRET = "0123456789abcdef0123456789abcdef"
CALLS, AT_ONCE, PAGES = 1_000, 25, 20
PENDING, WAITING, IDLE_S = 10_000, 100, 3.0
TOOL = "refund.create"
DENIED, ASKED, ATTACHED, USED = "denied", "escalated, asks a person", "escalated, asked already", "allowed by a yes"
FREE, KNOWN = "allowed by its policy", "allowed by its policy, a value approved before"
PAGE, MEMORY, WAIT = "a page of 100 of 10,000 pending", "one pending approval", "100 that wait for a decision"


Made = TypeVar("Made")


class Scene(Struct):
    """A workspace with an agent that is denied, one whose calls need a person, and two that are allowed.

    known_id: of the one whose calls are asked about unless a value was approved before.
    """

    workspace_id: str
    caller: Caller
    person_id: str
    denied_id: str
    asked_id: str
    free_id: str
    known_id: str


def measure(bench: Bench) -> list[Table]:
    """Calls from one process, several at once; only the store's CPU time is compared."""
    rows = [Row(label=label) for label in (DENIED, ASKED, ATTACHED, USED, FREE, KNOWN)]
    further = [Row(label=label) for label in (PAGE, MEMORY, WAIT)]
    with bench.running_store("approvals") as store:
        for _ in range(bench.rounds):
            for row, sample in zip(rows, uvloop.run(with_services(store, _decide(store))), strict=True):
                row.samples.append(sample)
        page, memory = uvloop.run(with_services(store, _look(store)))
        further[0].samples.append(page)
        further[1].samples.append(memory)
        with bench.replica(store, REMIT_SECRET=SECRET) as replica:
            further[2].samples.append(_wait(store, replica))
    ratio = rows[1].ratio("store CPU us", rows[0])
    looked_up = statistics.median(
        known["store CPU us"] - free["store CPU us"]
        for free, known in zip(rows[4].samples, rows[5].samples, strict=True)
    )
    cost = Table(
        name="approvals",
        question="what does it cost the store to ask a person, and to use their approval?",
        command=bench.command,
        columns={"store CPU us": ".1f", "ms each": ".3f"},
        rows=rows,
        baseline=DENIED,
        compared="store CPU us",
        goals=[
            Goal(wanted="store time of an escalation, in denials", bound=2, at_least=False, measured=ratio),
            Goal(
                wanted="us of the store to look up a value approved before", bound=5, at_least=False, measured=looked_up
            ),
        ],
        left_out=[f"Not measured: an append-only file. {AT_ONCE} different calls were in progress at a time."],
    )
    waiting = Table(
        name="approvals_waiting",
        question="what do approvals cost while they wait?",
        command=bench.command,
        columns={"p50 ms": ".2f", "bytes": ",.0f", "service ms a second": ".2f"},
        rows=further,
        baseline=PAGE,
        compared="p50 ms",
        goals=[
            Goal(wanted=f"{PAGE}, ms", bound=10, at_least=False, measured=further[0].median("p50 ms")),
            Goal(
                wanted=f"{WAIT}: service ms a second more than with none",
                bound=1,
                at_least=False,
                measured=further[2].median("service ms a second"),
                needs_quiet=False,
            ),
        ],
        left_out=[
            "`bytes` is the store's memory for one approval, including its places in the lists but not its audit entry."
        ],
    )
    return [cost, waiting]


async def with_services(store: Store, act: Callable[[Services, Scene], Awaitable[Made]]) -> Made:
    """The result of `act` in a new workspace."""
    many = 10 * PENDING
    settings = Settings(
        redis_url=store.url, secret=SECRET, approvals_per_agent_max=many, approvals_max=many, store_timeout_ms=10_000
    )
    async with open_alone(settings) as services:
        workspace_id, _ = await services.records.workspaces.create(f"approvals {time.monotonic_ns()}")
        key, _ = await services.records.api_keys.create(workspace_id, "pep", (Scope.READ,), by=ChangedBy(COMMAND_LINE))
        person, _ = await services.records.api_keys.create(
            workspace_id, "ann", (Scope.ADMIN,), by=ChangedBy(COMMAND_LINE)
        )
        rule = {"tools": [TOOL], "type": "approval_required", "approval": {"expiresSeconds": 604_800, "maxUses": 1000}}
        allowing = {"type": "tool_allowlist", "tools": ["*"]}
        denied_id, _ = await add_agent(services, workspace_id, [PolicySketch([{**allowing, "type": "tool_denylist"}])])
        asked_id, _ = await add_agent(services, workspace_id, [PolicySketch([allowing, rule])])
        free_id, _ = await add_agent(services, workspace_id, [PolicySketch([allowing])])
        before = {"currency": {"approvedBefore": {"withinSeconds": 2_592_000}}}
        known = {"tools": [TOOL], "type": "parameter_constraint", "effect": "escalate", "parameters": before}
        known_id, _ = await add_agent(services, workspace_id, [PolicySketch([allowing, known])])
        caller = Caller(workspace_id, key.id, frozenset({Scope.READ}))
        return await act(services, Scene(workspace_id, caller, person.id, denied_id, asked_id, free_id, known_id))


async def ask(services: Services, scene: Scene, agent_id: str, number: int) -> Decision:
    """The decision on the call with this number."""
    parameters = {"order": f"A-{number}", "amount": 900, "currency": "EUR"}
    recorded = msgspec.json.encode(parameters)
    body = msgspec.json.encode({"agent_id": agent_id, "tool_name": TOOL, "parameters": parameters})
    request = AuthorizeRequest(agent_id, TOOL, "authorize", parameters, recorded, size=len(body), written=body)
    return await services.decisions.authorizer.authorize(scene.caller, request, monotonic_us())


async def _asked(services: Services, scene: Scene, number: int, agent_id: str = "") -> str:
    """The id of the call's approval."""
    decision = await ask(services, scene, agent_id or scene.asked_id, number)
    if decision.approval is None:
        raise RuntimeError("the call was not escalated")
    return decision.approval.id


async def _approve(services: Services, scene: Scene, approval_id: str) -> None:
    by = Actor(scene.person_id, "ann", ActorKind.KEY)
    await services.records.approvals.decide(scene.workspace_id, approval_id, ApprovalStatus.APPROVED, by=by)


async def remember(services: Services, scene: Scene) -> None:
    """A person approves a call of the agent that remembers values, and it is made, so its currency is remembered."""
    await _approve(services, scene, await _asked(services, scene, -1, scene.known_id))
    await ask(services, scene, scene.known_id, -1)


def _decide(store: Store) -> Callable[[Services, Scene], Awaitable[list[Sample]]]:
    async def act(services: Services, scene: Scene) -> list[Sample]:
        async def timed(agent_id: str, number: Callable[[int], int]) -> Sample:
            await ask(services, scene, agent_id, number(-1))
            spent_us, times = store.cpu_us(), []
            for start in range(0, CALLS, AT_ONCE):
                began = time.perf_counter()
                some = [number(each) for each in range(start, start + AT_ONCE)]
                await asyncio.gather(*(ask(services, scene, agent_id, each) for each in some))
                times.append((time.perf_counter() - began) / AT_ONCE)
            spent = (store.cpu_us() - spent_us) / CALLS
            return {"store CPU us": spent, "ms each": statistics.median(times) * 1000}

        samples = [await timed(scene.denied_id, lambda each: each), await timed(scene.asked_id, lambda each: each)]
        samples.append(await timed(scene.asked_id, lambda each: each % AT_ONCE))
        for number in range(-1, AT_ONCE):
            await _approve(services, scene, await _asked(services, scene, number))
        samples.append(await timed(scene.asked_id, lambda each: each % AT_ONCE))
        await remember(services, scene)
        for agent_id in (scene.free_id, scene.known_id):
            if (await ask(services, scene, agent_id, -2)).outcome.result is not Result.ALLOWED:
                raise RuntimeError("the call was not allowed")
            samples.append(await timed(agent_id, lambda each: each))
        return samples

    return act


def _look(store: Store) -> Callable[[Services, Scene], Awaitable[list[Sample]]]:
    async def act(services: Services, scene: Scene) -> list[Sample]:
        stream = Keyspace(scene.workspace_id).audit_stream
        before = int(store.info("memory")["used_memory"])
        for start in range(0, PENDING, 50):
            await asyncio.gather(*(ask(services, scene, scene.asked_id, number) for number in range(start, start + 50)))
        await services.client.call("DEL", stream)
        held = int(store.info("memory")["used_memory"]) - before
        times = []
        for _ in range(PAGES):
            began = time.perf_counter()
            found, _ = await services.records.approvals.page(
                scene.workspace_id, ApprovalQuery(status=(ApprovalStatus.PENDING,))
            )
            times.append(time.perf_counter() - began)
            if len(found) != ApprovalQuery().limit:
                raise RuntimeError("the page is not full")
        return [{"p50 ms": statistics.median(times) * 1000}, {"bytes": held / PENDING}]

    return act


def _wait(store: Store, replica: Replica) -> Sample:
    """The replica's CPU time for waiting requests, beyond what it spends without them."""

    async def asked(services: Services, scene: Scene) -> tuple[str, str]:
        _, raw_key = await services.records.api_keys.create(
            scene.workspace_id, "waits", (Scope.READ,), by=ChangedBy(COMMAND_LINE)
        )
        return f"/v1/approvals/{await _asked(services, scene, 0)}?wait=60", raw_key

    path, raw_key = uvloop.run(with_services(store, asked))
    request = f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {raw_key}\r\n\r\n".encode()
    idle = _spent_ms(replica)
    with ExitStack() as waiting:
        for _ in range(WAITING):
            waiting.enter_context(socket.create_connection(("127.0.0.1", replica.port))).sendall(request)
        time.sleep(1)
        return {"service ms a second": _spent_ms(replica) - idle}


def _spent_ms(replica: Replica) -> float:
    spent_us = replica.cpu_us()
    time.sleep(IDLE_S)
    return (replica.cpu_us() - spent_us) / 1000 / IDLE_S
