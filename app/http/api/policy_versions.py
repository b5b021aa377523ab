"""/v1/policies/{policy_id}/versions and …/rollback."""

from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from app.http.api.policies import answer_written
from app.http.authentication import requires
from app.http.bodies import Body
from app.http.json_array import answer_list
from app.http.litestar_bodies import BodyDTO
from app.http.policy_references import OWNER, OWNER_ALIASES, policy_in_path
from app.http.policy_warnings import STRICT, accepted_warnings, is_strict
from app.http.queries import Query
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.replica import Services
from app.store.optimistic import Versions
from app.views.policies import WrittenPolicyView
from app.views.policy_versions import PolicyVersionView


class RollBack(Body, frozen=True):
    """The version to restore.

    version: One that `GET /v1/policies/{id}/versions` lists.
    """

    version: Annotated[int, Meta(ge=1, le=10**15)]


@get("/v1/policies/{policy_id:str}/versions", guards=[requires(Scope.READ, Scope.POLICIES)])
async def list_versions(
    policy_id: FromPath[str], request: Request[Any, Any, Any], caller: Handed[Caller], services: Handed[Services]
) -> Response[Any]:
    """The policy after each of its changes, newest first."""
    known = await policy_in_path(services, caller, request, policy_id, "limit")
    limit = Query(request, known=(*OWNER, "limit"), aliases=OWNER_ALIASES).limit()
    versions = services.policy_versions.each(caller.workspace_id, known, limit)
    return await answer_list(versions, PolicyVersionView.of)


@post(
    "/v1/policies/{policy_id:str}/rollback",
    status_code=200,
    guards=[requires(Scope.ADMIN, Scope.POLICIES)],
    dto=BodyDTO,
)
async def roll_back(
    policy_id: FromPath[str],
    data: JSONBody[RollBack],
    request: Request[Any, Any, Any],
    caller: Handed[Caller],
    services: Handed[Services],
    if_match: Handed[Versions],
    by: Handed[ChangedBy],
) -> Response[WrittenPolicyView]:
    """Restore the policy as it was at that version, as a new version."""
    known = await policy_in_path(services, caller, request, policy_id, STRICT)
    strict = is_strict(Query(request, known=(*OWNER, STRICT), aliases=OWNER_ALIASES))
    draft = await services.policy_versions.get(caller.workspace_id, known, data.version)
    warnings = await accepted_warnings(services, caller, draft, strict=strict)
    policy = await services.policy_versions.roll_back(
        caller.workspace_id, known, data.version, if_match=if_match, by=by
    )
    return answer_written(policy, warnings)
