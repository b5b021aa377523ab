"""/v1/session: signing in, who is signed in, signing out; /v1/sessions: everybody's."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from msgspec import UNSET, Meta, Struct, UnsetType

from app.errors import (
    CrossSite,
    InsufficientScope,
    Invalid,
    LimitReached,
    LockedOut,
    NoAccess,
    NotSignedIn,
    ProviderUnavailable,
    SessionNotFound,
    SeveralWorkspaces,
    StoreUnavailable,
    Unauthorized,
)
from app.http.authentication import note_failure, peer_of, raw_key_in_use
from app.http.bodies import Body
from app.http.cookies import require_same_origin, set_cookie
from app.http.endpoint import NO_STORE, endpoint
from app.http.json_array import answer_list
from app.http.queries import decode_query
from app.http.references import id_in_path
from app.http.views import as_view
from app.model.actors import ChangedBy, Via
from app.model.api_keys import SESSION_TYPE, Caller, Scope, is_raw_key
from app.model.fields import Count, CreatedAt, DisplayName, Id, Timestamp
from app.model.query_fields import Limit, Offset, QueryFields
from app.model.sign_ins import Identity, SignIn, Standing
from app.model.text import FieldError
from app.model.times import rfc3339
from app.replica import Records, Services
from app.store.standing import standing_of

_COOKIE = {"Set-Cookie": "`__Host-remit`, which contains the session's token, or is taken away."}
_ANY: dict[str, Any] = {"tag": "Sessions", "scopes": tuple(each for each in Scope if each is not Scope.ADMIN)}
_ADMIN: dict[str, Any] = {"tag": "Sessions", "scopes": (Scope.ADMIN,)}


class WorkspaceName(Struct, frozen=True):
    """The workspace of a session.

    id: Its id.
    name: Its name.
    """

    id: Id
    name: str


class Totals(Struct, frozen=True, kw_only=True, rename="camel"):
    """How much there is of what the scopes may read; the rest is left out.

    pending_approvals: Approvals that wait for a person.
    agents: Agents of the workspace.
    policies: Policies of the workspace.
    """

    pending_approvals: Count | UnsetType = UNSET
    agents: Count | UnsetType = UNSET
    policies: Count | UnsetType = UNSET


class SignedInPerson(Struct, frozen=True, rename="camel"):
    """Somebody who signed in with the identity provider.

    id: The same at every sign-in.
    groups: The groups that they had when they signed in.
    authenticated_at: When the provider last saw their credentials; left out = it did not say.
    """

    id: Id
    groups: list[str]
    authenticated_at: Timestamp | UnsetType = UNSET


class SessionView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session.

    id: Its id, which the log and the trail have as the id of a key.
    name: Who signed in: the name of the API key, or of the person.
    scopes: What it was given at sign-in; it may use those of them that the settings still give its groups.
    via: `console` = its token is in the cookie of a browser; `cli` = a program sends it as a bearer token.
    key_id: The API key that it was made from and ends with; left out = none.
    person: Who signed in with the identity provider; left out = somebody with a key or a code.
    created_at: When it was made.
    last_used_at: When a request was last authenticated by it, to the second; null = never.
    idle_until: When it ends if it is not used before.
    until: When it ends in any case.
    """

    id: Id
    name: DisplayName
    scopes: list[Scope]
    via: Via
    key_id: Id | UnsetType = UNSET
    person: SignedInPerson | UnsetType = UNSET
    created_at: CreatedAt
    last_used_at: Timestamp | None
    idle_until: Timestamp
    until: Timestamp

    @classmethod
    def of(cls, session: SignIn) -> "SessionView":
        return as_view(cls, session, **_named(session))


class WhoAmI(Struct, frozen=True, kw_only=True, rename="camel"):
    """Who makes the request.

    key_id: The API key in use: of a session, the one that it was made from; left out = the session was made without.
    session_id: The session in use; left out = the request was made with an API key.
    name: Of the API key, or of who signed in.
    workspace: The workspace that all requests are about.
    scopes: What the caller may do.
    agents: The only agents for which the caller may ask decisions; left out = all.
    person: Of a session that was made with the identity provider: who it is.
    via: Of a session, where it is used: `console` or `cli`.
    idle_until: When the session ends if it is not used before.
    until: When the session ends in any case, or the API key expires; null = never.
    totals: Numbers for the first screen.
    """

    name: DisplayName
    workspace: WorkspaceName
    scopes: list[Scope]
    agents: list[Id] | UnsetType = UNSET
    key_id: Id | UnsetType = UNSET
    session_id: Id | UnsetType = UNSET
    person: SignedInPerson | UnsetType = UNSET
    via: Via | UnsetType = UNSET
    idle_until: Timestamp | UnsetType = UNSET
    until: Timestamp | None
    totals: Totals

    @classmethod
    def of(cls, caller: Caller, standing: Standing) -> "WhoAmI":
        session = standing.session
        until_ms = standing.expires_ms if session is None else session.ends_ms
        return cls(
            name=caller.name,
            workspace=WorkspaceName(caller.workspace_id, standing.workspace_name),
            scopes=sorted(caller.scopes),
            agents=UNSET if caller.agents is None else sorted(caller.agents),
            key_id=caller.key_id if session is None else session.key_id or UNSET,
            person=UNSET if session is None else _person(session),
            session_id=UNSET if session is None else session.id,
            via=UNSET if session is None else session.via,
            idle_until=UNSET if session is None else rfc3339(session.expires_ms),
            until=None if until_ms is None else rfc3339(until_ms),
            totals=Totals(
                pending_approvals=_or_left_out(standing.pending_approvals),
                agents=_or_left_out(standing.agents),
                policies=_or_left_out(standing.policies),
            ),
        )


