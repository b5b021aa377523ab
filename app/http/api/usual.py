"""/v1/approvals/{approval_id}/usual: what is unusual about a call that waits for a person."""

from app.approvals.approvals import unknown_approval
from app.errors import ApprovalNotFound, AuditLogDamaged
from app.http.endpoint import endpoint
from app.http.references import id_in_path
from app.model.api_keys import Caller, Scope
from app.model.usual import Usual
from app.replica import Services


@endpoint(
    "GET",
    "/v1/approvals/{approval_id}/usual",
    tag="Approvals",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT, Scope.APPROVE),
    errors=(ApprovalNotFound, AuditLogDamaged),
)
async def get_usual(approval_id: str, caller: Caller, services: Services) -> Usual:
    """Compare the call with what its agent was allowed to do with the tool.

    Each value of the parameters beside those of the latest 50 allowed calls: least, median and most of numbers, the
    most frequent other values, and in words what is unusual. What the log hides is neither compared nor shown.
    """
    approval = await services.records.approvals.get(caller.workspace_id, id_in_path(approval_id, unknown_approval()))
    return await services.explanations.usual_calls.beside(caller.workspace_id, approval)
