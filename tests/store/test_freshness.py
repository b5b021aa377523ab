"""Whatever one replica has acknowledged binds every decision of the other, even under load."""

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack

import httpx
import pytest
from profiles import examples

from app.model.ids import Ids
from app.redis_client.clients import open_client
from app.store.workspaces import Workspaces
from tests.support import parts

ROUNDS = examples(12, least=4)
CALLERS_PER_REPLICA = 3
FREE = {"type": "tool_allowlist", "tools": ["*"]}
BLOCKED = {"type": "tool_denylist", "tools": ["*"]}


class Deployment:
    """A workspace of its own and two replicas that serve it."""

    def __init__(self, admin_key: str, replicas, stack: AsyncExitStack) -> None:
        self.admin_key = admin_key
        self._replicas = replicas
        self._stack = stack
        self.admins = []

    async def connect(self) -> "Deployment":
        self.admins = [await self.clients_of(replica, self.admin_key) for replica in self._replicas]
        return self

    async def clients_of(self, replica, key):
        return await self._stack.enter_async_context(replica.async_client(key))

    async def callers(self, key):
        """A client of each replica with this key."""
        return [await self.clients_of(replica, key) for replica in self._replicas]

    async def make(self, path, body, *, at=0):
        reply = await self.admins[at].post(path, json=body)
        assert reply.status_code == 201, reply.text
        return reply.json()

    async def agent(self, *policies):
        """The id of a new agent with these lists of rules as policies, and the policies' ids."""
        agent_id = (await self.make("/v1/agents", {"name": "a"}))["id"]
        bodies = [{"agent_id": agent_id, "name": "p", "rules": rules} for rules in policies]
        return agent_id, *[(await self.make("/v1/policies", body))["id"] for body in bodies]


@pytest.fixture
async def deployment(store, replica, other_replica):
    async with AsyncExitStack() as stack:
        client, ids = open_client(store.url, 5_000), Ids()
        stack.push_async_callback(client.close)
        _, admin_key = await Workspaces(client, ids, parts.api_keys(client, ids)).create(ids.new(0))
        yield await Deployment(admin_key, (replica, other_replica), stack).connect()


async def ask(caller, agent_id) -> str:
    """What an authorize call is answered: the result, or the error's code."""
    reply = await caller.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "file.read"})
    answer = reply.json()
    return answer["result"] if reply.status_code == 200 else answer["error"]["code"]


class Witness:
    """Records changes and calls with their times, and finds answers that were out of date."""

    def __init__(self, first: str) -> None:
        self._states: list[tuple[float, float, str]] = [(0.0, 0.0, first)]
        self.answers: list[tuple[float, float, str]] = []

    async def change(self, request, answer: str) -> httpx.Response:
        """Send `request`, after which calls are answered `answer`; return its reply."""
        begun = time.monotonic()
        reply = await request
        assert reply.is_success, reply.text
        self._states.append((begun, time.monotonic(), answer))
        return reply

    async def ask(self, caller, agent_id) -> bool:
        """Ask once: is it answered? If a process gets no core for seconds, nothing is decided."""
        sent = time.monotonic()
        answer = await ask(caller, agent_id)
        if answered := answer != "STORE_UNAVAILABLE":
            self.answers.append((sent, time.monotonic(), answer))
        return answered

    async def ask_each(self, callers, agent_id) -> None:
        """Ask every replica until it answers, so that each has shown whether it knows the last change."""

        async def ask_until_answered(caller):
            while not await self.ask(caller, agent_id):
                pass

        async with asyncio.timeout(120):
            await asyncio.gather(*map(ask_until_answered, callers))

    def outdated(self) -> list[tuple[str, list[str]]]:
        """Answers that fit neither the state last acknowledged before the call nor any change made during it."""
        wrong = []
        for sent, received, answer in self.answers:
            settled = [state for _, acknowledged, state in self._states if acknowledged <= sent][-1]
            moving = [state for begun, acknowledged, state in self._states if acknowledged > sent and begun < received]
            if answer not in {settled, *moving}:
                wrong.append((answer, [settled, *moving]))
        return wrong


