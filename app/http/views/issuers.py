"""Issuers of workload tokens as the API and the command line show them."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from app.http.views import as_view
from app.model.fields import DisplayName, Id, Timestamp, UpdatedAt
from app.model.issuers import Algorithm, Issuer, IssuerRule, Keys
from app.model.times import rfc3339
from app.policy_tools.lint.issuers import IssuerWarning, lint_issuer


class IssuerView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whose tokens count, and what they may ask.

    issuer: The `iss` of its tokens.
    audience: The only `aud` of its tokens.
    algorithms: How it signs.
    jwks_uri: Where its public keys are; left out = they are in `jwks`.
    jwks: Its public keys; left out = they are at `jwks_uri`.
    rules: What its tokens may do; the first that matches counts.
    keys_read_at: When its keys were last read; null = not yet, or they are in `jwks`.
    warnings: What is valid but probably not meant; left out if there is nothing to warn about.
    """

    id: Id
    name: DisplayName
    issuer: str
    audience: str
    algorithms: list[Algorithm]
    jwks_uri: str | UnsetType = UNSET
    jwks: dict[str, Any] | UnsetType = UNSET
    rules: list[IssuerRule]
    updated_at: UpdatedAt
    keys_read_at: Timestamp | None
    warnings: list[IssuerWarning] | UnsetType = UNSET

    @classmethod
    def of(cls, issuer: Issuer, keys: Keys) -> "IssuerView":
        read_at = rfc3339(keys.read_ms) if keys.read_ms else None
        return as_view(cls, issuer, keys_read_at=read_at, warnings=lint_issuer(issuer))
