"""The outcome of an allowed call: reported once, with the key that asked."""

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from app.model.decisions import Result, RuleRef
from app.model.fields import Count, Id, Timestamp
from app.model.sequences import MAX_SESSION_LENGTH

REPORT_MS = 24 * 3600 * 1000
"""The time after the decision in which its outcome can be reported."""


class CallStatus(StrEnum):
    """`executed`, `failed` (it was tried), or `not_executed` (it was never tried): only the last refunds limits."""

    EXECUTED = "executed"
    FAILED = "failed"
    NOT_EXECUTED = "not_executed"


class DecidedCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields of a log entry needed here; `result` is None in an entry that is not a decision."""

    id: str
    agent_id: str
    key_id: str
    tool_name: str
    result: Result | None
    policy_id: str | None
    rule: RuleRef | None
    timestamp: str
    context: dict[str, Any] = {}

    @property
    def session(self) -> str:
        """The call's session, as the log has it; "" if it names none."""
        name = self.context.get("session")
        return name if isinstance(name, str) and len(name) <= MAX_SESSION_LENGTH else ""


class CallOutcome(Struct, frozen=True, rename="camel"):
    """The outcome of a call, as logged.

    id: The log entry that records it.
    decision_id: The decision that allowed the call.
    status: The reported status.
    refunded: How many limits and budgets of rules with `refundable` have given back what the call took.
    timestamp: When it was reported, by the store's clock.
    """

    id: Id
    decision_id: Id
    status: CallStatus
    refunded: Count
    timestamp: Timestamp


decode_call = msgspec.json.Decoder(DecidedCall).decode