async def under_load(witness, callers, agent_id, rounds):
    """`rounds` run while callers of both replicas go on asking; then every answer is held against the changes."""
    over = asyncio.Event()

    async def keep_asking(caller):
        while not over.is_set():
            await witness.ask(caller, agent_id)
            await asyncio.sleep(0.01)  # or the changes would wait for a core

    load = [asyncio.create_task(keep_asking(caller)) for caller in callers for _ in range(CALLERS_PER_REPLICA)]
    try:
        await rounds
    finally:
        over.set()
        await asyncio.gather(*load)
    assert witness.outdated() == []


async def test_an_agent_without_policies_is_denied_everything(deployment):
    """I1: by both replicas."""
    (agent_id,) = await deployment.agent()
    assert [await ask(caller, agent_id) for caller in deployment.admins] == ["denied", "denied"]


async def test_concurrent_calls_over_two_replicas_admit_exactly_the_maximum(deployment):
    """And each of them is in the log once."""
    limit = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 60, "windowSeconds": 3600}}
    agent_id, _ = await deployment.agent([FREE, limit])

    results = await asyncio.gather(*(ask(deployment.admins[n % 2], agent_id) for n in range(200)))

    assert (results.count("allowed"), results.count("denied")) == (60, 140)
    for result, count in (("allowed", 60), ("denied", 140)):
        query = {"agent_id": agent_id, "result": result, "limit": 1000}
        assert len((await deployment.admins[0].get("/v1/audit-logs", params=query)).json()) == count


async def test_of_concurrent_denials_over_two_replicas_a_breaker_counts_exactly_its_maximum(deployment):
    """I18: the other calls find the agent suspended; no other agent is."""
    terms = {"maxDenials": 7, "windowSeconds": 3600, "action": "suspend"}
    breaker = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}
    await deployment.make("/v1/policies", {"name": "no storms", "kind": "guardrail", "rules": [breaker]})
    (agent_id, _), (other_id, _) = await deployment.agent([FREE]), await deployment.agent([BLOCKED])
    policy = {"agent_id": agent_id, "name": "no reads", "rules": [BLOCKED | {"tools": ["file.read"]}]}
    await deployment.make("/v1/policies", policy)
    for _ in range(3):
        await asyncio.gather(*(ask(deployment.admins[n % 2], other_id) for n in range(2)))
        results = await asyncio.gather(*(ask(deployment.admins[n % 2], agent_id) for n in range(60)))
        assert set(results) == {"denied"}
        query = {"agent_id": agent_id, "limit": 60}
        codes = [each["code"] for each in (await deployment.admins[0].get("/v1/audit-logs", params=query)).json()]
        assert codes == ["agent_suspended"] * 53 + ["tool_denied"] * 7
        shown = (await deployment.admins[1].get(f"/v1/agents/{agent_id}")).json()
        assert shown["status"] == "suspended"
        changes = (await deployment.admins[1].get("/v1/changes", params={"actor_id": "breaker"})).json()
        assert changes[0]["tripped"] == shown["tripped"]
        answer = await deployment.admins[0].patch(f"/v1/agents/{agent_id}", json={"status": "active"})
        assert "tripped" not in answer.json()
    assert len(changes) == 3
    assert (await deployment.admins[0].get(f"/v1/agents/{other_id}")).json()["status"] == "active"
    assert (await deployment.admins[0].get("/v1/audit-logs/verify")).json()["intact"] is True


