"""Decisions: what is asked, alone or in a batch, and what is answered."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from app.model.decision_codes import ApprovalMisfit, DecisionCode
from app.model.fields import Count, Scalar, Timestamp, Uuid

DEFAULT_ACTION = "authorize"
MAX_CALLS = 1_000
"""The most calls of a batch."""


class Result(StrEnum):
    """`escalated` means a person must be asked; only `allowed` permits the call."""

    ALLOWED = "allowed"
    DENIED = "denied"
    ESCALATED = "escalated"


class RecordRead(Struct, frozen=True, rename="camel"):
    """What a rule read of a record.

    of: The record's name, as the rule has it.
    fields: Those of the rule's fields that it has; null if no such record was found.
    """

    of: str
    fields: dict[str, Scalar] | None


class Idempotency(Struct, frozen=True):
    """Identifies a repeated request: the SHA-256 of its Idempotency-Key, and a MAC of its body.

    body_digest: under the newest secret; without a secret the SHA-256, from which short bodies can be guessed.
    former_digests: under older secrets, with which earlier requests may have been stored.
    batch: of a call in a batch, the SHA-256 of the batch's key, to which these MACs belong, too.
    """

    key_digest: str
    body_digest: str
    former_digests: tuple[str, ...] = ()
    batch: str = ""


class AuthorizeRequest(Struct, frozen=True, gc=False):
    """One tool call to judge.

    agent_id: the agent's id, or its alias until that has been resolved. parameters: as the caller sent them; policies
    see the real values. recorded_parameters: JSON of the same with secrets redacted, for the audit entry.
    idempotency: if None, every repetition is another call.
    context: what the caller vouches for, or None. recorded_context: its JSON for the audit entry; "" without one.
    size: an upper bound of the size of parameters and context as JSON, in bytes.
    written: parameters and context as the caller wrote them, or what makes that text of the request.
    session: the session to use instead of the one in the context; "" to use the context's.
    approval_id: the only approval that may let the call through or be joined; "" for any that matches, or a new one.
    agent_type: "" = any. asks_anew: if the approval that is named does not apply, decide as if none was named.
    plan: the plan that it is a call of, its place there from 0, and how many calls that has; "" = it came alone.
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
    written: bytes | Callable[[], bytes] = b"{}"
    session: str = ""
    approval_id: str = ""
    agent_type: str = ""
    asks_anew: bool = False
    plan: str = ""

    @property
    def body(self) -> bytes:
        """JSON with `parameters` and `context` exactly as the caller wrote them; an approval is bound to it."""
        return self.written if isinstance(self.written, bytes) else self.written()


class BatchSemantics(StrEnum):
    """Which calls of a batch are decided.

    `execute_all` decides all. `deny_on_first_deny` and `permit_on_first_permit` decide in order, and nothing after the
    first call that is not allowed, or is allowed. `all_or_nothing`, for up to 128 calls, allows all or none: if one is
    not allowed, all are denied, and none takes anything from limits.
    """

    EXECUTE_ALL = "execute_all"
    DENY_ON_FIRST_DENY = "deny_on_first_deny"
    PERMIT_ON_FIRST_PERMIT = "permit_on_first_permit"
    ALL_OR_NOTHING = "all_or_nothing"


class RuleRef(Struct, frozen=True):
    """The deciding rule.

    index: Its place in the policy's rules, from 0.
    type: The kind of rule.
    """

    index: Count
    type: str


class Outcome(Struct, frozen=True):
    """A result, who gave it, and why: `reason` for people, `code` for programs.

    policy_id, rule: None for a default deny or an inactive agent.
    """

    result: Result
    policy_id: str | None
    rule: RuleRef | None
    reason: str
    code: DecisionCode


class ShadowOutcome(Struct, frozen=True, rename="camel"):
    """What would have been decided if the shadow policies had been enforced, too.

    policy_id: The shadow policy that makes the difference.
    result: The result that there would have been.
    rule: Its rule that decides, or that leaves the decision to others.
    records: What only rules of shadow policies read of [records](records.md), if one does. It binds no approval.
    """

    policy_id: Uuid
    result: Result
    rule: RuleRef
    records: list[RecordRead] | UnsetType = UNSET


class ApprovalRef(Struct, frozen=True, rename="camel"):
    """The approval of a call.

    id: Its id.
    status: Its current state.
    expires_at: When it can no longer be decided or, once approved, used.
    """

    id: Uuid
    status: str
    expires_at: Timestamp


class Decision(Struct, frozen=True, gc=False):
    """An answer, already in the audit log. `time_us` and `latency_us` are by the store's clock.

    repeated: True for an answer given before to the same Idempotency-Key. approval: the approval that people are asked
    for, or that made it allowed, or None. misfit: why the one that the call named did not count; None if it did.
    agent_message: the message to the agent from the policy that gave the result, or None.
    shadow: the result with the shadow policies enforced, too; None if they could not change the result.
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
    misfit: ApprovalMisfit | None = None
