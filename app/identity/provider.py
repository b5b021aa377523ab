"""The identity provider: its endpoints, its keys, and what its tokens say about a person."""

import asyncio
import base64
import hashlib
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode

from app.errors import NoAccess, ProviderUnavailable, SeveralWorkspaces, Unauthorized
from app.identity.fetching import fetch_json, published, require_fetchable
from app.identity.tokens import (
    LEEWAY_S,
    authenticated_s,
    claims_of,
    header_of,
    key_for,
    require_fresh,
    require_logout,
    require_nonce,
)
from app.language.visible import is_hidden
from app.model.identity_provider import GroupScopes, parse_group_scopes, scopes_by_workspace
from app.model.sign_ins import Identity, SignOut, is_address
from app.settings import PREFIX, Settings, SettingsError

REFRESH_S = 3600.0
"""Endpoints and keys are read again after this long."""
UNKNOWN_KEY_S = 60.0
"""An unknown key makes Remit read them again, but at most this often, so strangers cannot make it ask all the time."""
RETRY_S = 5.0
"""After a failure, the provider is left alone for this long."""
STALE_S = 24 * 3600.0
"""How long keys count while the provider does not answer."""
FRESH_TOKEN_S = 600
"""The greatest age of an ID token that a program presents."""
_GROUPS_MAX = 1_000
REDEEMING_MAX = 16
"""Codes for which a replica asks the provider at the same time."""
_HINT_BYTES = 4 * 1024
"""A longer ID token is not kept for the sign-out: it would not fit into an address."""


