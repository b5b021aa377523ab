"""/v1/api-keys."""

from typing import Annotated, Any, ClassVar

from litestar import Response
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Meta, field

from app.errors import AgentNotFound, ApiKeyNotFound, LastAdminKey, LimitReached
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.json_array import answer_list
from app.http.openapi.examples.api_keys import API_KEY_VIEW, CREATE_API_KEY, CREATED_API_KEY
from app.http.references import id_in_path
from app.model.actors import ChangedBy
from app.model.agents import REFERENCE_RULES, AgentRef, agent_reference
from app.model.api_keys import Caller, Scope, SessionFrom, can_be_bound
from app.model.fields import DisplayName, Timestamp
from app.model.query_fields import Limit, Offset, QueryFields
from app.model.text import FieldError, require_visible
from app.model.times import parse_time_ms
from app.replica import Services
from app.views.api_keys import ApiKeyView, CreatedApiKey

_ADMIN: dict[str, Any] = {"tag": "API keys", "scopes": (Scope.ADMIN,)}


class KeyPage(QueryFields, frozen=True):
    """Which keys to list."""

    limit: Limit | None = None
    offset: Offset = 0


class Revocation(QueryFields, frozen=True):
    """How a key is revoked.

    force: Revoke it even if it is the last valid key with the scope `admin`.
    """

    force: bool = False


class CreateApiKey(Body, frozen=True):
    """A new key. Without expiresAt it never expires.

    scopes: What the key may do.
    agents: The only agents for which it may request decisions, by id or alias; an alias is resolved now. Null or left
    out = all. Only with `authorize`, and without `read` and `admin`, whose keys may ask for every agent.
    session_from: `key` = all calls of the key belong to one session of its own, whatever `context.session` says: for a
    runtime that cannot be trusted to name its sessions. Only with `authorize`, and without `read` and `admin`.
    expires_at: When the key stops being valid; null or left out = never. With a time that has passed it never is.
    """

    aliases: ClassVar[dict[str, str]] = {"expires_at": "expiresAt", "session_from": "sessionFrom"}

    name: DisplayName
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=10)]
    agents: Annotated[list[AgentRef], Meta(min_length=1, max_length=100)] | None = None
    session_from: SessionFrom | None = field(default=None, name="sessionFrom")
    expires_at: Timestamp | None = field(default=None, name="expiresAt")

    def __post_init__(self) -> None:
        require_visible("name", self.name)
        if self.agents is not None:
            _require_binding(self.agents, self.scopes)
        if self.session_from is not None and not can_be_bound(self.scopes):
            raise FieldError(
                "sessionFrom", "needs the scope authorize without read and admin, which ask in any session"
            )
        if self.expires_at is not None:
            try:
                parse_time_ms(self.expires_at)
            except ValueError as error:
                raise FieldError("expiresAt", str(error)) from None


@endpoint(
    "POST",
    "/v1/api-keys",
    **_ADMIN,
    examples=CREATE_API_KEY,
    status=201,
    example=CREATED_API_KEY,
    errors=(AgentNotFound, LimitReached),
    litestar={"response_headers": {"Cache-Control": "no-store"}},
)
async def create_key(
    data: JSONBody[CreateApiKey],
    caller: NamedDependency[Caller],
    services: NamedDependency[Services],
    by: NamedDependency[ChangedBy],
) -> CreatedApiKey:
    """Create an API key.

    The raw key is in this answer and never shown again.
    """
    expires_ms = None if data.expires_at is None else parse_time_ms(data.expires_at)
    scopes = tuple(dict.fromkeys(data.scopes))
    key, raw_key = await services.api_keys.create(
        caller.workspace_id,
        data.name,
        scopes,
        expires_ms,
        agents=await _ids(services, caller, data.agents),
        session_from=data.session_from,
        by=by,
    )
    return CreatedApiKey.of(key, raw_key)


@endpoint("GET", "/v1/api-keys", **_ADMIN, example=API_KEY_VIEW)
async def list_keys(
    params: NamedDependency[KeyPage], caller: NamedDependency[Caller], services: NamedDependency[Services]
) -> Response[list[ApiKeyView]]:
    """List API keys, oldest first."""
    keys = services.api_keys.each(caller.workspace_id, params.limit, params.offset)
    return await answer_list(keys, ApiKeyView.of)


@endpoint("DELETE", "/v1/api-keys/{key_id}", **_ADMIN, errors=(ApiKeyNotFound, LastAdminKey))
async def revoke_key(
    key_id: FromPath[str],
    params: NamedDependency[Revocation],
    caller: NamedDependency[Caller],
    services: NamedDependency[Services],
    by: NamedDependency[ChangedBy],
) -> None:
    """Revoke an API key.

    Every later request with it gets 401, from every replica. The last valid key with the scope `admin` is kept (409)
    unless you pass `force=true`: without one, only the console can make another.
    """
    known = id_in_path(key_id, ApiKeyNotFound("No API key has this id"))
    await services.api_keys.revoke(caller.workspace_id, known, force=params.force, by=by)
    await services.approval_reaper.end_soon(caller.workspace_id)


def _require_binding(agents: list[str], scopes: list[Scope]) -> None:
    """Raise FieldError unless the agents are ids and the scopes allow binding the key to them."""
    if not can_be_bound(scopes):
        raise FieldError("agents", "needs the scope authorize without read and admin, which ask about every agent")
    for index, given in enumerate(agents):
        if agent_reference(given) is None:
            raise FieldError(f"agents[{index}]", REFERENCE_RULES)


async def _ids(services: Services, caller: Caller, agents: list[str] | None) -> tuple[str, ...]:
    """The ids of these agents, without duplicates."""
    called = [agent_reference(given) or given for given in agents or ()]
    return tuple(dict.fromkeys([await services.agents.id_of(caller.workspace_id, each) for each in called]))
