"""Explanations: what would be answered, or was, and what every rule had to do with it."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.agents import AgentStatus, Groups
from app.model.decision_codes import DecisionCode, NextAction
from app.model.decisions import ApprovalRef, Result, RuleRef, ShadowOutcome
from app.model.fields import AgentId, Count, DisplayName, Id, Timestamp, Uuid
from app.model.policies import PolicyKind, PolicyMode

MAX_DRAFTS = 50
Seconds = Annotated[float, Meta(extra_json_schema={"minimum": 0})]


class Part(StrEnum):
    """What a rule, or a policy, has to do with an answer.

    `unknown` stands only in explanations of the past: the log does not hold what the rule reads.
    """

    PASSED = "passed"
    FAILED = "failed"
    ABSTAINED = "abstained"
    NOT_REACHED = "not_reached"
    UNKNOWN = "unknown"
    OFF = "off"


class SeenValue(Struct, frozen=True, kw_only=True, rename="camel"):
    """A value of the call that a rule reads, as the log would keep it.

    name: Of parameters or of context: `parameters.amount`, `context.user`.
    value: What was found there; left out where nothing was. Of several values a list.
    """

    name: str
    value: Any = UNSET


class QuotaLevel(Struct, frozen=True, kw_only=True, rename="camel"):
    """How full a rate limit or a budget is. The call itself is not counted.

    most: The calls, or the sum, that the window may hold.
    taken: What of it is taken.
    left: What is left of it.
    window_seconds: The span that counts.
    frees_in_seconds: When the oldest that counts will no longer count; null while nothing counts.
    """

    most: float
    taken: float
    left: float
    window_seconds: int
    frees_in_seconds: Seconds | None


class SeenMark(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether the call's session was allowed a call that a sequence rule looks back on.

    tool: The pattern that the rule names.
    forbids: True of one that forbids this call, false of one that it requires.
    allowed_seconds_ago: When such a call was last allowed; null if none that counts was.
    """

    tool: str
    forbids: bool
    allowed_seconds_ago: Seconds | None


class RulePart(Struct, frozen=True, kw_only=True, rename="camel"):
    """What one rule had to do with the answer.

    index: Its place in the policy's rules, from 0.
    type: The kind of rule.
    part: What came of it.
    on_failure: What its failure gives.
    pattern: The first of its tool patterns that covers the tool; null if none does.
    reason: Why it failed, or abstained; null where there is nothing to say.
    values: What it reads of the call.
    quota: How full its bucket is; only of rate limits, budgets and denial breakers that count for this call.
    session: What the call's session was allowed; only of sequence rules that look back for this call.
    """

    index: Count
    type: str
    part: Part
    on_failure: Result
    pattern: str | None
    reason: str | None = None
    values: list[SeenValue] = []
    quota: QuotaLevel | UnsetType = UNSET
    session: list[SeenMark] | UnsetType = UNSET


class PolicyPart(Struct, frozen=True, kw_only=True, rename="camel"):
    """What one policy had to do with the answer: tiers in their order, then guardrails.

    id: Its id; null of a draft that is none yet.
    version: The version that was asked; null of a draft.
    kind: A grant decides in its tier. A guardrail is asked on every call and never allows.
    priority: Of grants: higher ones are asked first; those of equal priority are one tier.
    mode: A shadow policy is shown as it would be if all were enforced; it changes no answer.
    governs: Whose it is: the agent's own, a group's, or the whole workspace's.
    group: The group's name; null if it is no group's.
    part: failed if one of its rules failed; abstained if all of them did; off if it is not enabled.
    rules: Every rule, in order.
    """

    id: Uuid | None
    name: DisplayName
    version: int | None
    kind: PolicyKind
    priority: int
    mode: PolicyMode
    governs: str
    group: str | None
    part: Part
    rules: list[RulePart]


class ExplainedAgent(Struct, frozen=True, kw_only=True, rename="camel"):
    """The agent as it was asked about.

    alias: What it is called besides; null if nothing.
    status: Only an active agent is ever allowed anything.
    """

    id: AgentId
    name: DisplayName
    alias: str | None
    status: AgentStatus
    groups: Groups


class ShadowExplanation(Struct, frozen=True, kw_only=True, rename="camel"):
    """What would be answered if the shadow policies were enforced, too.

    changes: Whether that is another result; then the entry of such a call would say so.
    policy_id: The shadow policy that makes the difference, if there is one; null of a draft that is none yet.
    policy_name: Its name.
    result: What would be decided.
    rule: Its rule that decides, or lets others decide.
    """

    changes: bool
    result: Result
    policy_id: Uuid | None
    policy_name: str | None
    rule: RuleRef


class Explanation(Struct, frozen=True, kw_only=True, rename="camel"):
    """What authorize would answer, and why.

    allowed: True if and only if result is `allowed`.
    result: What would be decided.
    policy_id: The policy that gives the result; null if none does, or a draft that is none yet.
    policy_name: Its name; null where there is no policy.
    rule: The rule that decides; null where no rule does.
    reason: A sentence for people.
    code: Why it would be decided so, for programs.
    next_action: What could lead to another answer.
    retry_after_seconds: When every rate limit that refuses has room again; null if none does.
    at: The time that counts: of time windows, rate limits and budgets.
    agent: Whom it is about.
    policies: Every policy that governs the agent, and what it had to do with it.
    approval: What the call would wait for, or use; only where it is a matter of approvals.
    agent_message: What the policy that gives the result would say to the agent; only where it says something.
    shadow: What would be answered with the shadow policies; only where these say anything about the call.
    """

    allowed: bool
    result: Result
    policy_id: Uuid | None
    policy_name: str | None
    rule: RuleRef | None
    reason: str
    code: DecisionCode
    next_action: NextAction
    retry_after_seconds: Seconds | None
    at: Timestamp
    agent: ExplainedAgent
    policies: list[PolicyPart]
    approval: ApprovalRef | UnsetType = UNSET
    agent_message: str | UnsetType = UNSET
    shadow: ShadowExplanation | UnsetType = UNSET


class PastExplanation(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why a decision of the log was made: its own words, and its policies of that time held against its call.

    id: The decision's, and the entry's.
    result: What was decided.
    policy_id: The policy that gave the result; null if none did.
    policy_name: Its name then; null where there was no policy.
    rule: The rule that decided; null where no rule did.
    reason: The entry's sentence.
    code: Why it was decided so, for programs.
    at: When it was decided.
    agent: The agent as it was then.
    policies: Every policy that governed it then, and what it had to do with it.
    unknown: What the log does not hold and a rule reads: names of values that are redacted or shortened. A rule that
    reads one is `unknown`, and so may be what comes after it.
    approval_id: The approval that was asked for, or used; left out where it was no matter of approvals.
    shadow: What would have been decided with the shadow policies; only where that was another result.
    """

    id: Id
    result: Result | None
    policy_id: Uuid | None
    policy_name: str | None
    rule: RuleRef | None
    reason: str
    code: DecisionCode
    at: Timestamp
    agent: ExplainedAgent
    policies: list[PolicyPart]
    unknown: list[str]
    approval_id: Uuid | UnsetType = UNSET
    shadow: ShadowOutcome | UnsetType = UNSET
