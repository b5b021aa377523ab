"""/v1/decisions: reported outcomes of allowed calls."""

import msgspec
from msgspec import UNSET, UnsetType

from app.errors import AuditEntryNotFound, DecisionNotFound, InsufficientScope, OutcomeConflict
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.references import id_in_path
from app.model.api_keys import Caller, Scope
from app.model.decisions import Result
from app.model.outcomes import CallOutcome, CallStatus, DecidedCall, decode_call
from app.model.records import MAX_BYTES, Reported, require_reported
from app.model.text import FieldError
from app.redaction.credentials import REDACTED
from app.redaction.recording import recorded
from app.replica import Services

_decode = msgspec.json.Decoder(Reported).decode


class ReportOutcome(Body, frozen=True):
    """The outcome of a call.

    status: `executed`, `failed` (it was tried), or `not_executed` (it was never tried).
    records: Of a call that was executed: what rules may read of its result, as records of text, numbers and booleans
    by their names, such as `reservation:4WQ150`. Needs the scope `record`.
    """

    status: CallStatus
    records: Reported | UnsetType = UNSET

    def __post_init__(self) -> None:
        if isinstance(self.records, UnsetType):
            return
        if self.status is not CallStatus.EXECUTED:
            raise FieldError("records", "only a call that was executed has a result")
        require_reported(self.records)


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
    used, and the session's history stays. `records` are kept for the agent in the call's session, with secrets
    redacted: the newest 16, until a day after the last report.
    """
    records = None if isinstance(data.records, UnsetType) else data.records
    if records and not caller.has_any((Scope.RECORD,)):
        raise InsufficientScope("Reporting records requires the scope record: rules believe them")
    unknown = DecisionNotFound("This key has asked for no decision with this id")
    known = id_in_path(decision_id, unknown)
    try:
        _, line = await services.log.audit.entry(caller.workspace_id, known)
    except AuditEntryNotFound:
        raise unknown from None
    decision = decode_call(line)
    _require_allowed(decision, caller, unknown)
    if records:
        records = _without_secrets(records, decision, caller, services)
    return await services.decisions.outcomes.record(caller.workspace_id, decision, data.status, records)


def _without_secrets(records: Reported, decision: DecidedCall, caller: Caller, services: Services) -> Reported:
    """The records as they may be stored. Raises OutcomeConflict if the call names no session that is known."""
    if not decision.session or REDACTED in decision.session:
        raise OutcomeConflict("The call named no session, or one that the log hides, so no rule could read its records")
    decisions = services.decisions
    return _decode(recorded(records, decisions.redactor, decisions.signer, caller.workspace_id, MAX_BYTES))


def _require_allowed(decision: DecidedCall, caller: Caller, unknown: DecisionNotFound) -> None:
    """Raise unless it is a decision that this key received, and that allowed the call."""
    if decision.key_id != caller.key_id or decision.result is None:
        raise unknown
    if decision.result is not Result.ALLOWED:
        raise OutcomeConflict(f"The call was {decision.result}, so it has no outcome")
