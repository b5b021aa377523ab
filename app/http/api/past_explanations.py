"""/v1/audit-logs/{entry_id}/explanation."""

from litestar import get
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath

from app.errors import AuditEntryNotFound
from app.http.authentication import requires
from app.http.paths import id_in_path
from app.model.api_keys import Caller, Scope
from app.model.explanations import PastExplanation
from app.replica import Services


@get("/v1/audit-logs/{entry_id:str}/explanation", guards=[requires(Scope.READ, Scope.AUDIT)])
async def explain_entry(entry_id: FromPath[str], caller: Handed[Caller], services: Handed[Services]) -> PastExplanation:
    """Explain a past decision: evaluate its call again by the policies that governed the agent then."""
    known = id_in_path(entry_id, AuditEntryNotFound("No audit entry has this id"))
    return await services.past_decisions.explain(caller.workspace_id, known)
