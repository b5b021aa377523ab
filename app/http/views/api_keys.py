"""API keys as the API and the command line show them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from app.http.views import as_view
from app.model.api_keys import ApiKey, Scope, SessionFrom
from app.model.fields import CreatedAt, DisplayName, Id, Timestamp
from app.model.times import rfc3339


class _ShownKey(Struct, frozen=True, kw_only=True, rename="camel"):
    """What every view of a key shows.

    prefix: The raw key's first 12 characters, to tell keys apart.
    scopes: What the key may do.
    agents: The only agents for which it may ask decisions; left out = all.
    session_from: `key` = its calls are one session, whatever they say; left out = `context.session` says.
    expires_at: When the key stops being valid; null or left out = never.
    """

    id: Id
    name: DisplayName
    prefix: str
    scopes: list[Scope]
    agents: list[Id] | UnsetType = UNSET
    session_from: SessionFrom | UnsetType = UNSET
    expires_at: Timestamp | None
    created_at: CreatedAt


class ApiKeyView(_ShownKey, frozen=True, kw_only=True, rename="camel"):
    """A key in lists, which never show the raw key.

    last_used_at: When a request was last authenticated by it, to the second; null = never.
    """

    last_used_at: Timestamp | None

    @classmethod
    def of(cls, key: ApiKey) -> "ApiKeyView":
        return as_view(cls, key)


class CreatedApiKey(_ShownKey, frozen=True, kw_only=True, rename="camel"):
    """A new key: `key` is the raw key, shown only here.

    key: The raw key. Shown only here.
    """

    key: Annotated[str, Meta(extra_json_schema={"pattern": "^svc_[0-9a-f]{32}$"})]

    @classmethod
    def of(cls, key: ApiKey, raw_key: str) -> "CreatedApiKey":
        return as_view(cls, key, key=raw_key)


class RotatedApiKey(CreatedApiKey, frozen=True, kw_only=True, rename="camel"):
    """The successor of a key: `key` is its raw key, shown only here.

    replaces: The key that it succeeds.
    replaced_until: Until when that key is still valid.
    """

    replaces: Id
    replaced_until: Timestamp

    @classmethod
    def succeeding(cls, old: ApiKey, key: ApiKey, raw_key: str) -> "RotatedApiKey":
        return as_view(cls, key, key=raw_key, replaces=old.id, replaced_until=rfc3339(old.expires_ms or 0))