async def test_of_concurrent_calls_over_two_replicas_a_breaker_per_session_stops_exactly_its_own(deployment):
    """I19: in the order of the log, a session's call is stopped from the seventh denial of that session on."""
    terms = {"maxDenials": 7, "windowSeconds": 3600, "action": "deny", "per": ["context.session"]}
    breaker = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}
    agent_id, _ = await deployment.agent([FREE])
    policy = {"agent_id": agent_id, "name": "no storms", "kind": "guardrail", "rules": [breaker]}
    await deployment.make("/v1/policies", policy)
    policy = {"agent_id": agent_id, "name": "no rm", "rules": [{"type": "tool_denylist", "tools": ["rm"]}]}
    await deployment.make("/v1/policies", policy)

    async def ask(n):
        call = {"agent_id": agent_id, "tool_name": ("rm", "file.read")[n // 4 % 2], "context": {"session": f"s{n % 4}"}}
        return (await deployment.admins[n % 2].post("/v1/authorize", json=call)).json()["code"]

    codes = await asyncio.gather(*(ask(n) for n in range(160)))
    query = {"agent_id": agent_id, "limit": 160}
    log = (await deployment.admins[0].get("/v1/audit-logs", params=query)).json()[::-1]
    assert sorted(each["code"] for each in log) == sorted(codes)
    denials, filled = Counter(), 0
    for entry in log:
        session = entry["context"]["session"]
        stopped = "too_many_denials" if denials[session] >= 7 else "allowed"
        assert entry["code"] == ("tool_denied" if entry["toolName"] == "rm" else stopped)
        denials[session] += entry["toolName"] == "rm"
        assert ("trippedBy" in entry) is (entry["toolName"] == "rm" and denials[session] == 7)
        filled += "trippedBy" in entry
    assert (filled, "too_many_denials" in codes) == (4, True)
    assert (await deployment.admins[0].get(f"/v1/agents/{agent_id}")).json()["status"] == "active"
    assert (await deployment.admins[0].get("/v1/audit-logs/verify")).json()["intact"] is True


async def test_edits_of_the_maximum_are_exact_under_concurrent_calls(deployment):
    """Up, down and up again over two replicas: in all, as many calls are admitted as the highest maximum."""

    def rules(max_calls):
        return [
            FREE,
            {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": max_calls, "windowSeconds": 3600}},
        ]

    agent_id, policy_id = await deployment.agent(rules(10))
    admitted = 0
    for turn, (max_calls, in_all) in enumerate([(10, 10), (25, 25), (5, 25), (24, 25), (40, 40)]):
        body = {"rules": rules(max_calls)}
        assert (await deployment.admins[turn % 2].patch(f"/v1/policies/{policy_id}", json=body)).status_code == 200
        calls = (ask(deployment.admins[n % 2], agent_id) for n in range(60))
        admitted += (await asyncio.gather(*calls)).count("allowed")
        assert admitted == in_all


@pytest.mark.parametrize(
    "edits",
    [
        [({"rules": [BLOCKED]}, "denied"), ({"rules": [FREE]}, "allowed")],
        [({"enabled": False}, "denied"), ({"enabled": True}, "allowed")],
        [({"priority": 1}, "denied"), ({"priority": 9}, "allowed")],
    ],
    ids=["rules", "enabled", "priority"],
)
async def test_an_edited_policy_binds_every_later_call(deployment, edits):
    """I8: whichever replica answered the PATCH, and whatever it changed."""
    agent_id, policy_id, beneath = await deployment.agent([FREE], [BLOCKED])
    for each, priority in ((policy_id, 9), (beneath, 5)):
        await deployment.admins[0].patch(f"/v1/policies/{each}", json={"priority": priority})
    witness = Witness("allowed")

    async def rounds():
        for turn in range(ROUNDS):
            for offset, (body, answer) in enumerate(edits):
                admin = deployment.admins[(turn + offset) % 2]
                await witness.change(admin.patch(f"/v1/policies/{policy_id}", json=body), answer)
                await witness.ask_each(deployment.admins, agent_id)

    await under_load(witness, deployment.admins, agent_id, rounds())


async def test_a_revoked_key_gets_no_decision_from_any_replica(deployment):
    """I7: 401 for every call sent after the DELETE was answered, although both replicas had cached the key."""
    agent_id, _ = await deployment.agent([FREE])
    for turn in range(ROUNDS):
        key = await deployment.make("/v1/api-keys", {"name": "k", "scopes": ["read"]}, at=turn % 2)
        callers = await deployment.callers(key["key"])
        witness = Witness("allowed")
        await witness.ask_each(callers, agent_id)
        revoke = deployment.admins[turn % 2].delete(f"/v1/api-keys/{key['id']}")

        async def rounds(witness=witness, revoke=revoke, callers=callers):
            await witness.change(revoke, "UNAUTHORIZED")
            await witness.ask_each(callers, agent_id)

        await under_load(witness, callers, agent_id, rounds())
        for caller in callers:
            for path in ("/v1/agents", "/v1/policies", "/v1/audit-logs"):
                assert (await caller.get(path)).status_code == 401


@pytest.mark.parametrize("owner", [{"group": "crew"}, {}], ids=["group", "workspace"])
async def test_policies_of_a_group_and_of_the_workspace_bind_every_later_call(deployment, owner):
    """I8: a guardrail that comes, changes and goes, while both replicas answer without pause."""
    (agent_id,) = await deployment.agent()
    await deployment.admins[0].patch(f"/v1/agents/{agent_id}", json={"groups": ["crew", "night"]})
    await deployment.make("/v1/policies", {"agent_id": agent_id, "name": "free", "rules": [FREE]})
    witness = Witness("allowed")
    guardrail = {"kind": "guardrail", "name": "g", "rules": [BLOCKED]} | owner

    async def change(request, answer):
        made = await witness.change(request, answer)
        await witness.ask_each(deployment.admins, agent_id)
        return made.json() if made.content else None

    async def rounds():
        for turn in range(ROUNDS // 2):
            admin, other = deployment.admins[turn % 2], deployment.admins[(turn + 1) % 2]
            made = await change(admin.post("/v1/policies", json=guardrail), "denied")
            path = f"/v1/policies/{made['id']}"
            await change(other.patch(path, json={"enabled": False}), "allowed")
            await change(admin.patch(path, json={"enabled": True}), "denied")
            await change(other.delete(path), "allowed")

    await under_load(witness, deployment.admins, agent_id, rounds())


async def test_a_sequence_holds_every_agent_to_it_from_the_moment_it_is_written(deployment):
    """Whichever agent reads mail, and whichever replica decided that."""
    payer, _ = await deployment.agent([FREE])
    for number in range(ROUNDS):
        reader, _ = await deployment.agent([FREE])
        key = (await deployment.make("/v1/api-keys", {"name": "k", "scopes": ["read"]}))["key"]
        first, second = await deployment.callers(key)

        async def ask(client, agent_id, tool, session):
            body = {"agent_id": agent_id, "tool_name": tool, "context": {"session": session}}
            return (await client.post("/v1/authorize", json=body)).json()["result"]

        session = f"s{number}"
        assert await ask(second, reader, f"mail{number}", session) == "allowed"  # second holds the reader compiled
        after = {"type": "sequence", "tools": ["pay"], "sequence": {"forbiddenAfter": [f"mail{number}"]}}
        guardrail = {"agent_id": payer, "kind": "guardrail", "name": "g", "rules": [after]}
        policy = await deployment.make("/v1/policies", guardrail, at=number % 2)

        assert await ask(first, payer, "pay", session) == "allowed"
        assert await ask(second, reader, f"mail{number}", session) == "allowed"
        assert await ask(first, payer, "pay", session) == "denied"
        assert await ask(second, payer, "pay", f"{session} of another") == "allowed"
        await deployment.admins[number % 2].delete(f"/v1/policies/{policy['id']}")
        assert await ask(second, payer, "pay", session) == "allowed"


async def test_of_concurrent_calls_one_uses_up_what_came_before(deployment):
    """With `once`, however many ask on two replicas at the same time."""
    once = {"type": "sequence", "tools": ["pay"], "sequence": {"requiresBefore": ["check"], "once": True}}
    agent_id, _ = await deployment.agent([FREE, once])
    key = (await deployment.make("/v1/api-keys", {"name": "k", "scopes": ["read"]}))["key"]
    callers = await deployment.callers(key)
    check, pay = ({"agent_id": agent_id, "tool_name": tool, "context": {"session": "s"}} for tool in ("check", "pay"))

    for _ in range(ROUNDS):
        assert (await callers[0].post("/v1/authorize", json=check)).json()["result"] == "allowed"
        answers = await asyncio.gather(*(callers[n % 2].post("/v1/authorize", json=pay) for n in range(16)))
        assert sorted(each.json()["result"] for each in answers) == ["allowed", *["denied"] * 15]


async def test_of_concurrent_calls_one_passes_a_sequence_that_forbids_itself(deployment):
    """Once per session, however many ask on two replicas at the same time."""
    once = {"type": "sequence", "tools": ["pay"], "sequence": {"forbiddenAfter": ["pay"]}}
    agent_id, _ = await deployment.agent([FREE, once])
    key = (await deployment.make("/v1/api-keys", {"name": "k", "scopes": ["read"]}))["key"]
    callers = await deployment.callers(key)

    for session in range(ROUNDS):
        body = {"agent_id": agent_id, "tool_name": "pay", "context": {"session": f"s{session}"}}
        answers = await asyncio.gather(*(callers[n % 2].post("/v1/authorize", json=body) for n in range(16)))
        assert sorted(each.json()["result"] for each in answers) == ["allowed", *["denied"] * 15]
