"""A decision for programs: a code, and what may be done next. Both follow from the fields of the entry."""

from enum import StrEnum

from app.model.decisions import Outcome, Result

DEFAULT_DENY = "No policy matches this call: default deny"
AGENT_IS = "Agent is "
"""The beginning of the reason why an inactive agent is denied; its status follows."""
NO_APPROVAL_ROOM = "Too many approvals wait for people already"
"""Exactly as in `commit_decision`."""
TOO_MANY_SESSIONS = "Sequence rules look back on "
"""The beginning of the commit's reason if the session's history has no room for the call."""
_LIMIT_REASONS = ("Rate limit reached: ", "Budget spent: ", "This limit counts ")
"""The beginning of the reasons of full limits. A rule that cannot tell what to count has other reasons."""
_UNJUDGED = tuple(f'this rule\'s "{word}" {what}' for word in ("when", "unless") for what in ("reads it", "can judge"))
"""The end of a reason if it is unknown whether the rule applies to the call."""


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
    OUTSIDE_HOURS = "outside_hours"
    SEQUENCE_FORBIDDEN = "sequence_forbidden"
    RULE_FAILED = "rule_failed"
    APPROVALS_FULL = "approvals_full"
    AGENT_SUSPENDED = "agent_suspended"
    AGENT_REVOKED = "agent_revoked"


class NextAction(StrEnum):
    """What could lead to another answer: nothing, waiting, other parameters, or a person."""

    NONE = "none"
    RETRY = "retry"
    CHANGE_PARAMETERS = "change_parameters"
    REQUEST_APPROVAL = "request_approval"


_OF_RULE = {
    "tool_allowlist": DecisionCode.NOT_ALLOWLISTED,
    "tool_denylist": DecisionCode.TOOL_DENIED,
    "approval_required": DecisionCode.APPROVAL_REQUIRED,
    "denial_breaker": DecisionCode.APPROVAL_REQUIRED,
    "parameter_constraint": DecisionCode.PARAMETER_INVALID,
    "parameter_schema": DecisionCode.SCHEMA_INVALID,
    "rate_limit": DecisionCode.QUOTA_FULL,
    "budget": DecisionCode.BUDGET_SPENT,
    "time_based": DecisionCode.OUTSIDE_HOURS,
    "sequence": DecisionCode.SEQUENCE_FORBIDDEN,
}
_OF_STATUS = {
    f"{AGENT_IS}suspended": DecisionCode.AGENT_SUSPENDED,
    f"{AGENT_IS}revoked": DecisionCode.AGENT_REVOKED,
}
_LIMITS = frozenset({"rate_limit", "budget"})
_NEXT = {
    DecisionCode.APPROVAL_REQUIRED: NextAction.REQUEST_APPROVAL,
    DecisionCode.PARAMETER_INVALID: NextAction.CHANGE_PARAMETERS,
    DecisionCode.SCHEMA_INVALID: NextAction.CHANGE_PARAMETERS,
    DecisionCode.BUDGET_SPENT: NextAction.CHANGE_PARAMETERS,
    DecisionCode.OUTSIDE_HOURS: NextAction.RETRY,
    DecisionCode.APPROVALS_FULL: NextAction.RETRY,
}


def code_of(outcome: Outcome) -> DecisionCode:
    """The code of a decision with this outcome."""
    rule = outcome.rule
    return code_from(outcome.result, None if rule is None else rule.type, outcome.reason)


def code_from(result: Result, rule_type: str | None, reason: str) -> DecisionCode:
    """The same, from the fields of an audit entry."""
    if result is Result.ALLOWED:
        return DecisionCode.ALLOWED
    if result is Result.ESCALATED:
        return DecisionCode.APPROVAL_REQUIRED
    if reason.startswith(NO_APPROVAL_ROOM):
        return DecisionCode.APPROVALS_FULL
    if rule_type is None:
        if reason.startswith(TOO_MANY_SESSIONS):
            return DecisionCode.SEQUENCE_FORBIDDEN
        return _OF_STATUS.get(reason, DecisionCode.DEFAULT_DENY)
    if reason.endswith(_UNJUDGED) or (rule_type in _LIMITS and not reason.startswith(_LIMIT_REASONS)):
        return DecisionCode.PARAMETER_INVALID
    return _OF_RULE.get(rule_type, DecisionCode.RULE_FAILED)


def next_action(code: DecisionCode, *, waiting_helps: bool) -> NextAction:
    """What could lead to another answer. waiting_helps: the decision says how long to wait."""
    if waiting_helps and code is not DecisionCode.APPROVAL_REQUIRED:
        return NextAction.RETRY
    return _NEXT.get(code, NextAction.NONE)
