"""A workload of a benchmark: its issuer, set up in a workspace, and a token of it."""

import time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from app.model.actors import COMMAND_LINE, ChangedBy
from app.model.api_keys import Scope
from app.model.issuers import Algorithm, IssuerFields, IssuerRule
from app.replica import Services
from bench.harness.population import Place, populate

_SUBJECT = "system:serviceaccount:payments:refund-bot"


def token_in(store_url: str, place: Place) -> str:
    """A token that may ask what the place's key may ask, for an hour."""
    key, issuer, now = ec.generate_private_key(ec.SECP256R1()), "https://cluster.example.com", int(time.time())
    jwk = {**jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "1"}
    fields = IssuerFields(
        issuer=issuer,
        audience="remit",
        algorithms=[Algorithm.ES256],
        jwks={"keys": [jwk]},
        rules=[IssuerRule(match={"sub": _SUBJECT}, scopes=[Scope.READ])],
    )

    async def set_up(services: Services) -> None:
        await services.records.issuers.put(place.workspace_id, "cluster", fields, ChangedBy(COMMAND_LINE))

    populate(store_url, set_up)
    claims = {"iss": issuer, "aud": "remit", "sub": _SUBJECT, "iat": now, "exp": now + 3600}
    return jwt.encode(claims, key, "ES256", headers={"kid": "1"})
