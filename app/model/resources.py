"""Resources of the catalogue: what AuthZEN's searches know about, of any type."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from app.model.api_keys import KEY_TYPE, without_raw_keys
from app.model.text import CONTAINS_A_KEY, VISIBLE, FieldError, require_visible

MAX_RESOURCES = 10_000
MAX_RESOURCE_BYTES = 16 * 1024
"""The largest JSON of one resource, in bytes."""

MAX_RESOURCE_ID = 1024
MAX_TYPE = 128
ResourceType = Annotated[str, Meta(min_length=1, max_length=MAX_TYPE, extra_json_schema=VISIBLE)]
ResourceId = Annotated[str, Meta(min_length=1, max_length=MAX_RESOURCE_ID, extra_json_schema=VISIBLE)]
ActionName = Annotated[str, Meta(min_length=1, max_length=126, extra_json_schema=VISIBLE)]


class ResourceEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """A resource, or a subject, as the catalogue has it.

    type: Its type; `tool` for tools, which have entries of their own.
    id: Its id, unique within its type.
    title: Its name for people.
    description: What it is.
    actions: The actions that there are on it.
    properties: Its attributes, which searches judge it by.
    input_schema: The JSON Schema of an action's properties.
    """

    type: ResourceType
    id: ResourceId
    title: str | None = None
    description: str | None = None
    actions: list[ActionName] = []
    properties: dict[str, Any] = {}
    input_schema: dict[str, Any] | None = None


class CatalogResource(ResourceEntry, frozen=True, kw_only=True):
    """A resource of the catalogue. version: 1, incremented by each change."""

    created_ms: int
    updated_ms: int
    version: int


def require_storable(entry: ResourceEntry) -> None:
    """Raise FieldError unless its names are visible, it is small, and it contains no API key."""
    require_visible("type", entry.type)
    require_visible("id", entry.id)
    for index, action in enumerate(entry.actions):
        require_visible(f"actions[{index}]", action)
    if entry.properties.get("id", entry.id) != entry.id:
        raise FieldError("properties.id", "differs from the resource's id; leave it out")
    encoded = msgspec.json.encode(entry)
    if len(encoded) > MAX_RESOURCE_BYTES:
        raise FieldError("properties", f"make the resource more than {MAX_RESOURCE_BYTES} bytes of JSON")
    text = encoded.decode()
    if KEY_TYPE in text and without_raw_keys(text) != text:
        raise FieldError("description", CONTAINS_A_KEY)


def shown_in_trail(resource: CatalogResource | None, name: str) -> bytes:
    """The trail's record of the resource, as JSON; "" if it does not exist."""
    if resource is None:
        return b""
    shown = msgspec.to_builtins(resource)
    return msgspec.json.encode({name: {k: v for k, v in shown.items() if k not in {"createdMs", "updatedMs"}}})


def name_of(type_: str, id_: str) -> str:
    """The name of a resource in the store and in the trail. A type has no slash, so no two resources share a name."""
    return f"{type_}/{id_}"