class NewSession(SessionView, frozen=True, kw_only=True, rename="camel"):
    """A new session. Its token is in the cookie, or here if it was asked for.

    token: The token, to be sent as `Authorization: Bearer ses_…`. Shown only here, and only if `transport` is `bearer`.
    """

    token: Annotated[str, Meta(extra_json_schema={"pattern": "^ses_[0-9a-f]{64}$"})] | UnsetType = UNSET

    @classmethod
    def made(cls, session: SignIn, token: str) -> "NewSession":
        return as_view(cls, session, **_named(session), token=token if session.via is Via.CLI else UNSET)


class SignedOut(Struct, frozen=True, kw_only=True, rename="camel"):
    """The session has ended.

    provider_url: Where a browser goes next to sign out at the identity provider, too; null = nowhere.
    """

    provider_url: str | None


def _person(session: SignIn) -> SignedInPerson | UnsetType:
    if not session.person:
        return UNSET
    seen_s = session.authenticated_s
    return SignedInPerson(session.person, list(session.groups), UNSET if seen_s is None else rfc3339(seen_s * 1000))


def _or_left_out(total: int | None) -> int | UnsetType:
    return UNSET if total is None else total


def _named(session: SignIn) -> dict[str, Any]:
    """What a session has under other names."""
    times = {"idle_until": rfc3339(session.expires_ms), "until": rfc3339(session.ends_ms)}
    return {"person": _person(session), **times}


class Transport(StrEnum):
    """Where the token of a session goes: into a browser's cookie, or into the answer, for a program."""

    COOKIE = "cookie"
    BEARER = "bearer"


class SignInBody(Body, frozen=True):
    """Proof of who signs in: exactly one of key, code and id_token.

    key: An API key. The session has its scopes and ends with it.
    code: The one-time code that `remit console` prints.
    id_token: An ID token of the identity provider, ten minutes old at most, for the client of `remit login`.
    workspace: With id_token, for somebody with access to several, who must name one.
    transport: `cookie` = for a browser; `bearer` = the answer has the token.
    """

    aliases: ClassVar[dict[str, str]] = {"idToken": "id_token"}

    max_bytes: ClassVar[int] = 18 * 1024
    key: Annotated[str, Meta(max_length=100)] | UnsetType = UNSET
    code: Annotated[str, Meta(max_length=100)] | UnsetType = UNSET
    id_token: Annotated[str, Meta(max_length=16 * 1024)] | UnsetType = UNSET
    workspace: Annotated[str, Meta(min_length=1, max_length=255)] | UnsetType = UNSET
    transport: Transport = Transport.COOKIE

    def __post_init__(self) -> None:
        if [self.key, self.code, self.id_token].count(UNSET) != 2:  # noqa: PLR2004 - all but one
            raise FieldError("key", "give exactly one of `key`, `code` and `id_token`")


class SessionPage(QueryFields, frozen=True):
    """Which sessions to list."""

    limit: Limit | None = None
    offset: Offset = 0