class Provider:
    """One OpenID Connect provider and Remit's clients there. Nothing is asked of it before somebody signs in."""

    def __init__(self, settings: Settings, now_s: Callable[[], float] = time.monotonic) -> None:
        self.issuer = settings.oidc_issuer or ""
        self.name = settings.oidc_name
        self.client_id = settings.oidc_client_id or ""
        self.cli_client_id = settings.oidc_cli_client_id or ""
        self._secret = settings.oidc_client_secret or ""
        self._home = f"{(settings.public_url or '').rstrip('/')}/console"
        self._redirect_uri = f"{self._home}/callback"
        self._ends_sessions = settings.oidc_end_session
        self._groups_path = settings.oidc_groups_claim.split(".")
        try:
            self.table: Sequence[GroupScopes] = parse_group_scopes(settings.oidc_scopes or "")
        except ValueError as error:
            raise SettingsError(f"{PREFIX}OIDC_SCOPES: {error}") from None
        self._now_s = now_s
        self._metadata: dict[str, Any] = {}
        self._keys: list[dict[str, Any]] = []
        self._read_s = self._tried_s = float("-inf")
        self._redeeming = 0
        self._reading, self._problem = asyncio.Lock(), ""
        require_fetchable("The issuer", self.issuer)

    async def authorization_url(self, state: str, nonce: str, verifier: str, max_age_s: int | None) -> str:
        """Where a browser goes to sign in. max_age_s: how long ago its person may have shown credentials there.

        Raises ProviderUnavailable.
        """
        metadata = await self._known()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        has_groups = "groups" in metadata.get("scopes_supported", ())
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": f"openid profile email{' groups' if has_groups else ''}",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        } | ({} if max_age_s is None else {"max_age": str(max_age_s)})
        where = require_fetchable("authorization_endpoint", metadata.get("authorization_endpoint"))
        return f"{where}{'&' if '?' in where else '?'}{urlencode(query)}"

    async def require_issuer(self, iss: str | None) -> None:
        """Raise Unauthorized if an answer names another provider, or none although this one always does (RFC 9207)."""
        needed = (await self._known()).get("authorization_response_iss_parameter_supported") is True
        if iss != self.issuer and (iss is not None or needed):
            raise Unauthorized(f"The answer's iss is not {self.issuer}")

    async def redeem(self, code: str, verifier: str, nonce: str, max_age_s: int | None) -> tuple[dict[str, Any], str]:
        """The claims of the ID token that the code stands for, and that token; "" instead if signing out needs none.

        max_age_s: as it was asked for. Whatever else the provider gives, such as a refresh token, is dropped.

        Raises Unauthorized, ProviderUnavailable.
        """
        metadata = await self._known()
        where = require_fetchable("token_endpoint", metadata.get("token_endpoint"))
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "client_id": self.client_id,
            "code_verifier": verifier,
        }
        basic = ""
        if self._secret:
            pair = f"{quote(self.client_id, safe='')}:{quote(self._secret, safe='')}"
            basic = base64.b64encode(pair.encode()).decode()
            del form["client_id"]
        if self._redeeming >= REDEEMING_MAX:
            raise ProviderUnavailable("Too many people are signing in at this moment; try again")
        self._redeeming += 1
        try:
            token = (await fetch_json(where, form, basic)).get("id_token")
        finally:
            self._redeeming -= 1
        if not isinstance(token, str):
            raise ProviderUnavailable("The identity provider answered without an id_token")
        claims = await self._verified(token, self.client_id, ["sub", "nonce"])
        require_nonce(claims, nonce)
        require_fresh(claims, max_age_s)
        is_kept = self._ends_sessions and "end_session_endpoint" in metadata and len(token) <= _HINT_BYTES
        return claims, token if is_kept else ""

    async def end_session_url(self, id_token: str) -> str | None:
        """Where a browser goes to sign out at the provider too (OpenID Connect RP-Initiated Logout 1.0).

        id_token: that of the sign-in, by which the provider knows whom to sign out; "" = it asks. None: it has no such
        place, it cannot be reached, or a setting forbids it.
        """
        if not self._ends_sessions:
            return None
        try:
            endpoint = (await self._known()).get("end_session_endpoint")
            where = None if endpoint is None else require_fetchable("end_session_endpoint", endpoint)
        except ProviderUnavailable:
            return None
        if where is None:
            return None
        query = {"client_id": self.client_id, "post_logout_redirect_uri": self._home}
        query |= {"id_token_hint": id_token} if id_token else {}
        return f"{where}{'&' if '?' in where else '?'}{urlencode(query)}"

    async def presented(self, token: str) -> dict[str, Any]:
        """The claims of an ID token that a program got with the device flow. Raises Unauthorized."""
        if not self.cli_client_id:
            raise Unauthorized(f"ID tokens are not accepted: {PREFIX}OIDC_CLI_CLIENT_ID is not set")
        claims = await self._verified(token, self.cli_client_id, ["sub"])
        if "events" in claims:
            raise Unauthorized("The token has events, as logout tokens do; send an ID token")
        if time.time() - int(claims["iat"]) > FRESH_TOKEN_S:
            raise Unauthorized(f"The token's iat is more than {FRESH_TOKEN_S} seconds ago")
        return claims

    async def logged_out(self, token: str) -> SignOut:
        """Who signed out, as a logout token says: a person, a session of the provider, or both. Raises Unauthorized."""
        claims = await self._verified(token, self.client_id, ["jti"], (None, "JWT", "logout+jwt"))
        require_logout(claims)
        sid = claims.get("sid")
        return SignOut(
            person=self.person(claims["sub"]) if "sub" in claims else "",
            sid=sid if isinstance(sid, str) else "",
            at_s=int(claims["iat"]),
            token=f"{self.issuer} {claims['jti']}",
            remembered_s=int(claims["exp"] - claims["iat"]) + 2 * LEEWAY_S,
        )

    def identity(self, claims: dict[str, Any], workspace: str = "", id_token: str = "") -> tuple[str, Identity]:
        """The name of a workspace in which the person has access, and who they are there.

        workspace: the one that they chose; "" = they have not. id_token: kept with the session.

        Raises NoAccess, or SeveralWorkspaces if they must choose.
        """
        groups = self._groups_in(claims)
        access = scopes_by_workspace(self.table, groups)
        if not access or (workspace and workspace not in access):
            seen = ", ".join(sorted(groups)[:20]) or "none"
            raise NoAccess(f"No group of yours has access {'there' if workspace else 'here'}; your groups: {seen}")
        if not workspace and len(access) > 1:
            raise SeveralWorkspaces.of(access)
        chosen = workspace or next(iter(access))
        sid = claims.get("sid")
        return chosen, Identity(
            name=_name_in(claims),
            scopes=access[chosen],
            person=self.person(claims["sub"]),
            groups=tuple(sorted(groups)),
            issuer=self.issuer,
            sid=sid if isinstance(sid, str) else "",
            authenticated_s=authenticated_s(claims),
            id_token=id_token,
            address=_address_in(claims),
            issued_s=int(claims["iat"]),
        )

    def person(self, sub: str) -> str:
        """The id of a person: the same at every sign-in, and different at every provider."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.issuer} {sub}"))

    def _groups_in(self, claims: dict[str, Any]) -> set[str]:
        found: Any = claims
        for name in self._groups_path:
            found = found.get(name) if isinstance(found, dict) else None
        listed = found[:_GROUPS_MAX] if isinstance(found, list) else [found]
        # Their names become lines of a record, and are compared with what policies can name.
        return {each for each in listed if isinstance(each, str) and not any(map(is_hidden, each))}

    async def _verified(
        self, token: str, audience: str, require: list[str], types: Sequence[str | None] = (None, "JWT")
    ) -> dict[str, Any]:
        header = header_of(token)
        if header.get("typ") not in types:
            raise Unauthorized(f"The token's typ must be {' or '.join(filter(None, types))}, or left out")
        await self._known()
        key = key_for(header, self._keys)
        if key is None:
            async with self._reading:
                if self._now_s() - self._tried_s >= UNKNOWN_KEY_S:
                    await self._read()
            key = key_for(header, self._keys)
        if key is None:
            raise Unauthorized("The token's kid names no key of the provider")
        return claims_of(token, key, header["alg"], issuer=self.issuer, audience=audience, require=require)

    async def _known(self) -> dict[str, Any]:
        """The provider's metadata. Raises ProviderUnavailable if they were never read, or too long ago."""
        if self._now_s() - self._read_s >= REFRESH_S:
            async with self._reading:  # concurrent sign-ins share one reading
                if self._now_s() - self._read_s >= REFRESH_S and self._now_s() - self._tried_s >= RETRY_S:
                    with suppress(ProviderUnavailable):
                        await self._read()
        if self._now_s() - self._read_s >= STALE_S:
            raise ProviderUnavailable(self._problem)
        return self._metadata

    async def _read(self) -> None:
        """Read metadata and keys. Raises ProviderUnavailable, and then what was known stays."""
        self._tried_s = self._now_s()
        try:
            self._metadata, self._keys = await published(self.issuer)
        except ProviderUnavailable as error:
            self._problem = error.message
            raise
        self._read_s = self._now_s()


def _address_in(claims: dict[str, Any]) -> str:
    """The person's mail address in lower case; "" unless the provider says that it has verified it."""
    address = claims.get("email")
    is_verified = claims.get("email_verified") is True and isinstance(address, str) and is_address(address)
    return str(address).lower() if is_verified else ""


def _name_in(claims: dict[str, Any]) -> str:
    """What people call the person: only for display, so only what is visible."""
    for name in ("name", "preferred_username", "email", "sub"):
        value = claims.get(name)
        if isinstance(value, str) and 1 <= len(value) <= 255 and not any(map(is_hidden, value)):  # noqa: PLR2004
            return value
    return "somebody"
