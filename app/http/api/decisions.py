"""/v1/decisions: reported outcomes of allowed calls."""

from litestar import post
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath, JSONBody

from app.errors import AuditEntryNotFound, DecisionNotFound, OutcomeConflict
from app.http.authentication import requires
from app.http.bodies import Body
from app.http.litestar_bodies import BodyDTO
from app.http.paths import id_in_path
from app.model.api_keys import Caller, Scope
from app.model.decisions import Result
from app.model.outcomes import CallOutcome, CallStatus, DecidedCall, decode_call
from app.replica import Services


class ReportOutcome(Body, frozen=True):
    """The outcome of a call.

    status: `executed`, `failed` (it was tried), or `not_executed` (it was never tried).
    """

    status: CallStatus


@post(
    "/v1/decisions/{decision_id:str}/outcome",
    guards=[requires(Scope.READ, Scope.AUTHORIZE)],
    dto=BodyDTO,
    status_code=200,
)
async def report_outcome(
    decision_id: FromPath[str], data: JSONBody[ReportOutcome], caller: Handed[Caller], services: Handed[Services]
) -> CallOutcome:
    """Log the report. If the call was not executed, refundable limits no longer count it."""
    unknown = DecisionNotFound("This key has asked for no decision with this id")
    known = id_in_path(decision_id, unknown)
    try:
        _, line = await services.audit.entry(caller.workspace_id, known)
    except AuditEntryNotFound:
        raise unknown from None
    decision = decode_call(line)
    _require_allowed(decision, caller, unknown)
    return await services.outcomes.record(caller.workspace_id, decision, data.status)


def _require_allowed(decision: DecidedCall, caller: Caller, unknown: DecisionNotFound) -> None:
    """Raise unless it is a decision that this key received, and that allowed the call."""
    if decision.key_id != caller.key_id or decision.result is None:
        raise unknown
    if decision.result is not Result.ALLOWED:
        raise OutcomeConflict(f"The call was {decision.result}, so it has no outcome")
