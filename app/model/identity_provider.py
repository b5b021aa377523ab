"""What signing in needs of an identity provider. Its implementation is loaded only if there is one."""

from collections.abc import Sequence
from typing import Any, Protocol

from app.model.group_scopes import GroupScopes
from app.model.sign_ins import Identity, SignOut


class IdentityProvider(Protocol):
    """An OpenID Connect provider; `app.oidc.provider` says what each method does."""

    issuer: str
    name: str
    cli_client_id: str
    leeway_s: int
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
