"""Tokens of workloads: what their claims say, once an issuer's key has signed them."""

from typing import Any

from app.errors import Unauthorized
from app.identity.tokens import claims_of, header_of, key_for
from app.model.issuers import LONGEST_S, Issuer

_TYPES = (None, "JWT", "at+jwt", "JOSE")
"""What `typ` may be: Kubernetes leaves it out, SPIFFE may write JOSE."""

_OF_A_PERSON = ("nonce", "at_hash", "c_hash")


def workload_claims(token: str, issuer: Issuer, keys: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The claims of the token; None if none of these keys is the one that it names. Raises Unauthorized."""
    header = header_of(token)
    if header["alg"] not in issuer.algorithms:
        raise Unauthorized(f"The token's alg must be one of {', '.join(issuer.algorithms)}, as for this issuer")
    if header.get("typ") not in _TYPES:
        raise Unauthorized("The token's typ must be JWT or at+jwt, or left out")
    key = key_for(header, keys)
    if key is None:
        return None
    claims = claims_of(token, key, header["alg"], issuer=issuer.issuer, audience=issuer.audience, require=["sub"])
    for name in _OF_A_PERSON:
        if name in claims:
            raise Unauthorized(f"The token has {name}, as ID tokens of people do; send a token of a workload")
    if not 0 < claims["exp"] - claims["iat"] <= LONGEST_S:
        raise Unauthorized(f"The token's life, from iat to exp, must be at most {LONGEST_S // 3600} hours")
    if claims["aud"] not in (issuer.audience, [issuer.audience]):
        raise Unauthorized(f"The token's aud must be {issuer.audience} alone")
    return claims
