"""/v1/decisions: reported outcomes of allowed calls."""

from app.errors import AuditEntryNotFound, DecisionNotFound, OutcomeConflict
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.references import id_in_path
from app.model.api_keys import Caller, Scope
from app.model.decisions import Result
from app.model.outcomes import CallOutcome, CallStatus, DecidedCall, decode_call
from app.replica import Services


class ReportOutcome(Body, frozen=True):
    """The outcome of a call.

    status: `executed`, `failed` (it was tried), or `not_executed` (it was never tried).
    """

    status: CallStatus


@endpoint(
    "POST",
    "/v1/decisions/{decision_id}/outcome",
    tag="Decisions",
    scopes=(Scope.READ, Scope.AUTHORIZE),
    errors=(DecisionNotFound, OutcomeConflict),
)
async def report_outcome(decision_id: str, data: ReportOutcome, caller: Caller, services: Services) -> CallOutcome:
    """Report the outcome of an allowed call.

    Once, within 24 hours, with the key that asked; a repeated report gets the first answer again. The log gets an
    entry. `not_executed` gives back what the call took from limits and budgets that are `refundable`; approvals stay
    used, and the session's history stays.
    """
    unknown = DecisionNotFound("This key has asked for no decision with this id")
    known = id_in_path(decision_id, unknown)
    try:
        _, line = await services.log.audit.entry(caller.workspace_id, known)
    except AuditEntryNotFound:
        raise unknown from None
    decision = decode_call(line)
    _require_allowed(decision, caller, unknown)
    return await services.decisions.outcomes.record(caller.workspace_id, decision, data.status)


def _require_allowed(decision: DecidedCall, caller: Caller, unknown: DecisionNotFound) -> None:
    """Raise unless it is a decision that this key received, and that allowed the call."""
    if decision.key_id != caller.key_id or decision.result is None:
        raise unknown
    if decision.result is not Result.ALLOWED:
        raise OutcomeConflict(f"The call was {decision.result}, so it has no outcome")
