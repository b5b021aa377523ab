"""Whatever way a decision is asked for, and whatever is lost meanwhile: what callers saw is what the log has."""

import random
import uuid

import pytest
from proxy import Fault
from servers import HASTY, Replica, is_ready, until

PEOPLE = "0123456789abcdef0123456789abcdef"
SEMANTICS = ["execute_all", "deny_on_first_deny", "permit_on_first_permit", "all_or_nothing"]
LOSSES = [Fault.CUT, Fault.CUT_MID_REPLY, Fault.REFUSE]
LIMIT = {"type": "rate_limit", "tools": ["pay"], "rateLimit": {"maxCalls": 40, "windowSeconds": 3600}}
TOOLS = ["read", "pay", "pay", "rm", "ask"]
"""Free; limited, so that the commit itself refuses it in the end; denied; and asking a person."""


class Asker:
    """Asks through a replica whose connection to the store is broken while it decides. seen: ids of decisions."""

    def __init__(self, tenant, proxy, replica, agent, chosen):
        self.tenant, self.proxy, self.agent, self.chosen = tenant, proxy, agent, chosen
        self.seen, self.refused = set(), 0
        self.client = replica.client(tenant.read_key)

    def call(self, tool=None):
        body = {"agent_id": self.agent, "tool_name": tool or self.chosen.choice(TOOLS)}
        return {**body, "parameters": {"mark": uuid.uuid4().hex}}

    def evaluation(self):
        call = self.call()
        return {
            "subject": {"type": "agent", "id": self.agent},
            "action": {"name": "call"},
            "resource": {"type": "tool", "id": call["tool_name"], "properties": call["parameters"]},
        }

    def send(self, path, body, mark, **headers):
        """The answer, or None if there is no decision. Meanwhile, what carries the mark is lost on its way."""
        self.proxy.break_(self.chosen.choices([Fault.NONE, *LOSSES], [3, 2, 2, 1])[0], mark)
        try:
            answer = self.client.post(path, json=body, headers=headers)
        finally:
            self.proxy.heal()
        if answer.status_code == 503:
            self.refused += 1
            assert "results" not in answer.text
            return None
        assert answer.status_code in (200, 403), answer.text
        return answer

    def until_answered(self, path, body, mark):
        """The answer to a request that is repeated with its Idempotency-Key."""
        key = uuid.uuid4().hex
        while (answer := self.send(path, body, mark, **{"Idempotency-Key": key})) is None:
            self.until_connected()
        return answer.json()

    def until_connected(self):
        """Wait for the replica's connection: to ask without pause would take all of a core."""
        until(lambda: is_ready(str(self.client.base_url)), "the replica has a connection again")

    def batch(self, number, semantics):
        calls = [self.call() for _ in range(number)]
        mark = self.chosen.choice(calls)["parameters"]["mark"]
        results = self.until_answered("/v1/authorize/batch", {"calls": calls, "semantics": semantics}, mark)["results"]
        self.seen |= {each["decision"]["id"] for each in results}
        assert len({each["decision"]["id"] for each in results}) == len(results)

    def single(self):
        call = self.call()
        self.seen.add(self.until_answered("/v1/authorize", call, call["parameters"]["mark"])["id"])

    def authzen(self):
        """One evaluation, and several."""
        one = self.evaluation()
        mark = one["resource"]["properties"]["mark"]
        answers = [self.until_answered("/access/v1/evaluation", one, mark)]
        body = {"evaluations": [one, self.evaluation()]}
        answers += self.until_answered("/access/v1/evaluations", body, mark)["evaluations"]
        self.seen |= {each["context"]["evaluation_id"] for each in answers}

    def logged(self):
        """The ids of all entries of the agent."""
        found, page = [], {}
        while True:
            answer = self.tenant.reader.get("/v1/audit-logs", params={"agent_id": self.agent, "limit": 1000, **page})
            found += [each["id"] for each in answer.json()]
            if "X-Next-Cursor" not in answer.headers:
                assert len(found) == len(set(found))
                return set(found)
            page = {"cursor": answer.headers["X-Next-Cursor"]}


@pytest.fixture
def replica_that_asks(proxy, own):
    """A replica behind the proxy that can ask people."""
    return own(Replica(proxy.url, **HASTY, REMIT_SECRET=PEOPLE, REMIT_COMPACT="false"))


@pytest.fixture
def asker(tenant, proxy, replica_that_asks):
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, {"type": "tool_allowlist", "tools": ["read", "pay"]}, LIMIT)
    tenant.new_policy(agent, {"type": "approval_required", "tools": ["ask"]}, priority=9)
    made = Asker(tenant, proxy, replica_that_asks, agent, random.Random(20261129))
    yield made
    made.client.close()


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_repeated_batches_are_decided_once_whatever_was_lost(asker, semantics):
    """Of one to a hundred calls, allowed, limited, denied and escalated; the callers saw exactly what is in the log."""
    for number in (1, 1, 2, 3, 7, 49, 100, 1, 2, 5):
        asker.batch(number, semantics)
    assert asker.logged() == asker.seen
    assert asker.refused > 0


def test_single_calls_and_evaluations_are_decided_once_whatever_was_lost(asker):
    """Each with its Idempotency-Key."""
    for _ in range(15):
        asker.single()
        asker.authzen()
    assert asker.logged() == asker.seen
    assert asker.refused > 0


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.CUT, Fault.HOLD], ids=lambda fault: fault.name.lower())
@pytest.mark.parametrize("semantics", SEMANTICS)
def test_a_batch_whose_store_is_away_is_503_as_a_whole(asker, semantics, fault):
    """Whether its policies are known already or not, and whatever they say."""
    calls = [asker.call(tool) for tool in ("read", "rm")]
    for agents in ([asker.agent], [asker.agent, asker.tenant.new_agent()["id"], "unknown"]):
        asker.proxy.break_(fault)
        body = {"calls": [{**each, "agent_id": agent} for agent in agents for each in calls], "semantics": semantics}
        answer = asker.client.post("/v1/authorize/batch", json=body)
        asker.proxy.heal()
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE")
        while asker.client.post("/v1/authorize", json=calls[0]).status_code == 503:
            asker.until_connected()


def test_doors_that_are_not_repeated_answer_what_is_in_the_log(asker):
    """Single calls, the hook and gateways: every answer has its entry, and every other entry is of an answer lost."""
    agent = {"X-Remit-Agent": asker.agent}
    for _ in range(12):
        call = asker.call()
        mark = call["parameters"]["mark"]
        hook = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": call["tool_name"]}
        answers = [
            asker.send("/v1/authorize", call, mark),
            asker.send("/v1/hooks/claude-code", {**hook, "tool_input": call["parameters"]}, mark, **agent),
            asker.send(f"/access/v1/ext-authz/read/{mark}", {}, mark, **agent),
        ]
        for answer in answers:
            if answer is not None and "has not decided" in answer.text:
                asker.refused += 1
            elif answer is not None:
                asker.seen.add(answer.headers["X-Request-ID"])
    entries = asker.logged()
    assert asker.seen <= entries
    assert asker.refused > 0
    assert len(entries - asker.seen) <= asker.refused
