"""What signing in needs of an identity provider, which is loaded only if there is one, and what its groups may do."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from app.model.api_keys import Scope, scopes_in_both
from app.model.sign_ins import Identity, SignOut


class GroupScopes(NamedTuple):
    """What one group may do in one workspace."""

    workspace: str
    group: str
    scopes: tuple[Scope, ...]


def parse_group_scopes(text: str) -> list[GroupScopes]:
    """The groups in a setting such as `admins=admin payments/ops=policies,view`. Raises ValueError with a sentence."""
    found = []
    for entry in text.split():
        called, equals, scopes = entry.rpartition("=")
        # Some providers write a group as a path; such a name begins with the slash.
        workspace, slash, group = ("default", "/", called) if called.startswith("/") else called.rpartition("/")
        if not equals or not group.strip("/") or (slash and not workspace):
            raise ValueError(f"{entry!r} is not GROUP=SCOPE,SCOPE or WORKSPACE/GROUP=SCOPE,SCOPE")
        try:
            granted = tuple(dict.fromkeys(Scope(scope) for scope in scopes.split(",")))
        except ValueError:
            raise ValueError(f"{entry!r} has a scope that is none of {', '.join(Scope)}") from None
        found.append(GroupScopes(workspace or "default", group, granted))
    return found


def scopes_by_workspace(table: Iterable[GroupScopes], groups: Iterable[str]) -> dict[str, tuple[Scope, ...]]:
    """What somebody in these groups may do, by workspace in the order of the table; exact names only."""
    has, found = set(groups), dict[str, dict[Scope, None]]()
    for each in table:
        if each.group in has:
            found.setdefault(each.workspace, {}).update(dict.fromkeys(each.scopes))
    return {workspace: tuple(sorted(scopes)) for workspace, scopes in found.items()}


class GroupGrants(NamedTuple):
    """What the settings give to people who sign in with the provider of this issuer; "" = nobody does."""

    issuer: str = ""
    table: Sequence[GroupScopes] = ()

    def left_of(self, scopes: Iterable[Scope], issuer: str, workspace: str, groups: Iterable[str]) -> frozenset[Scope]:
        """What both a session's scopes and those that its groups give now allow; nothing with another provider."""
        if issuer != self.issuer:
            return frozenset()
        return scopes_in_both(scopes, scopes_by_workspace(self.table, groups).get(workspace, ()))


class IdentityProvider(Protocol):
    """An OpenID Connect provider; `app.identity.provider` says what each method does."""

    issuer: str
    name: str
    cli_client_id: str
    table: Sequence[GroupScopes]

    async def authorization_url(self, state: str, nonce: str, verifier: str, max_age_s: int | None) -> str: ...

    async def require_issuer(self, iss: str | None) -> None: ...

    async def redeem(
        self, code: str, verifier: str, nonce: str, max_age_s: int | None
    ) -> tuple[dict[str, Any], str]: ...

    async def presented(self, token: str) -> dict[str, Any]: ...

    async def logged_out(self, token: str) -> SignOut: ...

    def identity(self, claims: dict[str, Any], workspace: str = "", id_token: str = "") -> tuple[str, Identity]: ...

    async def end_session_url(self, id_token: str) -> str | None: ...

    def person(self, sub: str) -> str: ...
