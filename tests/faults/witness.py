"""A test's own workspace that remembers everything asked in it, and compares it with the log."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
import redis
from load import Caller, Load, ask_in_turn
from oracle import Call, Forbidden, Log, Quota, check_all, check_suffix, gone, read_log
from servers import Replica
from tenants import Tenant
from topologies import until

IMPATIENT = {"REMIT_STORE_TIMEOUT_MS": "1000"}
"""For replicas whose decisions are given up before a `Listing`."""


class Witness:
    """One workspace on a store, reached through a replica. `check` runs every oracle over its whole log.

    store: a connection of the test's own, past every proxy; url: the store as the service's verifier reaches it.
    """

    def __init__(self, store: redis.Redis, url: str, replica: Replica) -> None:
        self.store, self.url, self.replica = store, url, replica
        self.tenant = Tenant(url, replica)
        self.calls: list[Call] = []
        self.quotas: list[Quota] = []
        self.forbidden: list[Forbidden] = []
        self._lost_before = 0
        self._opened: list[Caller] = []

    def stop(self) -> None:
        for caller in self._opened:
            caller.close()
        self.tenant.close()

    def new_agent(self, max_calls: int = 0) -> str:
        """The id of an agent that may do everything, with at most `max_calls` an hour unless that is 0."""
        agent_id = self.tenant.new_agent()["id"]
        if max_calls:
            limit = {"maxCalls": max_calls, "windowSeconds": 3600}
            self.tenant.new_policy(agent_id, {"type": "rate_limit", "tools": ["*"], "rateLimit": limit})
            self.quotas.append(Quota(agent_id, max_calls, 3600))
        else:
            self.tenant.new_policy(agent_id)
        return agent_id

    def load(self, *agent_ids: str, ports: int | Sequence[int] = 0, key: str = "", **options: Any) -> Load:
        """Callers that ask about these agents in turn; of the replica unless `ports` are given."""
        question = ask_in_turn(agent_ids)
        return Load(ports or self.replica.port, key or self.tenant.read_key, question, self.calls, **options)

    def question(self, agent_id: str, key: str | None = None, port: int = 0) -> "Question":
        """One call, which the test can send any number of times; to the replica unless a port is given."""
        number = next(Load.numbers)
        body = ask_in_turn([agent_id])(number)
        body["parameters"]["mark"] = f"mark-{number}-"
        call = Call(number, body, key)
        self.calls.append(call)
        self._opened.append(Caller(port or self.replica.port, self.tenant.read_key))
        return Question(call, self._opened[-1])

    def forbid(self, agent_id: str, act) -> None:
        """Run `act` and note that it was acknowledged: from now on the agent must be allowed nothing."""
        answer = act()
        assert answer.is_success, answer.text
        self.forbidden.append(Forbidden(agent_id, time.monotonic_ns()))

    def log(self) -> Log:
        return read_log(self.store, self.tenant.id)

    def admitted(self, agent_id: str) -> int:
        """How many calls the agent's one quota holds."""
        [policy] = self.tenant.admin.get("/v1/policies", params={"agent_id": agent_id}).json()
        [quota] = self.store.scan_iter(f"remit:{{{self.tenant.id}}}:quota:{policy['id']}:*", count=10_000)
        return self.store.llen(quota)

    def may_lose_until_now(self) -> None:
        """Note that a master is about to fail that replicates asynchronously, so its latest answers may be lost."""
        self._lost_before = time.monotonic_ns()

    def check(self) -> Log:
        """The log as it is now, after every oracle; nobody may ask meanwhile."""
        calls = self.calls
        if self._lost_before:
            log = self.log()
            lost = list(gone(log, calls))
            check_suffix(log, [call for call in calls if call.sent < self._lost_before], lost)
            calls = [replace(call, answer=None) if call in lost else call for call in calls]
        return check_all(self.store, self.url, self.tenant.id, calls, self.quotas, self.forbidden)


class Listing(threading.Thread):
    """A read of all agents, which waits for the store for two seconds, longer than a decision does."""

    def __init__(self, admin: httpx.Client) -> None:
        super().__init__(daemon=True)
        self.answer: httpx.Response | None = None
        self._lasted_s = 0.0
        self._admin = admin
        self.start()

    def run(self) -> None:
        begun = time.monotonic()
        self.answer = self._admin.get("/v1/agents")
        self._lasted_s = time.monotonic() - begun

    def outlasts(self, question: "Question") -> bool:
        """Does this still wait when the question, sent half a second later, is refused?

        It does if a decision waits for one second, and never if a decision waits as long as this.
        """
        time.sleep(0.5)
        assert question.send().status == 503
        return self.is_alive()

    def finish(self) -> None:
        """Wait for the answer: the agents, or a refusal after the whole two seconds, but for a tick of a clock."""
        self.join()
        assert self.answer is not None
        assert self.answer.status_code == 200 or self._lasted_s > 1.9, self.answer.text


class Question:
    """One call of one caller. `mark` stands in what the replica sends to the store, and nowhere else."""

    def __init__(self, call: Call, caller: Caller) -> None:
        self.call, self.caller = call, caller
        self.mark = call.body["parameters"]["mark"]

    def send(self) -> Call:
        return self.caller.send(self.call)

    def send_until_answered(self) -> dict[str, Any]:
        """Send until there is a decision; every answer before it must be 503."""

        def answer() -> dict[str, Any] | None:
            call = self.send()
            assert call.answer is not None or call.status == 503, self.caller.last
            return call.answer

        return until(answer, "the question is answered", 120)

    def entries(self, log: Log) -> list[dict[str, Any]]:
        return [entry for entry in log.entries if entry["parameters"]["call"] == self.call.number]
