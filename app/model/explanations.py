"""Explanations of actual or hypothetical answers, and of each rule's part in them."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.agents import AgentStatus, Groups
from app.model.decision_codes import DecisionCode, NextAction
from app.model.decisions import ApprovalRef, RecordRead, Result, RuleRef, ShadowOutcome
from app.model.fields import AgentId, Count, DisplayName, Id, Timestamp, Uuid
from app.model.policies import PolicyKind, PolicyMode

MAX_DRAFTS = 50
Seconds = Annotated[float, Meta(extra_json_schema={"minimum": 0})]


class Part(StrEnum):
    """The part that a rule or policy plays in an answer.

    `unknown` occurs only in explanations of the past: the log does not contain what the rule reads.
    """

    PASSED = "passed"
    FAILED = "failed"
    ABSTAINED = "abstained"
    NOT_REACHED = "not_reached"
    UNKNOWN = "unknown"
    OFF = "off"


class SeenValue(Struct, frozen=True, kw_only=True, rename="camel"):
    """A value of the call that a rule reads, as it would be logged.

    name: The path of the value, such as `parameters.amount` or `context.user`.
    value: The value found: a list if there are several, left out if there is none.
    """

    name: str
    value: Any = UNSET


class QuotaLevel(Struct, frozen=True, kw_only=True, rename="camel"):
    """How full a rate limit or a budget is, not counting the call itself.

    most: The number of calls, or the sum, that the window may hold.
    taken: How much of `most` is used up.
    left: How much of `most` is left.
    window_seconds: The length of the window; null if it never ends.
    frees_in_seconds: When the oldest counted call leaves the window; null if none is, or it never does.
    """

    most: float
    taken: float
    left: float
    window_seconds: int | None
    frees_in_seconds: Seconds | None


class SeenMark(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether an earlier call that a sequence rule looks for was allowed in the call's session.

    tool: The tool pattern in the rule that covers the earlier call.
    forbids: True if the earlier call forbids this one; false if this one requires it.
    allowed_seconds_ago: How long ago such a call was last allowed; null if none was within the rule's time.
    """

    tool: str
    forbids: bool
    allowed_seconds_ago: Seconds | None


class RulePart(Struct, frozen=True, kw_only=True, rename="camel"):
    """One rule's part in the answer.

    index: The rule's place in the policy, from 0.
    type: The kind of rule.
    part: The outcome of evaluating it.
    on_failure: The result if it fails.
    pattern: The first of its tool patterns that covers the tool; null if none does.
    reason: Why it failed or abstained; null if there is nothing to say.
    values: The values of the call that it reads.
    quota: How full its bucket is; only for rate limits, budgets and denial breakers that apply to this call.
    session: Which of the calls it looks for were allowed in the call's session; only for sequence rules that apply to
    this call.
    record: What was reported of the record that it reads; only if it reads one.
    approved_by: Who must approve if it fails, in words; only for rules that escalate.
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
    record: RecordRead | UnsetType = UNSET
    approved_by: str | UnsetType = UNSET


class PolicyPart(Struct, frozen=True, kw_only=True, rename="camel"):
    """One policy's part in the answer. Tiers are listed in their order, then guardrails.

    id: Its id; null for a draft without one.
    version: The version evaluated; null for a draft.
    kind: A grant decides in its tier. A guardrail is evaluated for every call and never allows.
    priority: For grants: higher ones are evaluated first; those of equal priority are one tier.
    mode: A shadow policy is shown as if all were enforced; it changes no answer.
    governs: Its owner: the agent, a group, or the whole workspace.
    group: The group's name; null if no group owns it.
    part: `failed` if one of its rules failed, `abstained` if all of them did, `off` if it is not enabled.
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
    """The agent that the explanation is about.

    alias: Its alias; null if it has none.
    status: Only an active agent is ever allowed anything.
    """

    id: AgentId
    name: DisplayName
    alias: str | None
    status: AgentStatus
    groups: Groups


class ShadowExplanation(Struct, frozen=True, kw_only=True, rename="camel"):
    """What would be answered if the shadow policies were enforced, too.

    changes: Whether the result would differ; if so, the entry of such a call would record it.
    policy_id: The shadow policy that makes the difference, if there is one; null for a draft without an id.
    policy_name: Its name.
    result: What would be decided.
    rule: The rule of it that decides, or that leaves the decision to others.
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
    policy_id: The policy that gives the result; null if none does, or if it is a draft without an id.
    policy_name: The policy's name; null if there is no policy.
    rule: The rule that decides; null if none does.
    reason: A sentence for people.
    code: Why it would be decided this way, for programs.
    next_action: What could lead to another answer.
    retry_after_seconds: The seconds until every full rate limit has room again; null if none is full.
    at: The time used for time windows, rate limits and budgets.
    agent: The agent that would call.
    policies: Every policy that governs the agent, with its part in the answer.
    approval: The approval that the call would wait for or use; left out if there is none.
    agent_message: The message to the agent from the policy that gives the result; left out if it has none.
    shadow: What would be answered with the shadow policies; only if they apply to the call.
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
    """Why a logged decision was made: what the entry says, and its call evaluated by the policies of that time.

    id: The decision's, and the entry's.
    result: What was decided.
    policy_id: The policy that gave the result; null if none did.
    policy_name: The policy's name then; null if there was no policy.
    rule: The rule that decided; null if none did.
    reason: The entry's reason.
    code: Why it was decided this way, for programs.
    at: When it was decided.
    agent: The agent as it was then.
    policies: Every policy that governed it then, and its part in the answer.
    unknown: Names of values that a rule reads but the log lacks, because they were redacted or shortened.
    A rule that reads one is `unknown`, and rules after it may be.
    approval_id: The approval that was requested or used; left out if there was none.
    shadow: What would have been decided with the shadow policies; only if the result would have differed.
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
