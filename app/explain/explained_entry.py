"""Explains a logged decision: judges its call again by the policies that governed the agent then."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from app.audit.log import AuditLog
from app.errors import AgentNotFound, AuditEntryNotFound, VersionNotKept
from app.explain.agent_history import AgentHistory
from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest, Outcome, Result
from app.model.explanations import Part, PastExplanation, PolicyPart, RulePart
from app.model.policies import Policy
from app.pdp import compile_agent
from app.pdp.constraints import IsSecret
from app.pdp.explained import explained_agent, policy_parts
from app.pdp.rules.rule_type import CompiledRule
from app.pdp.trace import COUNTS_DENIALS, NOT_COVERED, Place, Trace, trace
from app.replay.calls import (
    LoggedCall,
    circumstances_read_hidden,
    decode_call,
    decode_object,
    hidden_places,
    reads_hidden,
)
from app.replay.spans import LogPosition
from app.runtime.fairness.thread_pool import FairThreadPool

_US_PER_MS = 1000


def past_explanation(
    call: LoggedCall, agent: Agent, policies: Sequence[Policy], is_secret: Callable[[str], bool]
) -> PastExplanation:
    """The part of each policy in a decision, and the values that are no longer known.

    call: the entry of a decision. agent, policies: as they were then.
    """
    compiled = compile_agent(agent, policies, is_secret)
    context = decode_object(b"{}" if call.context is UNSET else call.context)
    parameters = decode_object(call.parameters)
    hidden = hidden_places(parameters, context)
    concerned = {
        (policy.id, rule.ref.index): rule
        for policy, rules in (compiled.combined or compiled).compiled_policies
        for rule in rules
        if rule.concerns(call.tool_name)
    }
    in_doubt = {place for place, rule in concerned.items() if hidden and reads_hidden(rule.rule, hidden)}
    decider = None if call.rule is None or call.policy_id is None else (call.policy_id, call.rule.index)
    # The entry names the first rule that failed, unless the call was allowed without asking anybody. So a rule that
    # reads a hidden value either decided or did not fail.
    has_failed = call.result != Result.ALLOWED or call.approval_id is not UNSET
    known = {place: call.reason if has_failed and place == decider else None for place in in_doubt}
    request = _request_of(call, parameters, context)
    traced = trace(compiled, policies, request, call.time_ms * _US_PER_MS, call.key_id, known)
    outcome = Outcome(Result(call.result or ""), call.policy_id, call.rule, call.reason, call.code)
    sure = _agrees(traced, outcome, decider) and not any(
        circumstances_read_hidden(concerned[place].rule, hidden) for place in in_doubt
    )
    parts = policy_parts(traced, outcome, request, {})
    judge = _Doubt(traced, decider, in_doubt, outcome, sure=sure)
    return PastExplanation(
        id=call.id,
        result=outcome.result,
        policy_id=call.policy_id,
        policy_name=next((policy.name for policy in policies if policy.id == call.policy_id), None),
        rule=call.rule,
        reason=call.reason,
        code=outcome.code,
        at=call.timestamp,
        agent=explained_agent(agent),
        policies=[judge.policy(part) for part in parts],
        unknown=sorted({f"{of}.{name}" for of, name in hidden if _is_read(concerned.values(), of, name)}),
        approval_id=call.approval_id,
        shadow=call.shadow,
    )


def _request_of(call: LoggedCall, parameters: dict[str, Any], context: dict[str, Any]) -> AuthorizeRequest:
    """The request, as far as the log records it."""
    return AuthorizeRequest(
        call.agent_id,
        call.tool_name,
        "",
        parameters,
        bytes(call.parameters),
        context=context or None,
        recorded_context=b"" if call.context is UNSET else bytes(call.context),
    )


def _is_read(rules: Collection[CompiledRule], of: str, name: str) -> bool:
    return any(reads_hidden(rule.rule, {(of, name)}) for rule in rules)


def _agrees(traced: Trace, outcome: Outcome, decider: Place | None) -> bool:
    """True if the policies lead to the recorded decision, by the plan's outcome or by a full quota of the plan."""
    plan = traced.plan.outcome
    if (plan.policy_id, plan.rule) == (outcome.policy_id, outcome.rule):
        return True
    return decider in _store_checks(traced)


