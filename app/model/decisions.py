"""Decisions: what is asked, the plan `pdp.decide` makes of it, and the answer the commit gives."""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from app.model.fields import Count, Timestamp, Uuid

FOREVER_US = 1 << 53
"""Later than any time: the largest integer that a Lua number holds exactly."""


class Result(StrEnum):
    """`escalated` means a person must be asked; only `allowed` permits the call."""

    ALLOWED = "allowed"
    DENIED = "denied"
    ESCALATED = "escalated"


class Idempotency(Struct, frozen=True):
    """What makes a request the same as one before: the SHA-256 of its Idempotency-Key, and a MAC of what it asks.

    body_digest: under the newest secret; without one the SHA-256, of which short questions can be guessed.
    former_digests: the same under older secrets, which requests before it may have been kept with.
    """

    key_digest: str
    body_digest: str
    former_digests: tuple[str, ...] = ()


class AuthorizeRequest(Struct, frozen=True):
    """One tool call to judge.

    agent_id: its id; its alias as long as nobody has looked whose that is.
    parameters: as the caller sent them; policies see the real values.
    recorded_parameters: JSON of the same with secrets redacted, as the audit entry keeps them.
    idempotency: None = every time it is sent it is another call.
    context: what the caller vouches for; None = nothing. recorded_context: JSON of it as the entry keeps it, "" = none.
    size: bytes that parameters and context have at most, as JSON.
    body: the request as it came, from which an approval is bound to the call exactly.
    session: what `session` of the context is instead of what the request says; "" = what it says.
    """

    agent_id: str
    tool_name: str
    action: str
    parameters: dict[str, Any]
    recorded_parameters: bytes
    idempotency: Idempotency | None = None
    context: dict[str, Any] | None = None
    recorded_context: bytes = b""
    size: int = 0
    body: bytes = b"{}"
    session: str = ""


class RuleRef(Struct, frozen=True):
    """The deciding rule: its place in the policy's list, from 0, and its type.

    index: Its place in the policy's rules, from 0.
    type: The kind of rule.
    """

    index: Count
    type: str


class Outcome(Struct, frozen=True):
    """A result and who gave it. `policy_id` and `rule` are None for a default deny or an inactive agent."""

    result: Result
    policy_id: str | None
    rule: RuleRef | None
    reason: str


class Quota(Struct, frozen=True):
    """One rate limit, or one budget, applied in one decision.

    fingerprint: names the bucket within its policy; it survives edits that leave tools and window as they are.
    max_calls: admitted calls that the window may hold; of a budget, millionths.
    when_full: the outcome if the quota has no room.
    amount: millionths that the call takes of a budget; None = one call of a rate limit.
    bucket: of a rule that has a bucket for each value of something: names this call's, within the rule; "" = the one.
    refundable: whether what the call takes is given back if it is reported as not executed.
    """

    policy_id: str
    fingerprint: str
    max_calls: int
    window_us: int
    when_full: Outcome
    amount: int | None = None
    bucket: str = ""
    refundable: bool = False


class HistoryCheck(Struct, frozen=True):
    """What a sequence rule asks of the session's past, looked up in one decision; it takes nothing.

    forbids: it fails once one of the marks is there; otherwise until one is.
    marks: names of the marks. window_us: for how long each counts. session: whose marks, by its digest.
    when_full: the outcome if it fails.
    """

    policy_id: str
    forbids: bool
    marks: tuple[str, ...]
    window_us: int
    when_full: Outcome
    session: str


class DenialCount(Struct, frozen=True):
    """A denial breaker that counts a call if it is denied; one that escalates is full like a quota, and takes nothing.

    fingerprint: names the rule within its policy, as a quota's does.
    max_denials: denied calls of the agent that the window may hold. when_full: the outcome while it is full.
    suspends: whether the denial that fills it suspends the agent; then it is never found full.
    since: the revision of the agent that made it active; what was denied before does not count.
    """

    policy_id: str
    fingerprint: str
    max_denials: int
    window_us: int
    when_full: Outcome
    suspends: bool
    since: int


