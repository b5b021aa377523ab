"""The trail of changes: who changed which key, agent, policy or tool, when, and its values before and after."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import fields

from app.model.actors import MAX_REASON
from app.model.agents import Agent, Trip
from app.model.api_keys import ApiKey
from app.model.fields import Count, Timestamp, Uuid
from app.model.policies import Policy, answered, field_types, optional, struct_of
from app.model.text import VisibleLines
from app.model.times import rfc3339
from app.model.webhooks import Webhook

Reason = Annotated[VisibleLines, Meta(max_length=MAX_REASON)]
Resource = Agent | Policy | ApiKey | Webhook


class ChangeKind(StrEnum):
    """What was done. A key that was revoked has been deleted."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


class ResourceType(StrEnum):
    """What kind of thing was changed."""

    AGENT = "agent"
    POLICY = "policy"
    API_KEY = "api_key"
    WEBHOOK = "webhook"
    CATALOG = "catalog"


class Change(Struct, frozen=True, kw_only=True, rename="camel"):
    """One change as the trail keeps it. Entries never change.

    id: Its place in the trail: it sorts by time.
    timestamp: When it was made, by the store's clock.
    actor_id: The API key that made it; `console`: made with `remit` or by a setting, without a key; `breaker`: a denial
    breaker suspended an agent.
    actor_name: The key's name at that time, or `console` or `breaker`.
    kind: What was done; revoking a key is deleting it.
    resource_type: The type of thing that changed.
    resource_id: Its id; for the catalogue, of which there is one, the workspace's.
    before: The changed fields with their old values; for a deletion all fields, for a creation null. For the catalogue,
    the changed tools by name.
    after: The same fields with their new values; for a creation all fields, for a deletion null.
    sequence: For agents and policies: the number of the newest audit entry then. Every later entry was decided with the
    change in effect.
    reason: The reason given for it; left out if none was given.
    tripped: The breaker that made the change, and the decision that filled it; left out if it was not a breaker.
    """

    id: Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9]+-[0-9]+$"})]
    timestamp: Timestamp
    actor_id: str
    actor_name: str
    kind: ChangeKind
    resource_type: ResourceType
    resource_id: Uuid
    before: Annotated[Raw, Meta(extra_json_schema={"type": ["object", "null"]})]
    after: Annotated[Raw, Meta(extra_json_schema={"type": ["object", "null"]})]
    sequence: Count | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    tripped: Trip | UnsetType = UNSET


class PolicyVersion(Struct, frozen=True):
    """A former state of a policy, and the change that led to it.

    change: None for the oldest version, if it is older than the record of changes.
    """

    policy: Policy
    change: Change | None

    @property
    def changed(self) -> list[str]:
        """The fields that differ from the previous version; none for the first."""
        if self.change is None or self.change.kind is ChangeKind.CREATED:
            return []
        return [name for name in msgspec.json.decode(self.change.before, type=dict[str, Raw]) if name != "version"]


class ChangeQuery(Struct, frozen=True, kw_only=True):
    """Which changes to list, newest first; all given filters must match.

    from_ms, to_ms: both inclusive, ms since the epoch. older_than: only changes before the one with this id.
    """

    actor_id: str | None = None
    resource_type: ResourceType | None = None
    resource_id: str | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    limit: int = 100
    older_than: str | None = None


class ChangePage(Struct, frozen=True):
    """Changes, newest first. older_than: the `older_than` of the next page; None if this is the last."""

    changes: list[Change]
    older_than: str | None


_OWNED = {"agent_id": str | None, "group": str | None}
_TYPES = _OWNED | answered(field_types(bounds=False)) | {"version": int, "created_at": str}
PastPolicy = struct_of("PastPolicy", optional(_TYPES), rename="camel")
"""A policy's fields as the trail keeps them: those that a change replaced, or for a deletion all."""

_POLICY_FIELDS = [(each.name, each.encode_name) for each in fields(PastPolicy) if each.name != "created_at"]


def snapshots(before: Resource | None, after: Resource | None) -> tuple[bytes, bytes]:
    """Before and after as the trail records them, as JSON: the differing fields; "" if the thing did not exist."""
    was, now = _fields(before), _fields(after)
    if after is None and isinstance(before, Policy | Agent):  # policies of one priority are evaluated in order of age
        was["createdAt"] = rfc3339(before.created_ms)
    if was and now:
        # Not compared with ==: in Python, 1 == True.
        unchanged = {name for name, value in now.items() if _json({name: was[name]}) == _json({name: value})}
        was, now = ({name: each[name] for name in each if name not in unchanged} for each in (was, now))
    return _json(was), _json(now)


def _fields(resource: Resource | None) -> dict[str, Any]:
    """The fields an admin can set, and the version, under their API names. A key's digest is not included."""
    match resource:
        case Agent():
            own = {"name": resource.name, "description": resource.description, "status": resource.status}
            return own | {"groups": resource.groups, "alias": resource.alias, "version": resource.revision}
        case Policy():
            return {spelling: getattr(resource, name) for name, spelling in _POLICY_FIELDS}
        case ApiKey():
            expires_at = None if resource.expires_ms is None else rfc3339(resource.expires_ms)
            named = {"name": resource.name, "prefix": resource.prefix}
            bound = {"agents": resource.agents} if resource.agents else {}
            session = {"sessionFrom": resource.session_from} if resource.session_from is not None else {}
            return named | {"scopes": resource.scopes, "expiresAt": expires_at} | bound | session
        case Webhook():
            # The URL is reduced to its origin, and the secrets to the one in use.
            told: dict[str, Any] = {"url": resource.shown_url, "events": resource.events, "format": resource.format}
            told |= {"enabled": resource.enabled, "denied": resource.denied}
            return told | {"secretNumber": resource.secrets[-1].number, "version": resource.version}
        case None:
            return {}


def _json(fields: dict[str, Any]) -> bytes:
    return msgspec.json.encode(fields) if fields else b""
