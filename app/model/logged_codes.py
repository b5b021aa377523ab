"""The code of a decision that is read back: entries keep result, rule and reason, but no code.

Only this module reads reasons. The sentences here are all that releases have written so far: when a reason is reworded,
add the new wording here and leave the old one in place. Tests compare the codes with those decided live.
"""

from app.model.decision_codes import DecisionCode
from app.model.decisions import Result
from app.model.rules import TYPES

_OF_RULE: dict[str, DecisionCode] = {rule.tag(): rule.code for rule in TYPES}
_APPROVALS_FULL = "Too many approvals wait for people already"
_WITHOUT_RULE = (
    ("All or nothing: ", DecisionCode.BATCH_REFUSED),
    ("Agent is suspended", DecisionCode.AGENT_SUSPENDED),
    ("Agent is revoked", DecisionCode.AGENT_REVOKED),
    ("Sequence rules look back on ", DecisionCode.SEQUENCE_FORBIDDEN),
)
_LIMITS = frozenset({"rate_limit", "budget", "denial_breaker"})
_FULL_LIMIT = ("Rate limit reached: ", "Budget spent: ", "Denial breaker: ", "This limit counts ")
"""The beginnings of the reasons of full limits. A limit that cannot tell what to count gives other reasons."""
_NOT_JUDGED = tuple(
    f'this rule\'s "{word}" {what}' for word in ("when", "unless") for what in ("reads it", "can judge")
)
"""The end of a reason if it is unknown whether the rule applies to the call."""


def code_from(result: Result, rule_type: str | None, reason: str) -> DecisionCode:
    """The code of a logged decision, derived from the fields of its entry."""
    if result is Result.ALLOWED:
        return DecisionCode.ALLOWED
    if result is Result.ESCALATED:
        return DecisionCode.APPROVAL_REQUIRED
    if reason.startswith(_APPROVALS_FULL):
        return DecisionCode.APPROVALS_FULL
    if rule_type is None:
        return next((code for begin, code in _WITHOUT_RULE if reason.startswith(begin)), DecisionCode.DEFAULT_DENY)
    if reason.endswith(_NOT_JUDGED) or (rule_type in _LIMITS and not reason.startswith(_FULL_LIMIT)):
        return DecisionCode.PARAMETER_INVALID
    return _OF_RULE.get(rule_type, DecisionCode.RULE_FAILED)
