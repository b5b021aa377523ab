"""/v1/api-keys."""

from typing import Annotated, Any, ClassVar

from litestar import Response
from msgspec import UNSET, Meta, Struct, UnsetType

from app.errors import AgentNotFound, ApiKeyNotFound, LastAdminKey, LimitReached
from app.http.bodies import Body
from app.http.endpoint import NO_STORE, endpoint
from app.http.json_array import answer_list
from app.http.references import agents_named, id_in_path
from app.http.views import as_view
from app.model.actors import ChangedBy
from app.model.api_keys import ApiKey, Caller, Scope, SessionFrom
from app.model.fields import CreatedAt, DisplayName, Id, Timestamp
from app.model.query_fields import Limit, Offset, QueryFields
from app.model.requests import NewKey, Rotation
from app.model.times import parse_time_ms, rfc3339
from app.replica import Records, Services

_ADMIN: dict[str, Any] = {"tag": "API keys", "scopes": (Scope.ADMIN,)}


class _ShownKey(Struct, frozen=True, kw_only=True, rename="camel"):
    """What every view of a key shows.

    prefix: The raw key's first 12 characters, to tell keys apart.
    scopes: What the key may do.
    agents: The only agents for which it may ask decisions; left out = all.
    session_from: `key` = its calls are one session, whatever they say; left out = `context.session` says.
    expires_at: When the key stops being valid; null or left out = never.
    """

    id: Id
    name: DisplayName
    prefix: str
    scopes: list[Scope]
    agents: list[Id] | UnsetType = UNSET
    session_from: SessionFrom | UnsetType = UNSET
    expires_at: Timestamp | None
    created_at: CreatedAt


class ApiKeyView(_ShownKey, frozen=True, kw_only=True, rename="camel"):
    """A key in lists, which never show the raw key.

    last_used_at: When a request was last authenticated by it, to the second; null = never.
    """

    last_used_at: Timestamp | None

    @classmethod
    def of(cls, key: ApiKey) -> "ApiKeyView":
        return as_view(cls, key)


class CreatedApiKey(_ShownKey, frozen=True, kw_only=True, rename="camel"):
    """A new key: `key` is the raw key, shown only here.

    key: The raw key. Shown only here.
    """

    key: Annotated[str, Meta(extra_json_schema={"pattern": "^svc_[0-9a-f]{32}$"})]

    @classmethod
    def of(cls, key: ApiKey, raw_key: str) -> "CreatedApiKey":
        return as_view(cls, key, key=raw_key)


class RotatedApiKey(CreatedApiKey, frozen=True, kw_only=True, rename="camel"):
    """The successor of a key: `key` is its raw key, shown only here.

    replaces: The key that it succeeds.
    replaced_until: Until when that key is still valid.
    """

    replaces: Id
    replaced_until: Timestamp

    @classmethod
    def succeeding(cls, old: ApiKey, key: ApiKey, raw_key: str) -> "RotatedApiKey":
        return as_view(cls, key, key=raw_key, replaces=old.id, replaced_until=rfc3339(old.expires_ms or 0))


class KeyPage(QueryFields, frozen=True):
    """Which keys to list."""

    limit: Limit | None = None
    offset: Offset = 0


class Revocation(QueryFields, frozen=True):
    """How a key is revoked.

    force: Revoke it even if it is the last valid key with the scope `admin`.
    """

    force: bool = False


class CreateApiKey(Body, NewKey, frozen=True):
    """A new key. Without expiresAt it never expires."""

    aliases: ClassVar[dict[str, str]] = {"expires_at": "expiresAt", "session_from": "sessionFrom"}


class RotateApiKey(Body, Rotation, frozen=True):
    """How a key is replaced."""

    aliases: ClassVar[dict[str, str]] = {"expires_at": "expiresAt", "overlap_seconds": "overlapSeconds"}


@endpoint(
    "POST",
    "/v1/api-keys",
    **_ADMIN,
    status=201,
    errors=(AgentNotFound, LimitReached),
    litestar={"response_headers": NO_STORE},
)
async def create_key(data: CreateApiKey, caller: Caller, records: Records, by: ChangedBy) -> CreatedApiKey:
    """Create an API key.

    The raw key is in this answer and never shown again.
    """
    made, raw_key = await records.api_keys.create(
        caller.workspace_id,
        data.name,
        tuple(dict.fromkeys(data.scopes)),
        None if data.expires_at is None else parse_time_ms(data.expires_at),
        agents=tuple(await agents_named(records, caller, data.agents or ())),
        session_from=data.session_from,
        by=by,
    )
    return CreatedApiKey.of(made, raw_key)


@endpoint("GET", "/v1/api-keys", **_ADMIN)
async def list_keys(params: KeyPage, caller: Caller, records: Records) -> Response[list[ApiKeyView]]:
    """List API keys, oldest first."""
    keys = records.api_keys.each(caller.workspace_id, params.limit, params.offset)
    return await answer_list(keys, ApiKeyView.of)


@endpoint(
    "POST",
    "/v1/api-keys/{key_id}/rotate",
    **_ADMIN,
    status=201,
    errors=(ApiKeyNotFound, LimitReached),
    litestar={"response_headers": NO_STORE},
)
async def rotate_key(key_id: str, data: RotateApiKey, caller: Caller, records: Records, by: ChangedBy) -> RotatedApiKey:
    """Replace an API key.

    Creates its successor and sets when the key itself expires, in one step; nothing has to run later. The successor's
    raw key is in this answer and never shown again.
    """
    known = id_in_path(key_id, ApiKeyNotFound("No API key has this id"))
    expires_ms = None if data.expires_at is None else parse_time_ms(data.expires_at)
    made, raw_key, old = await records.api_keys.rotate(
        caller.workspace_id, known, data.overlap_seconds * 1000, expires_ms, by=by
    )
    return RotatedApiKey.succeeding(old, made, raw_key)


@endpoint("DELETE", "/v1/api-keys/{key_id}", **_ADMIN, errors=(ApiKeyNotFound, LastAdminKey))
async def revoke_key(key_id: str, params: Revocation, caller: Caller, services: Services, by: ChangedBy) -> None:
    """Revoke an API key.

    Every later request with it gets 401, from every replica. The last valid key with the scope `admin` is kept (409)
    unless you pass `force=true`: without one, only the command line, on the store, can make another.
    """
    known = id_in_path(key_id, ApiKeyNotFound("No API key has this id"))
    await services.records.api_keys.revoke(caller.workspace_id, known, force=params.force, by=by)
    await services.consequences.end_approvals(caller.workspace_id)
