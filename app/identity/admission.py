"""The first use of a workload's token: it is verified once, and counts as an API key until it expires."""

import base64
import binascii
from typing import Any

import msgspec
from msgspec import UNSET

from app.errors import ProviderUnavailable, Unauthorized
from app.language.visible import is_hidden
from app.model.api_keys import digest_of
from app.model.issuers import Issuer, IssuerRule
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.runtime.lanes.lane import Lane
from app.store.issuers import Admitted, Issuers
from app.store.optimistic import ATTEMPTS, contended

LEEWAY_MS = 30_000
STALE_MS = 24 * 3_600_000
"""How long keys count while the issuer does not answer."""

_payload = msgspec.json.Decoder(dict[str, Any]).decode


class Admission:
    """Admits tokens. What it verifies is noted in the store, so no replica verifies the same token again."""

    def __init__(self, client: Client, issuers: Issuers, lane: Lane) -> None:
        self._client = client
        self._issuers = issuers
        self._lane = lane

    async def admit(self, token: str) -> None:
        """Let the token count from now on.

        Raises Unauthorized if it does not, with a sentence that names what was expected and never the token;
        ProviderUnavailable if its issuer's keys are not known; MoveToSlowLane.
        """
        self._lane.require_short()
        issuer_name, audience = _named(token)
        for _ in range(ATTEMPTS):
            found = await self._issuers.of_token(issuer_name, audience)
            if found is None:
                raise Unauthorized("The token's iss and aud are not those of an issuer that is set up here")
            workspace_id, issuer, record = found
            claims = await self._verified(token, workspace_id, issuer)
            rule = _rule_for(issuer, claims)
            admitted = Admitted(
                digest=digest_of(token),
                signed=digest_of(token.rpartition(".")[0]),
                sub=claims["sub"],
                expires_ms=int(claims["exp"]) * 1000 + LEEWAY_MS,
                scopes=rule.scopes,
                agents=() if rule.agents is UNSET else rule.agents,
            )
            if await self._issuers.admit(workspace_id, issuer, record, admitted):
                return
        contended()

    async def _verified(self, token: str, workspace_id: str, issuer: Issuer) -> dict[str, Any]:
        try:
            from app.identity.workload_tokens import workload_claims  # noqa: PLC0415 - its libraries take 20 MiB
        except ModuleNotFoundError as error:
            raise Unauthorized(f"Tokens are not accepted here: the extra `oidc` is not installed ({error})") from None
        if issuer.jwks is UNSET:
            stored = await self._issuers.keys_of(workspace_id, issuer)
            if await store_time_ms(self._client) - stored.read_ms > STALE_MS:
                raise ProviderUnavailable(f"The keys of the issuer {issuer.name} could not be read yet, or for a day")
            keys: list[dict[str, Any]] = list(stored.keys)
        else:
            keys = issuer.jwks["keys"]
        claims = workload_claims(token, issuer, keys)
        if claims is None:
            if issuer.jwks is UNSET:
                await self._issuers.ask_for_keys(workspace_id, issuer.name)
            raise Unauthorized("The token's kid names no key of its issuer; keys are read again once a minute at most")
        if any(map(is_hidden, claims["sub"])):
            raise Unauthorized("The token's sub has invisible characters")
        return claims


def _named(token: str) -> tuple[str, str]:
    """The `iss` and `aud` of a token that is not verified yet. Raises Unauthorized."""
    try:
        middle = token.split(".")[1]
        claims = _payload(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
    except (IndexError, ValueError, binascii.Error, msgspec.DecodeError, RecursionError):  # of any nesting
        raise Unauthorized("The token is not a signed JWT") from None
    issuer, audience = claims.get("iss"), claims.get("aud")
    if isinstance(audience, list) and len(audience) == 1:
        [audience] = audience
    if not isinstance(issuer, str) or not isinstance(audience, str):
        raise Unauthorized("The token must have one iss and one aud, both texts")
    return issuer, audience


def _rule_for(issuer: Issuer, claims: dict[str, Any]) -> IssuerRule:
    rule = issuer.rule_for(claims)
    if rule is None:
        raise Unauthorized(f"No rule of the issuer {issuer.name} matches the token's claims")
    if not rule.scopes:
        raise Unauthorized(f"A rule of the issuer {issuer.name} refuses this token")
    return rule
