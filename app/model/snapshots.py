"""The values of a resource before and after a change, and the former states of a policy."""

from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import fields

from app.model.agents import Agent, AgentFields
from app.model.api_keys import ApiKey
from app.model.changes import Change, ChangeKind
from app.model.policies import Policy, answered, field_types, optional, struct_of
from app.model.times import rfc3339
from app.model.webhooks import Webhook

Resource = Agent | Policy | ApiKey | Webhook

_OWNED = {"agent_id": str | None, "group": str | None}
_TYPES = _OWNED | answered(field_types(bounds=False)) | {"version": int, "created_at": str}
PastPolicy = struct_of("PastPolicy", optional(_TYPES), rename="camel")
"""A policy's fields as the trail keeps them: those that a change replaced; all of them for a deletion."""

_POLICY_FIELDS = [(field.name, field.encode_name) for field in fields(PastPolicy) if field.name != "created_at"]


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


def snapshots(before: Resource | None, after: Resource | None) -> tuple[bytes, bytes]:
    """Before and after as the trail records them, as JSON: the differing fields; "" where it did not exist."""
    was, now = _fields(before), _fields(after)
    if after is None and isinstance(before, Policy | Agent):  # policies of one priority are evaluated in order of age
        was["createdAt"] = rfc3339(before.created_ms)
    if was and now:
        # Not compared with ==: in Python, 1 == True.
        unchanged = {name for name, value in now.items() if _json({name: was.get(name)}) == _json({name: value})}
        was, now = ({name: side[name] for name in side if name not in unchanged} for side in (was, now))
    return _json(was), _json(now)


def _fields(resource: Resource | None) -> dict[str, Any]:
    """The fields an admin can set, and the version, under their API names. A key's digest is not included."""
    match resource:
        case Agent():
            own = {name: getattr(resource, name) for name in AgentFields.__annotations__}
            since = {"remembersSince": resource.remembers_since} if resource.remembers_since else {}
            return own | since | {"version": resource.revision}
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
            shown: dict[str, Any] = {"url": resource.shown_url, "events": resource.events, "format": resource.format}
            shown |= {"enabled": resource.enabled, "only": resource.only}
            return shown | {"secretNumber": resource.secrets[-1].number, "version": resource.version}
        case None:
            return {}


def _json(fields: dict[str, Any]) -> bytes:
    return msgspec.json.encode(fields) if fields else b""
