"""What became of a call that was allowed: reported once, by the key that asked."""

from enum import StrEnum

import msgspec
from msgspec import Struct

from app.model.decisions import Result, RuleRef
from app.model.fields import Count, Id, Timestamp

REPORT_MS = 24 * 3600 * 1000
"""How long after the decision its outcome can be reported."""


class CallStatus(StrEnum):
    """`executed`, `failed` (it was tried), or `not_executed` (it was never tried): that alone gives limits back."""

    EXECUTED = "executed"
    FAILED = "failed"
    NOT_EXECUTED = "not_executed"


class DecidedCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """What of an entry of the log matters here; `result` is None where it is no decision."""

    id: str
    agent_id: str
    key_id: str
    tool_name: str
    result: Result | None
    policy_id: str | None
    rule: RuleRef | None
    timestamp: str


class CallOutcome(Struct, frozen=True, rename="camel"):
    """What became of a call, as the log has it.

    id: The entry of the log that says so.
    decision_id: The decision that allowed the call.
    status: What was reported.
    refunded: How many limits and budgets of rules with `refundable` have given back what the call took.
    timestamp: When it was reported, by the store's clock.
    """

    id: Id
    decision_id: Id
    status: CallStatus
    refunded: Count
    timestamp: Timestamp


decode_call = msgspec.json.Decoder(DecidedCall).decode
