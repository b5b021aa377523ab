"""Turns the result of `trace` into an explanation."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.language.ambiguous import Ambiguous
from app.language.value_paths import ValuePath
from app.model.agents import Agent
from app.model.approvals import DEFAULT_TERMS
from app.model.decisions import AuthorizeRequest, Outcome, RecordRead, Result
from app.model.drafts import id_if_stored
from app.model.explanations import ExplainedAgent, Part, PolicyPart, QuotaLevel, RulePart, SeenMark, SeenValue
from app.model.policies import Policy
from app.model.rule import Rule
from app.pdp.trace import PolicyTrace, RuleTrace, Trace

_SHOWN = 8
_JSON_MAX = 300
"""The most characters of JSON shown of one value."""

Place = tuple[str, int]


class RuleState(Struct, frozen=True):
    """The state of a rule in the store: the level of a limit, the marks of a session, what was reported in it.

    failed: why the rule fails because of it.
    """

    level: QuotaLevel | None
    marks: tuple[SeenMark, ...]
    failed: str | None
    record: RecordRead | UnsetType = UNSET


RuleStates = Mapping[Place, RuleState]


def explained_agent(agent: Agent) -> ExplainedAgent:
    """The agent as an explanation shows it."""
    return ExplainedAgent(id=agent.id, name=agent.name, alias=agent.alias, status=agent.status, groups=agent.groups)


def policy_parts(trace: Trace, outcome: Outcome, call: AuthorizeRequest, rule_states: RuleStates) -> list[PolicyPart]:
    """The part that each policy plays in the outcome.

    outcome: the final one. rule_states: for the rules that depend on the store, by policy and place of the rule.
    """
    seen = _Seen(call)
    return [_policy_part(each, outcome, seen, rule_states) for each in trace.policies]


def _policy_part(traced: PolicyTrace, outcome: Outcome, seen: "_Seen", rule_states: RuleStates) -> PolicyPart:
    policy = traced.policy
    rules = [_rule_part(policy, each, outcome, seen, rule_states) for each in traced.rules]
    part = Part.FAILED if any(each.part is Part.FAILED for each in rules) else traced.part
    is_draft = policy.version == 0
    return PolicyPart(
        id=id_if_stored(policy.id),
        name=policy.name,
        version=None if is_draft else policy.version,
        kind=policy.kind,
        priority=policy.priority,
        mode=policy.mode,
        governs="agent" if policy.agent_id else "group" if policy.group else "workspace",
        group=policy.group,
        part=part,
        rules=rules,
    )


def _rule_part(policy: Policy, traced: RuleTrace, outcome: Outcome, seen: "_Seen", rule_states: RuleStates) -> RulePart:
    ref, part, reason = traced.rule.ref, traced.part, traced.reason
    state = rule_states.get((policy.id, ref.index))
    decided = outcome.policy_id == policy.id and outcome.rule is not None and outcome.rule.index == ref.index
    if traced.is_open and part is Part.PASSED:
        if decided and outcome.result is traced.rule.when_failed:
            part, reason = Part.FAILED, outcome.reason
        elif state is not None and state.failed is not None:
            part, reason = Part.FAILED, state.failed
    return RulePart(
        index=ref.index,
        type=ref.type,
        part=part,
        on_failure=traced.rule.when_failed,
        pattern=traced.pattern,
        reason=reason,
        values=[] if traced.pattern is None else seen.by(traced.rule.rule),
        quota=UNSET if state is None or state.level is None else state.level,
        session=list(state.marks) if state is not None and state.marks else UNSET,
        record=UNSET if state is None else state.record,
        approved_by=_approved_by(traced),
    )


def _approved_by(traced: RuleTrace) -> str | UnsetType:
    if Result.ESCALATED not in traced.rule.results():
        return UNSET
    terms = traced.rule.rule.approval
    return (DEFAULT_TERMS if terms is UNSET else terms).in_words()


class _Seen:
    """The values of a call, by the names that rules use and as the log would keep them."""

    def __init__(self, call: AuthorizeRequest) -> None:
        self._holders = {
            "parameters": msgspec.json.decode(call.recorded_parameters or b"{}"),
            "context": msgspec.json.decode(call.recorded_context or b"{}"),
        }

    def by(self, rule: Rule) -> list[SeenValue]:
        """The values that the rule reads by name."""
        return [
            self._value(of, name)
            for of, name in dict.fromkeys((read.of, read.name) for read in rule.reads() if read.name)
        ]

    def _value(self, of: str, name: str) -> SeenValue:
        shown = f"{of}.{name}"
        try:
            values, _ = ValuePath(name).find(self._holders[of])
        except Ambiguous:
            return SeenValue(name=shown)
        if not values:
            return SeenValue(name=shown)
        kept = [_clipped(value) for value in values[:_SHOWN]]
        return SeenValue(name=shown, value=kept if len(values) > 1 else kept[0])


def _clipped(value: Any) -> Any:
    text = msgspec.json.encode(value).decode()
    return value if len(text) <= _JSON_MAX else f"{text[:_JSON_MAX]}…"
