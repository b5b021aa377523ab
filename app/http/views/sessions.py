"""Who is signed in, as the API and the command line show it."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from app.http.views import as_view
from app.model.actors import Via
from app.model.api_keys import Caller, Scope
from app.model.fields import Count, CreatedAt, DisplayName, Id, Timestamp
from app.model.sign_ins import SignIn, Standing
from app.model.times import rfc3339


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
