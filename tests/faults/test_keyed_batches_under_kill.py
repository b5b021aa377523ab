"""Batches with an Idempotency-Key, whose lanes are killed around the commit, and whose replies are lost."""

import contextlib
import os
import random
import signal
import threading
import uuid

import httpx
import pytest
from proxy import Fault
from servers import HASTY, Replica
from serving import REPLICA, children_of, is_running
from topologies import until

SEMANTICS = ["execute_all", "deny_on_first_deny", "permit_on_first_permit", "all_or_nothing"]
MOST = 20
LIMIT = {"type": "rate_limit", "tools": ["pay"], "rateLimit": {"maxCalls": MOST, "windowSeconds": 3600}}
TOOLS = ["read", "pay", "pay", "rm"]
RAN = [Fault.HOLD, Fault.LOSE]
"""The lanes are killed once the commit has run, and nobody has heard of it."""
SIZES = [40, 7, 2, 3]


@pytest.fixture
def replica(proxy, own):
    return own(Replica(proxy.url, **HASTY, REMIT_COMPACT="false"))


@pytest.fixture
def agent(tenant):
    made = tenant.new_agent()["id"]
    tenant.new_policy(made, {"type": "tool_allowlist", "tools": ["read", "pay"]}, LIMIT)
    return made


def kill_lanes(replica):
    """Both of its only worker, so that whichever decides is gone, with its connections."""
    [worker] = [pid for pid, command in children_of(replica.process.pid).items() if REPLICA in command]
    lanes = [*children_of(worker)]
    for lane in lanes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(lane, signal.SIGKILL)
    until(lambda: not any(map(is_running, lanes)), "the lanes are gone")


class Asking:
    """Sends a batch with its key in a thread, again and again, until it is answered."""

    def __init__(self, client, body):
        self.results = None
        self._client, self._body, self._headers = client, body, {"Idempotency-Key": uuid.uuid4().hex}
        self._thread = threading.Thread(target=self.ask)
        self._thread.start()

    def ask(self):
        while self.results is None:
            with contextlib.suppress(httpx.HTTPError):
                answer = self._client.post("/v1/authorize/batch", json=self._body, headers=self._headers)
                assert answer.status_code in (200, 503), answer.text
                self.results = answer.json().get("results")

    def again(self):
        """The results of sending it once more."""
        self._thread.join()
        first, self.results = self.results, None
        self.ask()
        assert self.results == first
        return first


@pytest.mark.parametrize("fault", [*RAN, Fault.BLACK_HOLE], ids=lambda fault: fault.name.lower())
def test_a_keyed_batch_is_decided_once_though_its_lane_is_killed(tenant, proxy, replica, agent, fault):
    """Repeated until it is answered, it has the entries of its answer and no others, and took each limit once; also if
    what the killed lane asked of the store never reached it.
    """
    chosen, seen = random.Random(20261130), {}
    with replica.client(tenant.read_key) as client:
        for number, semantics in zip(SIZES, SEMANTICS, strict=True):
            marks = [uuid.uuid4().hex for _ in range(number)]
            calls = [
                {"agent_id": agent, "tool_name": chosen.choice(TOOLS), "parameters": {"mark": each}} for each in marks
            ]
            proxy.break_(fault, marks[0])  # which is decided in any case
            asking = Asking(client, {"calls": calls, "semantics": semantics})
            assert proxy.struck.wait(60)
            kill_lanes(replica)
            assert (len(tenant.log(agent_id=agent, limit=1000)) > len(seen)) is (fault in RAN)
            proxy.heal()
            decisions = [each["decision"] for each in asking.again()]
            assert len({each["id"] for each in decisions}) == len(decisions)
            seen |= {each["id"]: each["result"] for each in decisions}
    log = tenant.log(agent_id=agent, limit=1000)
    assert {each["id"]: each["result"] for each in log} == seen
    assert len(log) == len(seen)
    taken = sum(each["toolName"] == "pay" and each["result"] == "allowed" for each in log)
    left = [tenant.authorize(agent, "pay")["result"] for _ in range(MOST - taken + 1)]
    assert left == ["allowed"] * (MOST - taken) + ["denied"]
