"""One agent judged twice: by the decision point, its plans closed in plain Python, and by the mirror."""

import hashlib
import math
from collections.abc import Collection, Iterable
from typing import Any

import msgspec
from mirror import naive

from app.model.agents import Agent, AgentStatus
from app.model.counting import quota_fingerprints
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Outcome, Result, ShadowOutcome
from app.model.marks import longest_shared, shared_marks
from app.model.plans import (
    Check,
    DenialCount,
    HistoryCheck,
    Plan,
    Quota,
    RecordCheck,
    RememberedCheck,
    SessionRoom,
    ShadowPlan,
    Target,
)
from app.model.policies import SHADOW_BUCKET, Policy, PolicyKind, PolicyMode
from app.model.quotas import FOREVER_SECONDS
from app.model.records import digest, stored
from app.model.rules import Rules
from app.model.sequences import session_digest
from app.pdp import compile_agent, decide
from app.pdp.escalations import Approved, approved_plan
from app.pdp.rules.records import read_record
from app.redaction.redactor import Redactor
from app.settings import Settings

REDACTOR = Redactor(Settings().redact.split(","))
DEFAULTS = {"priority": 0, "enabled": True, "kind": "grant", "mode": "enforce"}


def request(
    tool_name: str,
    parameters: dict[str, Any] | None = None,
    action: str = "authorize",
    context: dict[str, Any] | None = None,
) -> AuthorizeRequest:
    return AuthorizeRequest("agent", tool_name, action, parameters or {}, b"", context=context)


def agent(status: str = "active") -> Agent:
    return Agent(id="agent", name="a", status=AgentStatus(status), created_ms=0, updated_ms=0, version="v")


def macs(value: bytes) -> tuple[str, ...]:
    """The MACs of a service whose secret is known."""
    return (hashlib.sha256(value).hexdigest(),)


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
        mode=PolicyMode(body.get("mode", "enforce")),
        created_ms=body["createdAt"],
        updated_ms=body["createdAt"],
        version=1,
    )


