"""/v1/issuers: whose tokens workloads may send in place of an API key."""

import re
from typing import Any, ClassVar

from litestar import Response
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from app.errors import AgentNotFound, Invalid, IssuerNotFound, IssuerTaken, LimitReached
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.references import agents_named
from app.http.views import as_view
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.fields import DisplayName, Id, Timestamp, UpdatedAt
from app.model.issuers import Algorithm, Issuer, IssuerFields, IssuerRule, Keys
from app.model.times import rfc3339
from app.policy_tools.lint.issuers import IssuerWarning, lint_issuer
from app.replica import Records, Services

_ADMIN: dict[str, Any] = {"tag": "Issuers", "scopes": (Scope.ADMIN,)}
_PATH = "/v1/issuers/{issuer_name}"
_is_name = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII).fullmatch


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


class PutIssuer(Body, IssuerFields, frozen=True):
    """An issuer of workload tokens, in full: what is left out does not stay."""

    aliases: ClassVar[dict[str, str]] = {"jwks_uri": "jwksUri"}


@endpoint("GET", "/v1/issuers", **_ADMIN)
async def list_issuers(caller: Caller, records: Records) -> list[IssuerView]:
    """List issuers, by name."""
    found = await records.issuers.list_all(caller.workspace_id)
    return [IssuerView.of(each, await records.issuers.keys_of(caller.workspace_id, each)) for each in found]


@endpoint("GET", _PATH, **_ADMIN, errors=(IssuerNotFound,))
async def get_issuer(issuer_name: str, caller: Caller, records: Records) -> IssuerView:
    """Read an issuer."""
    issuer, _ = await records.issuers.get(caller.workspace_id, _known(issuer_name))
    return IssuerView.of(issuer, await records.issuers.keys_of(caller.workspace_id, issuer))


@endpoint("PUT", _PATH, **_ADMIN, status=200, errors=(AgentNotFound, IssuerTaken, LimitReached))
async def put_issuer(
    issuer_name: str, data: PutIssuer, caller: Caller, services: Services, by: ChangedBy
) -> Response[IssuerView]:
    """Create or replace an issuer.

    Its tokens count as API keys with the scopes of the first rule that matches. A change ends all of its tokens that
    were admitted before; they are judged anew when they are next used.
    """
    if not _is_name(issuer_name):
        raise Invalid.at("issuer_name", "must have 1 to 63 lower-case letters, digits and hyphens")
    if data.jwks_uri is not UNSET:
        services.consequences.require_destination(data.jwks_uri, "$.jwksUri")
    rules = [await _with_ids(services.records, caller, rule) for rule in data.rules]
    issuers = services.records.issuers
    issuer, _ = await issuers.put(caller.workspace_id, issuer_name, replace(data, rules=rules), by)
    return Response(IssuerView.of(issuer, await issuers.keys_of(caller.workspace_id, issuer)))


@endpoint("DELETE", _PATH, **_ADMIN, errors=(IssuerNotFound,))
async def delete_issuer(issuer_name: str, caller: Caller, services: Services, by: ChangedBy) -> None:
    """Delete an issuer.

    Every later request with one of its tokens gets 401, from every replica.
    """
    await services.records.issuers.delete(caller.workspace_id, _known(issuer_name), by)
    await services.consequences.end_approvals(caller.workspace_id)


async def _with_ids(records: Records, caller: Caller, rule: IssuerRule) -> IssuerRule:
    """The rule with ids of agents in place of aliases. Raises AgentNotFound."""
    return rule if rule.agents is UNSET else replace(rule, agents=await agents_named(records, caller, rule.agents))


def _known(name: str) -> str:
    """The name, if an issuer can have it. Raises IssuerNotFound."""
    if not _is_name(name):
        raise IssuerNotFound("No issuer has this name")
    return name
