"""Limits per value, budgets, sessions and refunds, on three replicas of which one is killed repeatedly."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from proxy import Fault, Proxy
from servers import HASTY, Replica
from tenants import FREE
from topologies import until

HOUR = 3600
CALLERS, CALLS = 9, 60
USERS, SESSIONS = ["ann", "bob", "cid"], [f"s{number}" for number in range(6)]
LAST = "last"
TOOLS = ["mail", "pay", "close", "pay", "look"]


def per_user(most, **fields):
    limit = {"maxCalls": most, "windowSeconds": HOUR, "per": ["parameters.user"], **fields}
    return {"type": "rate_limit", "tools": ["pay"], "rateLimit": limit}


def budget(most, **fields):
    of = {"parameter": "amount", "max": most, "windowSeconds": HOUR, **fields}
    return {"type": "budget", "tools": ["look"], "budget": of}


AFTER = {"type": "sequence", "tools": ["pay"], "sequence": {"forbiddenAfter": ["mail"]}}
BEFORE = {"type": "sequence", "tools": ["close"], "sequence": {"requiresBefore": ["pay"], "withinSeconds": HOUR}}


class Callers:
    """Threads that ask replicas in turn; lost answers count as answers."""

    def __init__(self, tenant, replicas, agent_id) -> None:
        self.agent_id = agent_id
        self.clients = [replica.client(tenant.read_key) for replica in replicas]
        self.allowed: list[str] = []

    def stop(self):
        for client in self.clients:
            client.close()

    def ask(self, number, tool, **fields):
        """The answer of one replica; None if there was none."""
        body = {"agent_id": self.agent_id, "tool_name": tool, **fields}
        return self.post(number, "/v1/authorize", body)

    def post(self, number, path, body):
        try:
            answer = self.clients[number % len(self.clients)].post(path, json=body)
        except httpx.HTTPError:
            return None
        told = answer.json() if answer.status_code == 200 else None
        if told and told.get("allowed"):
            self.allowed.append(told["id"])
        return told

    def is_stopped(self, tool, **fields):
        """Is the call denied by the first replica? A call without an answer is not."""
        told = self.ask(0, tool, **fields)
        return told and told["result"] == "denied"

    def history(self, caller):
        """A caller's calls: users, sessions and tools in an order of its own."""
        for number in range(caller, caller + CALLS):
            session, user = SESSIONS[number * 7 % len(SESSIONS)], USERS[number * 5 % len(USERS)]
            tool = TOOLS[(number * 3 + caller) % len(TOOLS)]
            self.ask(number, tool, parameters={"user": user, "amount": 1.25}, context={"session": session})


@pytest.fixture
def three(replicas, store, own):
    """Replicas, of which the last may be killed."""
    return [*replicas, own(Replica(store.url))]


def log(tenant, **filters):
    """Everything that matches, oldest first."""
    found = tenant.log(limit=1000, **filters)
    assert len(found) < 1000
    return found[::-1]


def test_limits_and_sessions_hold_while_replicas_die_and_rules_change(tenant, three, own):
    """Checked against the log, which has every allowed call in order, answered or not."""
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, FREE)
    policy = tenant.new_policy(agent_id, per_user(3), budget(20), AFTER, BEFORE, kind="guardrail")
    path, callers = f"/v1/policies/{policy['id']}", own(Callers(tenant, three, agent_id))
    with ThreadPoolExecutor(CALLERS) as pool:
        work = [pool.submit(callers.history, caller) for caller in range(CALLERS)]
        for most in (5, 4, 3):
            rules = [AFTER, budget(20), per_user(most), {"type": "tool_denylist", "tools": ["never"]}, BEFORE]
            assert tenant.admin.patch(path, json={"rules": rules, "name": f"at most {most}"}).status_code == 200
            three[2].kill()
            for status in ("suspended", "active"):
                assert tenant.admin.patch(f"/v1/agents/{agent_id}", json={"status": status}).status_code == 200
            three[2].start()
        for each in work:
            each.result()
    rest = {"parameters": {"user": "ann", "amount": 1.25}, "context": {"session": LAST}}
    # However many calls came while the agent was suspended.
    until(lambda: callers.is_stopped("look", **rest), "the budget is spent")

    entries = log(tenant, agent_id=agent_id, result="allowed")
    assert set(callers.allowed) <= {entry["id"] for entry in entries}
    paid = Counter(entry["parameters"]["user"] for entry in entries if entry["toolName"] == "pay")
    assert max(paid.values()) <= 5
    assert sum(entry["parameters"]["amount"] for entry in entries if entry["toolName"] == "look") == 20
    seen: dict[str, set[str]] = {session: set() for session in (*SESSIONS, LAST)}
    for entry in entries:
        before, tool = seen[entry["context"]["session"]], entry["toolName"]
        assert not (tool == "pay" and "mail" in before)
        assert not (tool == "close" and "pay" not in before)
        before.add(tool)
    assert {"mail", "pay", "look"} <= {entry["toolName"] for entry in entries}


def test_a_call_not_executed_is_refunded_once_however_many_reports_are_lost(store, own, tenant, three):
    """The same calls are reported from everywhere, while replies are lost and a replica dies; no limit is exceeded."""
    most = 30
    agent_id = tenant.new_agent()["id"]
    limits = [per_user(most, refundable=True) | {"tools": ["*"]}, budget(most, refundable=True) | {"tools": ["*"]}]
    tenant.new_policy(agent_id, *limits)
    proxy = own(Proxy(store.port).start())
    everywhere = [*three, own(Replica(proxy.url, **HASTY))]
    callers, call = own(Callers(tenant, everywhere, agent_id)), {"parameters": {"user": "ann", "amount": 1}}
    made = [told for _ in range(most) if (told := callers.ask(0, "pay", **call))]
    assert {each["result"] for each in made} == {"allowed"}
    given_back, stop = [each["id"] for each in made[:20]], threading.Event()

    def report(place):
        for number, decision_id in enumerate(given_back[place:] + given_back[:place]):
            callers.post(place + number, f"/v1/decisions/{decision_id}/outcome", {"status": "not_executed"})

    def ask(place):
        number = 0
        while not stop.is_set():
            callers.ask(place + number, "pay", **call)
            number += 1
            stop.wait(0.005)

    with ThreadPoolExecutor(10) as pool:
        asking = [pool.submit(ask, place) for place in range(2)]
        work = [pool.submit(report, place) for place in range(8)]
        try:
            for fault in (Fault.LOSE, Fault.CUT_MID_REPLY, Fault.CUT):
                proxy.break_(fault)
                three[2].kill()
                proxy.heal()
                three[2].start()
            for each in work:
                each.result()
        finally:
            stop.set()
        for each in asking:
            each.result()

    for decision_id in given_back:
        path = f"/v1/decisions/{decision_id}/outcome"
        told = until(lambda path=path: callers.post(0, path, {"status": "not_executed"}), "the report is answered")
        assert told["refunded"] == 2
    until(lambda: callers.is_stopped("pay", **call), "the limits are reached")
    reports = Counter(entry["decisionId"] for entry in log(tenant, agent_id=agent_id, action="outcome"))
    assert reports == Counter(given_back)
    allowed = log(tenant, agent_id=agent_id, result="allowed")
    assert len(allowed) - len(given_back) == most
