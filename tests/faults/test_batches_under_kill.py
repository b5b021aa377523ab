"""Batches on three replicas, of which one is killed repeatedly while the agent's policies change."""

import itertools
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from servers import Replica

PATH = "/v1/authorize/batch"
MOST, SIZE, BATCHES, CALLERS = 300, 7, 25, 6
KINDS = ("execute_all", "all_or_nothing")
LIMIT = {"type": "rate_limit", "tools": ["pay"], "rateLimit": {"maxCalls": MOST, "windowSeconds": 3600}}


@pytest.fixture
def three(replicas, store, own):
    """Replicas, of which the last may be killed."""
    return [*replicas, own(Replica(store.url))]


class Callers:
    """Ask with batches of both kinds, each caller through every replica in turn. answers: the decisions received."""

    def __init__(self, tenant, replicas, agent):
        self.answers = []
        self._tenant, self._replicas, self._agent = tenant, replicas, agent

    def ask(self, caller):
        clients = [replica.client(self._tenant.read_key) for replica in self._replicas]
        for number in range(BATCHES):
            self._send(clients[(number + caller) % 3], f"{KINDS[(number + caller) % 2]} {caller} {number}")
        for client in clients:
            client.close()

    def _send(self, client, name):
        calls = [{"agent_id": self._agent, "tool_name": "pay", "parameters": {"batch": name}}] * SIZE
        try:
            answer = client.post(PATH, json={"calls": calls, "semantics": name.split()[0]})
        except httpx.HTTPError:
            return
        if answer.status_code == 200:
            self.answers += [each["decision"] for each in answer.json()["results"]]
        else:
            assert answer.status_code == 503, answer.text


def test_limits_stay_exact_and_plans_whole_while_a_replica_is_killed(tenant, three):
    """No call too many is allowed, whatever is cut off; of a plan all calls are allowed or none, answered or not; and
    every answer is what the log has.
    """
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, LIMIT)
    other = tenant.new_policy(agent, {"type": "tool_denylist", "tools": ["never"]})["id"]
    callers, over = Callers(tenant, three, agent), threading.Event()

    def edit():
        for number in itertools.takewhile(lambda _: not over.is_set(), itertools.count()):
            assert tenant.admin.patch(f"/v1/policies/{other}", json={"name": f"edit {number}"}).status_code == 200

    with ThreadPoolExecutor(CALLERS + 1) as threads:
        editing = threads.submit(edit)
        asking = [threads.submit(callers.ask, caller) for caller in range(CALLERS)]
        try:
            for _ in range(3):
                three[-1].kill()
                three[-1].start()
            for each in asking:
                each.result()
        finally:
            over.set()
        editing.result()

    log = {each["id"]: each for each in entries(tenant, agent)}
    taken = Counter(each["result"] for each in log.values())["allowed"]
    assert taken <= MOST
    assert all(log[each["id"]]["result"] == each["result"] for each in callers.answers)
    plans = defaultdict(list)
    for each in log.values():
        plans[each["parameters"]["batch"]].append(each["result"])
    whole = [results for name, results in plans.items() if name.startswith("all_or_nothing")]
    assert {len(set(results)) for results in whole} == {1}
    assert all(len(results) == SIZE for results in whole if "allowed" in results)
    # What is left can be taken: nothing was taken without an entry.
    results = [tenant.authorize(agent, "pay")["result"] for _ in range(min(MOST - taken, 3))]
    assert results == ["allowed"] * len(results)


def entries(tenant, agent):
    """Every entry of the agent."""
    found, cursor = [], {}
    while True:
        answer = tenant.reader.get("/v1/audit-logs", params={"agent_id": agent, "limit": 1000, **cursor})
        found += answer.json()
        if "X-Next-Cursor" not in answer.headers:
            return found
        cursor = {"cursor": answer.headers["X-Next-Cursor"]}
