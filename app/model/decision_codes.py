"""A decision for programs: a code, and what may be done next."""

from enum import StrEnum


class DecisionCode(StrEnum):
    """Why it was decided this way, for programs. Codes may be added; their meanings do not change."""

    ALLOWED = "allowed"
    APPROVAL_REQUIRED = "approval_required"
    DEFAULT_DENY = "default_deny"
    TOOL_DENIED = "tool_denied"
    NOT_ALLOWLISTED = "not_allowlisted"
    PARAMETER_INVALID = "parameter_invalid"
    SCHEMA_INVALID = "schema_invalid"
    QUOTA_FULL = "quota_full"
    BUDGET_SPENT = "budget_spent"
    TOO_MANY_DENIALS = "too_many_denials"
    OUTSIDE_HOURS = "outside_hours"
    SEQUENCE_FORBIDDEN = "sequence_forbidden"
    REQUEST_NOT_PINNED = "request_not_pinned"
    RULE_FAILED = "rule_failed"
    APPROVALS_FULL = "approvals_full"
    BATCH_REFUSED = "batch_refused"
    AGENT_SUSPENDED = "agent_suspended"
    AGENT_REVOKED = "agent_revoked"


class ApprovalMisfit(StrEnum):
    """Why an approval of the caller's own does not count: it is over, or it is another call's."""

    EXPIRED = "approval_expired"
    OUT_OF_SCOPE = "out_of_scope"


class NextAction(StrEnum):
    """What could lead to another answer: nothing, waiting, other parameters, or a person."""

    NONE = "none"
    RETRY = "retry"
    CHANGE_PARAMETERS = "change_parameters"
    REQUEST_APPROVAL = "request_approval"


_NEXT = {
    DecisionCode.APPROVAL_REQUIRED: NextAction.REQUEST_APPROVAL,
    DecisionCode.PARAMETER_INVALID: NextAction.CHANGE_PARAMETERS,
    DecisionCode.SCHEMA_INVALID: NextAction.CHANGE_PARAMETERS,
    DecisionCode.BUDGET_SPENT: NextAction.CHANGE_PARAMETERS,
    DecisionCode.OUTSIDE_HOURS: NextAction.RETRY,
    DecisionCode.APPROVALS_FULL: NextAction.RETRY,
}


def next_action(code: DecisionCode, *, waiting_helps: bool) -> NextAction:
    """The next action for a decision with this code. waiting_helps: the decision says how long to wait."""
    if waiting_helps and code is not DecisionCode.APPROVAL_REQUIRED:
        return NextAction.RETRY
    return _NEXT.get(code, NextAction.NONE)
