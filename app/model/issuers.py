"""Issuers of workload tokens: whose tokens count, signed how, and what their subjects may ask."""

import hashlib
import uuid
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field, json

from app.model.api_keys import Scope, can_be_bound
from app.model.text import FieldError, Name, require_visible

LONGEST_S = 24 * 3600
"""The longest life of a token, from iat to exp, in seconds."""

TOKEN_BYTES = 8 * 1024
TOKEN_SCOPES = frozenset({Scope.AUTHORIZE, Scope.READ, Scope.VIEW})
"""What a token may be given: never the right to change or decide something."""

_API_SERVER = "https://kubernetes.default.svc"
_SCOPES = ", ".join(sorted(TOKEN_SCOPES))


class Algorithm(StrEnum):
    """How tokens are signed; none is symmetric."""

    RS256 = "RS256"
    ES256 = "ES256"
    EDDSA = "EdDSA"


class IssuerRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a token may do whose claims match.

    match: Claims by name, each with the value that it must have: exact, or ending in `:*` or `/*`, for anything after
    that.
    scopes: Of `authorize`, `read` and `view`; none = such a token is refused.
    agents: The only agents for which it may ask decisions, by id or alias; left out = all.
    """

    match: Annotated[dict[Name, Name], Meta(min_length=1, max_length=10)]
    scopes: Annotated[list[Scope], Meta(max_length=3)]
    agents: Annotated[list[Name], Meta(min_length=1, max_length=100)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        for claim, value in self.match.items():
            require_visible("match", claim)
            require_visible(f"match.{claim}", value)
            if "*" in value and not (value.endswith((":*", "/*")) and value.count("*") == 1):
                raise FieldError(f"match.{claim}", "may have one `*`, at its end and after `:` or `/`")
        if not TOKEN_SCOPES.issuperset(self.scopes):
            raise FieldError("scopes", f"a token can have {_SCOPES}, and nothing else")
        if self.agents is not UNSET and not can_be_bound(self.scopes):
            raise FieldError("agents", "needs the scope authorize, without read")

    def matches(self, claims: Mapping[str, Any]) -> bool:
        """True if every claim has its value; only texts match."""
        return all(_is(claims.get(claim), wanted) for claim, wanted in self.match.items())


class IssuerFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who signs tokens for workloads, and what these may ask.

    issuer: The `iss` of its tokens, compared as a whole.
    audience: The only `aud` that its tokens may have; no other workspace may have the same issuer with it.
    algorithms: How it signs.
    jwks_uri: Where its public keys are: https, and not at an address of a private network unless a setting allows it.
    jwks: Its public keys, a JWK Set, in place of `jwks_uri`.
    rules: What its tokens may do; the first that matches counts, and without one a token is refused.
    """

    issuer: Annotated[str, Meta(min_length=1, max_length=500)]
    audience: Name
    algorithms: Annotated[list[Algorithm], Meta(min_length=1, max_length=3)]
    rules: Annotated[list[IssuerRule], Meta(min_length=1, max_length=100)]
    jwks_uri: Annotated[str, Meta(min_length=1, max_length=2000)] | UnsetType = field(default=UNSET, name="jwksUri")
    jwks: dict[str, Any] | UnsetType = UNSET

    def __post_init__(self) -> None:
        require_visible("issuer", self.issuer)
        require_visible("audience", self.audience)
        if self.audience == self.issuer or self.audience.startswith(_API_SERVER):
            raise FieldError("audience", "is that of other services' tokens; issue tokens with one of their own")
        if (self.jwks is UNSET) == (self.jwks_uri is UNSET):
            raise FieldError("jwks", "give exactly one of `jwks` and `jwksUri`")
        if self.jwks is not UNSET:
            keys = self.jwks.get("keys")
            if not isinstance(keys, list) or not keys or not all(isinstance(each, dict) for each in keys):
                raise FieldError("jwks", 'must be {"keys": [...]}, with at least one key')
            if any(name in each for each in keys for name in ("d", "k")):
                raise FieldError("jwks", "has a private or symmetric key; give public keys only")


class Issuer(IssuerFields, frozen=True, kw_only=True):
    """An issuer as it is stored. agents of its rules are ids."""

    id: str
    name: str
    updated_ms: int

    def rule_for(self, claims: Mapping[str, Any]) -> IssuerRule | None:
        """The first rule that matches, or None."""
        return next((rule for rule in self.rules if rule.matches(claims)), None)

    def workload_id(self, sub: str) -> str:
        """The id of a subject, as the log has it: the UUIDv5 of issuer and sub, with one space in between."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.issuer} {sub}"))


class Keys(Struct, frozen=True):
    """Public keys that were read from an issuer. read_ms: when, ms since the epoch; 0 = never."""

    keys: list[dict[str, object]] = []
    read_ms: int = 0


encode_issuer = json.encode
decode_issuer = json.Decoder(Issuer).decode


def issuer_digest(issuer: str, audience: str) -> str:
    """What the store finds an issuer by."""
    return hashlib.sha256(json.encode([issuer, audience])).hexdigest()


def version_of(record: str) -> str:
    """A digest of an issuer's record: it changes whenever anything in it does."""
    return hashlib.sha256(record.encode()).hexdigest()[:16]


def _is(value: Any, wanted: str) -> bool:
    if not isinstance(value, str):
        return False
    return value.startswith(wanted[:-1]) and value != wanted[:-1] if wanted.endswith("*") else value == wanted
