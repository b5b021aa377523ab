"""Signed tokens: which keys and algorithms count, and what every claim must be."""

import hmac
import time
from typing import Any

import jwt

from app.errors import Unauthorized

ALGORITHMS = {"RS256": "RSA", "ES256": "EC", "EdDSA": "OKP"}
"""The algorithms that are accepted, and the type of key that each is used with. None is symmetric."""
LEEWAY_S = 30
TOKEN_BYTES = 16 * 1024
_LOGOUT_S = 24 * 3600
"""How long a logout token may be valid: until then, it is remembered that it was used."""
_LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_FOREIGN_KEYS = ("crit", "jku", "jwk", "x5c", "x5u", "b64")
"""Fields of a header that name a key, or what must be understood: a token does not choose how it is verified."""

_TIMES = ("exp", "iat", "nbf")


def header_of(token: str) -> dict[str, Any]:
    """The token's header, not verified. Raises Unauthorized unless the token can be verified at all."""
    if len(token) > TOKEN_BYTES:
        raise Unauthorized(f"The token has more than {TOKEN_BYTES} bytes")
    try:
        header: dict[str, Any] = jwt.get_unverified_header(token)
    except jwt.InvalidTokenError:
        raise Unauthorized("The token is not a signed JWT") from None
    if header.get("alg") not in ALGORITHMS:
        raise Unauthorized(f"The token's alg must be one of {', '.join(ALGORITHMS)}")
    for name in _FOREIGN_KEYS:
        if name in header:
            raise Unauthorized(f"The token's header has {name}, which is not accepted")
    return header


def key_for(header: dict[str, Any], keys: list[dict[str, Any]]) -> jwt.PyJWK | None:
    """The provider's key that the header names; None if it names none of them. Raises Unauthorized.

    A header without `kid` means the only key of its type.
    """
    kind, kid = ALGORITHMS[header["alg"]], header.get("kid")
    usable = [key for key in keys if key.get("kty") == kind and key.get("use", "sig") == "sig"]
    found = usable if kid is None else [key for key in usable if key.get("kid") == kid]
    if len(found) != 1:
        if found:
            raise Unauthorized("The token's kid does not tell which key signed it")
        return None
    if found[0].get("alg", header["alg"]) != header["alg"]:
        raise Unauthorized(f"The token's alg is {header['alg']}, and its key is for another")
    try:
        return jwt.PyJWK(found[0], algorithm=header["alg"])
    except jwt.PyJWTError:
        raise Unauthorized("The key that the token names cannot be used") from None


def claims_of(
    token: str, key: jwt.PyJWK, alg: str, *, issuer: str, audience: str, require: list[str]
) -> dict[str, Any]:
    """The claims of a token that this key signed for this audience, and that is valid now. Raises Unauthorized."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[alg],
            issuer=issuer,
            audience=audience,
            leeway=LEEWAY_S,
            options={"require": ["iss", "aud", "exp", "iat", *require]},
        )
    except jwt.ExpiredSignatureError:
        raise Unauthorized("The token's exp has passed") from None
    except jwt.ImmatureSignatureError:
        raise Unauthorized("The token's iat or nbf is in the future") from None
    except jwt.InvalidAudienceError:
        raise Unauthorized(f"The token's aud is not {audience}") from None
    except jwt.InvalidIssuerError:
        raise Unauthorized(f"The token's iss is not {issuer}") from None
    except jwt.MissingRequiredClaimError as error:
        raise Unauthorized(f"The token has no {error.claim}") from None
    except jwt.InvalidSignatureError:
        raise Unauthorized("The token's signature is wrong") from None
    except jwt.PyJWTError:
        raise Unauthorized("The token is malformed") from None
    _require_forms(claims, audience)
    return claims


def _require_forms(claims: dict[str, Any], audience: str) -> None:
    """Raise Unauthorized unless the claims have the forms and the audiences that are read later."""
    for name in _TIMES:
        if not isinstance(claims.get(name, 0), int | float) or isinstance(claims.get(name), bool):
            raise Unauthorized(f"The token's {name} must be a number")
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    if (len(audiences) > 1 or "azp" in claims) and claims.get("azp") != audience:
        raise Unauthorized(f"The token is for several audiences, and its azp is not {audience}")
    if "sub" in claims and not (isinstance(claims["sub"], str) and 1 <= len(claims["sub"]) <= 255):  # noqa: PLR2004
        raise Unauthorized("The token's sub must be a text of 1 to 255 characters")


def authenticated_s(claims: dict[str, Any]) -> int | None:
    """When the provider last saw the person's credentials, s since the epoch; None if it does not say.

    Raises Unauthorized if that is in the future: it would be fresh for too long.
    """
    auth_time = claims.get("auth_time")
    if not isinstance(auth_time, int | float) or isinstance(auth_time, bool):
        return None
    if not auth_time <= time.time() + LEEWAY_S:
        raise Unauthorized("The token's auth_time is in the future")
    return int(auth_time)


def require_fresh(claims: dict[str, Any], max_age_s: int | None) -> None:
    """Raise Unauthorized unless the person showed their credentials at most so long ago."""
    if max_age_s is None:
        return
    seen_s = authenticated_s(claims)
    if seen_s is None or time.time() - seen_s > max_age_s + LEEWAY_S:
        raise Unauthorized(f"The token's auth_time is not within the last {max_age_s} seconds, as was asked for")


def require_nonce(claims: dict[str, Any], nonce: str) -> None:
    """Raise Unauthorized unless the token answers the request that this nonce was sent with."""
    given = claims.get("nonce")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
        raise Unauthorized("The token's nonce is not the one that was sent")


def require_logout(claims: dict[str, Any]) -> None:
    """Raise Unauthorized unless these are claims of a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6)."""
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(_LOGOUT_EVENT), dict):
        raise Unauthorized("The token's events do not have the logout event")
    if "nonce" in claims:
        raise Unauthorized("The token has a nonce, as ID tokens do")
    if "sub" not in claims and not (claims.get("sid") and isinstance(claims["sid"], str)):
        raise Unauthorized("The token has neither sub nor sid")
    if claims["exp"] - claims["iat"] > _LOGOUT_S:
        raise Unauthorized(f"The token is valid for more than {_LOGOUT_S} seconds")