Check = Quota | HistoryCheck | DenialCount
"""What the store is asked about a call."""


class Mark(Struct, frozen=True):
    """What an allowed call of a tool leaves in its session.

    name: stands for a pattern. shared_us: for how long it counts, at most, for rules of the workspace that forbid; 0 =
    no rule names it. own_us: the same for rules of the agent's that require.
    soft: only shadow policies ask for it, so that a call without room for it is allowed, and leaves it not.
    """

    name: str
    shared_us: int
    own_us: int
    soft: bool = False


class Tokens(Struct, frozen=True):
    """The version tokens that a plan was made from: each is replaced when what it stands for changes.

    agent: of the agent and its own policies. workspace: of the policies for every agent, and of the marks that rules
    of the workspace ask of every agent's calls; "" = there are none.
    groups: of each group's policies, by the group's digest, in the order of the agent's groups.
    """

    agent: str
    workspace: str = ""
    groups: tuple[tuple[str, str], ...] = ()


class SessionRoom(Struct, frozen=True):
    """Whether a call may leave a mark in its session: full if the mark counts in too many sessions of the agent."""

    mark: str
    session: str


class ShadowOutcome(Struct, frozen=True, rename="camel"):
    """What would have been decided if the shadow policies had been enforced, too.

    policy_id: The shadow policy that makes the difference.
    result: The result that there would have been.
    rule: Its rule that decides, or lets others decide.
    """

    policy_id: Uuid
    result: Result
    rule: RuleRef


class ShadowPlan(Struct, frozen=True):
    """What a plan would be if the shadow policies were enforced beside the others.

    quotas: as a plan has them; the first without room decides. Only shadow policies' own are ever taken.
    outcomes: what is decided if all have room, and then if each is the first that has none.
    own: for each quota whether it is a shadow policy's own.
    """

    quotas: tuple[Check | SessionRoom, ...]
    outcomes: tuple[ShadowOutcome, ...]
    own: tuple[bool, ...]


class Plan(Struct, frozen=True):
    """The outcome of `decide` with its quotas still open.

    The first quota without room decides; if all have room, `outcome` does. The quotas are taken only
    if `outcome` is allowed and all have room. What was read off the clock is true while the store's
    time is in [holds_from_us, holds_until_us). A sequence rule stands among the quotas: it is full when it fails.

    may_escalate: whether the outcome, or a quota that is full, asks for a person.
    session, marks: what the call leaves in its session, by the session's digest, if it is allowed.
    shadow: what shadow policies would make of it; None where they could not change the result.
    breakers: what counts the call if it is denied; those that escalate stand among the quotas, too.
    """

    outcome: Outcome
    quotas: tuple[Check, ...] = ()
    holds_from_us: int = 0
    holds_until_us: int = FOREVER_US
    may_escalate: bool = False
    session: str = ""
    marks: tuple[Mark, ...] = ()
    shadow: ShadowPlan | None = None
    breakers: tuple[DenialCount, ...] = ()


class ApprovalRef(Struct, frozen=True, rename="camel"):
    """The approval of a call.

    id: Its id.
    status: What has become of it.
    expires_at: Until when it can be decided, or used once it is approved.
    """

    id: Uuid
    status: str
    expires_at: Timestamp


class Decision(Struct, frozen=True):
    """An answer, already in the audit log. `time_us` and `latency_us` are by the store's clock.

    repeated: it is the answer that an earlier request with the same Idempotency-Key got.
    approval: the approval that people are asked for, or that made it allowed; None if it is no matter of approvals.
    agent_message: what the policy that gave the result says to the agent; None if it says nothing.
    shadow: what would have been decided with the shadow policies, too; None if they could not change the result.
    """

    id: str
    outcome: Outcome
    retry_after_us: int | None
    latency_us: int
    time_us: int
    repeated: bool = False
    approval: ApprovalRef | None = None
    agent_message: str | None = None
    shadow: ShadowOutcome | None = None