async def _without_a_key(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """A sign-in needs no key; its query is empty, as with every endpoint."""
    decode_query(connection.scope["query_string"], QueryFields)


@endpoint(
    "POST",
    "/v1/session",
    tag="Sessions",
    scopes=(),
    status=201,
    errors=(
        Invalid,
        Unauthorized,
        CrossSite,
        InsufficientScope,
        NoAccess,
        SeveralWorkspaces,
        LimitReached,
        LockedOut,
        StoreUnavailable,
        ProviderUnavailable,
    ),
    headers=_COOKIE,
    litestar={"guards": [_without_a_key]},
)
async def sign_in(request: Request[Any, Any, Any], data: SignInBody, services: Services) -> Response[NewSession]:
    """Sign in.

    A session ends after 8 hours, when it has not been used for 30 minutes, or with the API key that it was made from.
    """
    if data.transport is Transport.COOKIE:
        # Otherwise any page could sign a browser in as somebody else.
        require_same_origin("POST", request.scope["headers"], services.settings.public_url)
    try:
        workspace_id, identity = await _proven(services, data)
    except Unauthorized as error:
        note_failure(services.decisions, peer_of(request.scope), request.scope["headers"], error)
        raise
    via = Via.CONSOLE if data.transport is Transport.COOKIE else Via.CLI
    session, token = await services.records.sign_ins.create(workspace_id, identity, via)
    lasts_s = (session.ends_ms - session.created_ms) // 1000
    cookie = {"Set-Cookie": set_cookie(token, lasts_s)} if via is Via.CONSOLE else {}
    return Response(NewSession.made(session, token), headers=NO_STORE | cookie)


async def _proven(services: Services, data: SignInBody) -> tuple[str, Identity]:
    """The workspace and the identity that the body proves. Raises Unauthorized."""
    if data.key is not UNSET and services.settings.oidc_only and data.transport is Transport.COOKIE:
        raise Invalid.at("key", "is for programs here; people sign in with the identity provider (REMIT_OIDC_ONLY)")
    if data.code is not UNSET:
        found = await services.records.sign_ins.redeem(data.code)
        if found is None:
            raise Unauthorized("The code is unknown, was used already, or is older than a minute")
        return found
    if data.id_token is not UNSET:
        if services.provider is None:
            raise Unauthorized("ID tokens are not accepted: REMIT_OIDC_ISSUER is not set")
        claims = await services.provider.presented(data.id_token)
        name, identity = services.provider.identity(claims, "" if data.workspace is UNSET else data.workspace)
        workspace_id = await workspace_id_of(services, name)
        if not await services.records.sign_ins.use_id_token(services.provider.issuer, data.id_token):
            raise Unauthorized("The ID token was used before; sign in again")
        return workspace_id, identity
    key = "" if data.key is UNSET else data.key
    if not is_raw_key(key) or key.startswith(SESSION_TYPE):
        raise Unauthorized("`key` must be an API key: svc_ and 32 lower-case hex digits")
    caller = await services.decisions.authenticator.authenticate(key)
    if caller.agents is not None or caller.session_from is not None:
        # A session would be another key, and so another session of `sequence` rules.
        raise InsufficientScope("A key that is bound to agents or to a session is for a runtime, and cannot sign in")
    scopes = tuple(sorted(caller.scopes))
    return caller.workspace_id, Identity(name=caller.name, scopes=scopes, key_id=caller.key_id)


async def workspace_id_of(services: Services, name: str) -> str:
    """The id of a workspace in which a setting gives access. Raises NoAccess, which names no other workspace."""
    workspace_id = (await services.records.workspaces.by_name()).get(name)
    if workspace_id is None:
        raise NoAccess(f"The workspace {name!r}, in which your groups have access, does not exist")
    return workspace_id


@endpoint("GET", "/v1/session", **_ANY, litestar={"response_headers": NO_STORE})
async def show_session(caller: Caller, services: Services) -> WhoAmI:
    """Who am I?

    For a session or an API key: its workspace and scopes, until when it is valid, and numbers for the first screen.
    """
    return WhoAmI.of(caller, await standing_of(services.client, caller))


@endpoint("DELETE", "/v1/session", **_ANY, status=200, errors=(CrossSite, NotSignedIn), headers=_COOKIE)
async def sign_out(
    request: Request[Any, Any, Any], caller: Caller, by: ChangedBy, services: Services
) -> Response[SignedOut]:
    """Sign out: the session ends, on every replica."""
    sign_ins, provider, where = services.records.sign_ins, services.provider, None
    if not raw_key_in_use(request).startswith(SESSION_TYPE):
        raise NotSignedIn("The request was made with an API key; only a session can be signed out")
    session = await sign_ins.get(caller.workspace_id, caller.key_id)
    if provider is not None and session is not None and session.person and session.via is Via.CONSOLE:
        where = await provider.end_session_url(session.id_token)
    await sign_ins.end(caller.workspace_id, caller.key_id, by=by)
    return Response(SignedOut(provider_url=where), headers=NO_STORE | {"Set-Cookie": set_cookie("", 0)})


@endpoint("GET", "/v1/sessions", **_ADMIN)
async def list_sessions(params: SessionPage, caller: Caller, records: Records) -> Response[list[SessionView]]:
    """List the sessions of the workspace, those that end first first."""
    found = records.sign_ins.each(caller.workspace_id, params.limit, params.offset)
    return await answer_list(found, SessionView.of)


@endpoint("DELETE", "/v1/sessions/{session_id}", **_ADMIN, errors=(SessionNotFound,))
async def end_session(session_id: str, caller: Caller, by: ChangedBy, records: Records) -> None:
    """End a session.

    Every later request with it gets 401, from every replica, and its streams end within a second.
    """
    known = id_in_path(session_id, SessionNotFound("No session has this id, or it has ended"))
    await records.sign_ins.end(caller.workspace_id, known, by=by)