def owner_of(body: dict[str, Any], agent_id: str) -> dict[str, Any]:
    """The owner of a case's policy: the one agent, unless the policy names a group or is for every agent."""
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
        self.together: ShadowOutcome | None = None
        self.denied: dict[tuple[str, str, str], list[int]] = {}
        self.tripped = False
        self.remembered: dict[tuple[str, str], int] = {}
        self.records: dict[tuple[str, str], str] = {}

    def close(self, plan: Plan, now_us: int) -> tuple[Outcome, int | None]:
        """The final outcome, and the longest wait if quotas are full."""
        assert plan.holds_from_us <= now_us < plan.holds_until_us
        waits = []
        outcome = None
        for quota in plan.quotas:
            wait = self._wait(quota, now_us)
            if wait > 0:
                outcome = outcome or quota.when_full
                waits.append(wait)
        outcome = outcome or plan.outcome
        self.together = None if plan.shadow is None else self._close_shadow(plan.shadow, now_us)
        if outcome.result is Result.ALLOWED:
            for mark in plan.marks:
                self.marked |= {(plan.session, mark.name, True): now_us} if mark.shared_us else {}
                self.marked |= {(plan.session, mark.name, False): now_us} if mark.own_us else {}
            self._take(plan.quotas, now_us)
        if plan.shadow is not None and self.together is not None and self.together.result is Result.ALLOWED:
            own = [quota for quota, own in zip(plan.shadow.quotas, plan.shadow.own, strict=True) if own]
            self._take(own, now_us)
        if outcome.result is Result.DENIED and outcome.code is not DecisionCode.TOO_MANY_DENIALS:
            self._count(plan.breakers, now_us)
        longest = None if outcome.result is plan.outcome.result else max(waits, default=None)
        return outcome, None if longest is None or math.isinf(longest) else int(longest)

    def _close_shadow(self, plan: ShadowPlan, now_us: int) -> ShadowOutcome:
        """What is decided with the shadow policies."""
        full = (place for place, quota in enumerate(plan.quotas, 1) if self._wait(quota, now_us) > 0)
        return plan.outcomes[next(full, 0)]

    def _take(self, quotas: Iterable[Check | SessionRoom], now_us: int) -> None:
        for quota in quotas:
            if isinstance(quota, Quota):
                entry = (quota.counted_us or now_us, 1 if quota.amount is None else quota.amount)
                self.admitted.setdefault((quota.policy_id, quota.fingerprint, quota.bucket), []).append(entry)
            elif isinstance(quota, HistoryCheck) and quota.spends:
                for name in quota.marks:
                    self.marked.pop((quota.session, name, False), None)

    def _wait(self, quota: Check | SessionRoom, now_us: int) -> float:
        """Until it has room; 0 if it has."""
        if isinstance(quota, SessionRoom):
            return 0  # no test has a thousand sessions
        if isinstance(quota, HistoryCheck):
            return self._wait_of_session(quota, now_us)
        if isinstance(quota, DenialCount):
            return self._filled(quota, now_us)
        if isinstance(quota, RecordCheck):
            found = self.records.get((quota.session, quota.record))
            return 0 if read_record(quota, found, now_us // 1000)[1] else math.inf
        if isinstance(quota, RememberedCheck):
            is_there = (self._remembers(quota, target, now_us) for target in quota.targets)
            return 0 if all(is_there) else math.inf
        entries = self.admitted.get((quota.policy_id, quota.fingerprint, quota.bucket), [])
        held = [entry for entry in entries if entry[0] + quota.window_us > now_us]
        takes = 1 if quota.amount is None else quota.amount
        if sum(amount for _, amount in held) + takes <= quota.max_calls:
            return 0
        rests = (sum(amount for _, amount in held[gone:]) for gone in range(1, len(held) + 1))
        gone = next((gone for gone, rest in enumerate(rests, 1) if rest + takes <= quota.max_calls), None)
        if gone is None or quota.window_us == FOREVER_SECONDS * 1_000_000:
            return math.inf
        return held[gone - 1][0] + quota.window_us - now_us

    def _remembers(self, check: RememberedCheck, target: Target, now_us: int) -> bool:
        approved_us = (self.remembered.get((check.memory, mac), -math.inf) for mac in target.macs)
        return any(now_us < each + target.within_ms * 1000 for each in approved_us)

    def _count(self, breakers: Collection[DenialCount], now_us: int) -> None:
        for breaker in breakers:
            self.denied.setdefault((breaker.policy_id, breaker.fingerprint, breaker.bucket), []).append(now_us)
            self.tripped |= breaker.suspends and self._filled(breaker, now_us) > 0

    def _filled(self, breaker: DenialCount, now_us: int) -> int:
        """Time until the breaker is no longer full; 0 if it is not."""
        times = self.denied.get((breaker.policy_id, breaker.fingerprint, breaker.bucket), [])
        if len(times) < breaker.max_denials:
            return 0
        return max(0, times[-breaker.max_denials] + breaker.window_us - now_us)

    def _wait_of_session(self, check: HistoryCheck, now_us: int) -> float:
        """Time until the session's marks let the call pass; 0 if they do."""
        if not check.asks:
            return 0
        times = [self.marked.get((check.session, name, check.forbids), -check.window_us) for name in check.marks]
        left_us = max(times) + check.window_us - now_us
        if check.forbids:
            return max(0, left_us)
        return 0 if left_us > 0 else math.inf


class PdpAndMirror:
    """An agent and its policies (bodies of the API, each with `id` and `createdAt`); time must not run backwards."""

    def __init__(self, policies: list[dict[str, Any]], status: str = "active", groups: Collection[str] = ()) -> None:
        self.status = status
        self.bodies = {body["id"]: DEFAULTS | body for body in policies if governs(body, groups)}
        self.ledger = Ledger()
        self.mirror_admitted: dict[naive.Bucket, list[Any]] = {}
        self.mirror_history: list[naive.Past] = []
        self.divergence: naive.Divergence | None = None
        self.mirror_divergence: naive.Divergence | None = None
        self.mirror_denied: dict[tuple[Any, ...], list[int]] = {}
        self.mirror_status = status
        self.mirror_approved: list[naive.Approved] = []
        self.mirror_reported: list[naive.Reported] = []
        self._compile()

    def report(self, tool_name: str, records: Any, now_us: int, context: dict[str, Any] | None = None) -> None:
        """The runtime reports records of the call's result."""
        session = naive.session_of({"context": context})
        for name, fields in records.items():
            said = f"{now_us // 1000} {stored(tool_name, fields)}"
            self.ledger.records[session_digest(session or ""), digest(name)] = said
            self.mirror_reported.append((now_us, session, tool_name, name, fields))

    def patch(self, policy_id: str, fields: dict[str, Any]) -> None:
        self.bodies[policy_id] = self.bodies[policy_id] | fields
        self._compile()

    def resume(self) -> None:
        """Make the agent active again, as people can."""
        self.status = self.mirror_status = "active"
        self.ledger.denied, self.ledger.tripped, self.mirror_denied = {}, False, {}
        self._compile()

    def fill(self, policy_id: str, index: int, now_us: int) -> None:
        """Make the rate limit full, as if it had admitted its calls just now."""
        body = self.bodies[policy_id]
        entries = [(now_us, 1)] * body["rules"][index]["rateLimit"]["maxCalls"]
        fingerprint = quota_fingerprints(policy_of(body).rules)[index] or ""
        fingerprint += SHADOW_BUCKET if body["mode"] == "shadow" else ""
        self.ledger.admitted.setdefault((policy_id, fingerprint, ""), []).extend(entries)
        self.mirror_admitted.setdefault(naive.bucket(body, index, ()), []).extend(entries)

    def judge(
        self, tool_name: str, parameters: dict[str, Any], now_us: int, context: dict[str, Any] | None = None
    ) -> tuple[naive.Answer, Outcome]:
        """The decision point's answer, in the mirror's words and in its own; its entry will be read with its code."""
        plan = decide(self.compiled, request(tool_name, parameters, context=context), now_us)
        outcome, retry_us = self.ledger.close(plan, now_us)
        together = self.ledger.together
        self.divergence = (
            naive.Divergence(together.result.value, together.policy_id, together.rule.index)
            if together is not None and together.result is not outcome.result
            else None
        )
        if self.ledger.tripped and self.status == "active":
            self.status = "suspended"
            self._compile()
        index = None if outcome.rule is None else outcome.rule.index
        return naive.Answer(outcome.result.value, outcome.policy_id, index, retry_us), outcome

    def approve(
        self, tool_name: str, parameters: dict[str, Any], now_us: int, context: dict[str, Any] | None = None
    ) -> None:
        """A person approves this call, and it is made at once."""
        asked = request(tool_name, parameters, context=context)
        approved = Approved((), self.compiled.memories, "")
        plan = approved_plan(self.compiled, asked, decide(self.compiled, asked, now_us), approved, "")
        for check in plan.quotas:
            for target in check.targets if isinstance(check, RememberedCheck) and check.renews else ():
                self.ledger.remembered[check.memory, target.macs[0]] = now_us
        call = {"tool_name": tool_name, "parameters": parameters, "context": context}
        enforced = naive.enforced(list(self.bodies.values()))
        self.mirror_approved += ((now_us, *each) for each in naive.remembered(enforced, call, now_us))

    def judge_by_mirror(
        self, tool_name: str, parameters: dict[str, Any], now_us: int, context: dict[str, Any] | None = None
    ) -> naive.Answer:
        call = {"tool_name": tool_name, "parameters": parameters, "context": context}
        policies = list(self.bodies.values())
        enforced = naive.enforced(policies)
        held = (
            *(self.mirror_admitted, self.mirror_history, self.mirror_denied),
            *(self.mirror_approved, self.mirror_reported),
        )
        answer = naive.evaluate(self.mirror_status, enforced, call, now_us, *held)
        together = naive.together(self.mirror_status, policies, call, now_us, *held)
        self.mirror_divergence = None if together is None or together.result == answer.result else together
        used = naive.uses(enforced, call) if answer.result == "allowed" else frozenset()
        if together is not None and together.result == "allowed":
            used |= {use for use in naive.uses(policies, call) if not use[1][1]}
            for bucket, amount in naive.takes(policies, call):
                if bucket[0].startswith(naive.SHADOW):
                    self.mirror_admitted.setdefault(bucket, []).append((now_us, amount))
        if answer.result == "denied" and self.mirror_status == "active":
            for breaker, terms in naive.breakers(enforced, call, answer):
                times = self.mirror_denied.setdefault(breaker, [])
                times.append(now_us)
                if naive.is_tripped(terms, times, now_us):
                    self.mirror_status = "suspended"
        if answer.result == "allowed":
            for bucket, amount in naive.takes(enforced, call):
                self.mirror_admitted.setdefault(bucket, []).append((now_us, amount))
        left = naive.leaves(policies, call) if answer.result == "allowed" else frozenset()
        if left | used:
            self.mirror_history.append((now_us, naive.session_of(call), left | used))
        return answer

    def _compile(self) -> None:
        policies = [policy_of(body) for body in self.bodies.values()]
        shared = longest_shared(mark for each in policies for mark in shared_marks(each))
        self.compiled = compile_agent(agent(self.status), policies, REDACTOR.is_secret, shared, macs)
