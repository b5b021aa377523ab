"""One agent judged twice: by the decision point, its plans closed in plain Python, and by the mirror."""

import math
from collections.abc import Collection
from typing import Any

import msgspec
from mirror import naive

from app.model.agents import Agent, AgentStatus
from app.model.decisions import AuthorizeRequest, HistoryCheck, Outcome, Plan, Result
from app.model.marks import longest_shared, shared_marks
from app.model.policies import Policy, PolicyKind, Rules, quota_fingerprints
from app.model.redaction import Redactor
from app.pdp import compile_agent, decide
from app.settings import Settings

REDACTOR = Redactor(Settings().redact.split(","))
DEFAULTS = {"priority": 0, "enabled": True, "kind": "grant"}


def request(
    tool_name: str,
    parameters: dict[str, Any] | None = None,
    action: str = "authorize",
    context: dict[str, Any] | None = None,
) -> AuthorizeRequest:
    return AuthorizeRequest("agent", tool_name, action, parameters or {}, b"", context=context)


def agent(status: str = "active") -> Agent:
    return Agent(id="agent", name="a", status=AgentStatus(status), created_ms=0, updated_ms=0, version="v")


def policy_of(body: dict[str, Any]) -> Policy:
    """The policy of a body of the API with its `id` and `createdAt`."""
    owner = owner_of(body, "agent")
    return Policy(
        id=body["id"],
        agent_id=owner.get("agent_id"),
        group=owner.get("group"),
        kind=PolicyKind(body.get("kind", "grant")),
        name=body["name"],
        rules=tuple(msgspec.convert(body["rules"], Rules)),
        priority=body["priority"],
        enabled=body["enabled"],
        created_ms=body["createdAt"],
        updated_ms=body["createdAt"],
        version=1,
    )


def owner_of(body: dict[str, Any], agent_id: str) -> dict[str, Any]:
    """Whom a case's policy governs: the one agent, unless it names a group, or says that it is nobody's own."""
    if "group" in body:
        return {"group": body["group"]}
    return {"agent_id": body.get("agent_id", agent_id)}


def governs(body: dict[str, Any], groups: Collection[str]) -> bool:
    """Whether the policy governs an agent of these groups."""
    return "group" not in body or body["group"] in groups


class Ledger:
    """What the commit does with a plan: the first full quota decides, and only an allowed call takes all of them."""

    def __init__(self) -> None:
        self.admitted: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
        self.marked: dict[tuple[str, str, bool], int] = {}

    def close(self, plan: Plan, now_us: int) -> tuple[Outcome, int | None]:
        """The final outcome, and the wait of the longest if a quota is full."""
        assert plan.holds_from_us <= now_us < plan.holds_until_us
        waits = []
        outcome = None
        for quota in plan.quotas:
            if isinstance(quota, HistoryCheck):
                wait = self._wait(quota, now_us)
                if wait > 0:
                    outcome = outcome or quota.when_full
                    waits.append(wait)
                continue
            entries = self.admitted.get((quota.policy_id, quota.fingerprint, quota.bucket), [])
            held = [entry for entry in entries if entry[0] + quota.window_us > now_us]
            takes = 1 if quota.amount is None else quota.amount
            if sum(amount for _, amount in held) + takes > quota.max_calls:
                rests = (sum(amount for _, amount in held[gone:]) for gone in range(1, len(held) + 1))
                gone = next((gone for gone, rest in enumerate(rests, 1) if rest + takes <= quota.max_calls), None)
                wait = math.inf if gone is None else held[gone - 1][0] + quota.window_us - now_us
                outcome = outcome or quota.when_full
                waits.append(wait)
        outcome = outcome or plan.outcome
        if outcome.result is Result.ALLOWED:
            for mark in plan.marks:
                self.marked |= {(plan.session, mark.name, True): now_us} if mark.shared_us else {}
                self.marked |= {(plan.session, mark.name, False): now_us} if mark.own_us else {}
            for quota in plan.quotas:
                if isinstance(quota, HistoryCheck):
                    continue
                entry = (now_us, 1 if quota.amount is None else quota.amount)
                self.admitted.setdefault((quota.policy_id, quota.fingerprint, quota.bucket), []).append(entry)
        longest = None if outcome.result is plan.outcome.result else max(waits, default=None)
        return outcome, None if longest is None or math.isinf(longest) else int(longest)

    def _wait(self, check: HistoryCheck, now_us: int) -> float:
        """Until the session's marks let the call pass; 0 if they do."""
        times = [self.marked.get((check.session, name, check.forbids), -check.window_us) for name in check.marks]
        left_us = max(times) + check.window_us - now_us
        if check.forbids:
            return max(0, left_us)
        return 0 if left_us > 0 else math.inf


class BothSides:
    """An agent and its policies (bodies of the API, each with `id` and `createdAt`); time must not run backwards."""

    def __init__(self, policies: list[dict[str, Any]], status: str = "active", groups: Collection[str] = ()) -> None:
        self.status = status
        self.bodies = {body["id"]: DEFAULTS | body for body in policies if governs(body, groups)}
        self.ledger = Ledger()
        self.mirror_admitted: dict[naive.Bucket, list[Any]] = {}
        self.mirror_history: list[naive.Past] = []
        self._compile()

    def patch(self, policy_id: str, fields: dict[str, Any]) -> None:
        self.bodies[policy_id] = self.bodies[policy_id] | fields
        self._compile()

    def fill(self, policy_id: str, index: int, now_us: int) -> None:
        """The rate limit has admitted as many calls as it may, just now."""
        body = self.bodies[policy_id]
        entries = [(now_us, 1)] * body["rules"][index]["rateLimit"]["maxCalls"]
        fingerprint = quota_fingerprints(policy_of(body).rules)[index]
        self.ledger.admitted.setdefault((policy_id, fingerprint or "", ""), []).extend(entries)
        self.mirror_admitted.setdefault(naive.bucket(body, index, ()), []).extend(entries)

    def judge(
        self, tool_name: str, parameters: dict[str, Any], now_us: int, context: dict[str, Any] | None = None
    ) -> tuple[naive.Answer, Outcome]:
        """What the decision point answers, in the mirror's words and in its own."""
        plan = decide(self.compiled, request(tool_name, parameters, context=context), now_us)
        outcome, retry_us = self.ledger.close(plan, now_us)
        index = None if outcome.rule is None else outcome.rule.index
        return naive.Answer(outcome.result.value, outcome.policy_id, index, retry_us), outcome

    def judge_by_mirror(
        self, tool_name: str, parameters: dict[str, Any], now_us: int, context: dict[str, Any] | None = None
    ) -> naive.Answer:
        call = {"tool_name": tool_name, "parameters": parameters, "context": context}
        policies = list(self.bodies.values())
        answer = naive.evaluate(self.status, policies, call, now_us, self.mirror_admitted, self.mirror_history)
        if answer.result == "allowed":
            self.mirror_history.append((now_us, naive.session_of(call), naive.leaves(policies, call)))
            for bucket, amount in naive.takes(policies, call):
                self.mirror_admitted.setdefault(bucket, []).append((now_us, amount))
        return answer

    def _compile(self) -> None:
        policies = [policy_of(body) for body in self.bodies.values()]
        shared = longest_shared(mark for each in policies for mark in shared_marks(each))
        self.compiled = compile_agent(agent(self.status), policies, REDACTOR.is_secret, shared)
