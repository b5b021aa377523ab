"""/.well-known/authzen-configuration: where this decision point's endpoints are, for clients of AuthZEN."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from app.errors import NotFound
from app.http.api.authzen_evaluation import PATH as EVALUATION
from app.http.api.authzen_evaluations import PATH as EVALUATIONS
from app.http.api.authzen_search import PATHS as SEARCH
from app.http.endpoint import endpoint
from app.model.access_requests import CAPABILITY
from app.model.access_requests import PATH as REQUESTS
from app.model.ids import uuid_of
from app.replica import Services

_CACHED: dict[str, Any] = {"response_headers": {"Cache-Control": "max-age=3600"}}


class Metadata(Struct, frozen=True, kw_only=True):
    """A decision point's identifier and endpoints. One that is left out does not exist.

    policy_decision_point: Its identifier: the URL into which the well-known path was inserted.
    access_evaluation_endpoint: Where a single question is asked.
    access_evaluations_endpoint: Where several are asked at once.
    search_subject_endpoint: Where subjects are searched.
    search_resource_endpoint: Where resources are searched.
    search_action_endpoint: Where actions are searched.
    access_request_endpoint: Where access is requested that was denied, and can be.
    capabilities: What it can besides the standard itself, as URNs.
    """

    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str | UnsetType = UNSET
    search_subject_endpoint: str | UnsetType = UNSET
    search_resource_endpoint: str | UnsetType = UNSET
    search_action_endpoint: str | UnsetType = UNSET
    access_request_endpoint: str | UnsetType = UNSET
    capabilities: list[str] | UnsetType = UNSET


@endpoint("GET", "/.well-known/authzen-configuration", tag="AuthZEN", scopes=(), errors=(NotFound,), litestar=_CACHED)
async def metadata(services: Services) -> Metadata:
    """Read the metadata of this decision point.

    Without `REMIT_PUBLIC_URL` there is none, because every URL in it is absolute.
    """
    base = _base(services.settings.public_url)
    return _metadata(base, base)


@endpoint(
    "GET",
    "/.well-known/authzen-configuration/{workspace_id}",
    tag="AuthZEN",
    scopes=(),
    errors=(NotFound,),
    litestar=_CACHED,
)
async def metadata_of_workspace(workspace_id: str, services: Services) -> Metadata:
    """Read the metadata of a workspace's decision point.

    Its endpoints are everyone's: the key says which workspace is asked. Whether the workspace exists is not told.
    """
    named = uuid_of(workspace_id)
    if named is None:
        raise NotFound("A workspace is named by its id, a UUID")
    base = _base(services.settings.public_url)
    return _metadata(f"{base}/{named}", base)


def _base(public_url: str | None) -> str:
    if public_url is None:
        raise NotFound("There is no metadata: REMIT_PUBLIC_URL is not set, and every URL in it is absolute")
    return public_url.rstrip("/")


def _metadata(identifier: str, base: str) -> Metadata:
    return Metadata(
        policy_decision_point=identifier,
        access_evaluation_endpoint=base + EVALUATION,
        access_evaluations_endpoint=base + EVALUATIONS,
        search_subject_endpoint=base + SEARCH["subject"],
        search_resource_endpoint=base + SEARCH["resource"],
        search_action_endpoint=base + SEARCH["action"],
        access_request_endpoint=base + REQUESTS,
        capabilities=[CAPABILITY],
    )
