"""/v1/policies/{policy_id}/divergence."""

from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath

from app.http.authentication import requires
from app.http.policy_references import OWNER, OWNER_ALIASES, policy_in_path
from app.http.queries import Query
from app.model.api_keys import Caller, Scope
from app.replica import Services
from app.views.divergences import DivergenceView


@get("/v1/policies/{policy_id:str}/divergence", guards=[requires(Scope.READ, Scope.POLICIES)])
async def get_divergence(
    policy_id: FromPath[str], request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> DivergenceView:
    """How often the policy would have changed the result, since its last change."""
    known = await policy_in_path(services, caller, request, policy_id)
    Query(request, known=OWNER, aliases=OWNER_ALIASES)
    return DivergenceView.of(await services.divergences.get(caller.workspace_id, known))