def _store_checks(traced: Trace) -> list[Place]:
    """The rules that the plan leaves to the store (limits and sequences), in the order in which a full one decides."""
    checks = traced.plan.quotas
    return [(check.policy_id, check.when_full.rule.index) for check in checks if check.when_full.rule is not None]


class _Doubt:
    """Reduces the trace of each rule to the parts that are certain."""

    def __init__(
        self, traced: Trace, decider: Place | None, in_doubt: Collection[Place], outcome: Outcome, *, sure: bool
    ) -> None:
        self._decider, self._in_doubt, self._sure = decider, in_doubt, sure
        self._reason = outcome.reason
        self._failed = outcome.result is not Result.ALLOWED
        places = _store_checks(traced)
        # The first full one decides, so those before it had room, and those after it are unknown. With an approval, the
        # call may have passed any of them.
        by_quota = places.index(decider) if decider in places and self._failed else None
        is_approved = not self._failed and traced.plan.outcome.result is not Result.ALLOWED
        self._open = set(places if is_approved else () if by_quota is None else places[by_quota + 1 :])
        # For shadow policies, the log does not show how full their limits were or which calls their sequences had seen.
        self._open |= {
            (policy.policy.id, rule.rule.ref.index)
            for policy in traced.policies
            if policy.policy.in_shadow
            for rule in policy.rules
            if rule.checks
        }

    def policy(self, part: PolicyPart) -> PolicyPart:
        rules = [self._rule((part.id or "", rule.index), rule) for rule in part.rules]
        if not rules:
            return part
        parts = {rule.part for rule in rules}
        order = (Part.FAILED, Part.UNKNOWN, Part.PASSED, Part.NOT_REACHED, Part.ABSTAINED)
        return replace(part, rules=rules, part=next(each for each in order if each in parts))

    def _rule(self, place: Place, rule: RulePart) -> RulePart:
        if place == self._decider:
            if self._failed and rule.part is not Part.FAILED:
                return replace(rule, part=Part.FAILED, reason=self._reason)
            return rule
        if rule.reason in (NOT_COVERED, COUNTS_DENIALS):
            return rule
        if place in self._in_doubt and rule.part is not Part.NOT_REACHED:
            return replace(rule, part=Part.UNKNOWN, reason="reads what the log does not hold")
        if not self._sure:
            return replace(rule, part=Part.UNKNOWN, reason="cannot be told from what the log contains")
        if place in self._open:
            return replace(rule, part=Part.UNKNOWN, reason="how full it was is not in the log")
        return rule


class PastDecisions:
    """Explains decisions on one store."""

    def __init__(self, audit: AuditLog, history: AgentHistory, is_secret: IsSecret, pool: FairThreadPool) -> None:
        self._audit = audit
        self._history = history
        self._is_secret = is_secret
        self._pool = pool

    async def explain(self, workspace_id: str, entry_id: str) -> PastExplanation:
        """The explanation of a decision.

        Raises AuditEntryNotFound if no decision has this id, VersionNotKept.
        """
        sequence, line = await self._audit.entry(workspace_id, entry_id)
        call = decode_call(line)
        if call.result is None or call.type:
            raise AuditEntryNotFound("The entry with this id is not a decision, so there is nothing to explain")
        try:
            entry = LogPosition(call.time_ms, sequence)
            agent, policies = await self._history.governed_at(workspace_id, call.agent_id, entry)
        except AgentNotFound:
            raise VersionNotKept("The agent as it was then is no longer known") from None
        return await self._pool.run(workspace_id, past_explanation, call, agent, policies, self._is_secret)
