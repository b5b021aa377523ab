"""Resources of the catalogue as the API shows them."""

from typing import Any

from msgspec import Struct

from app.model.fields import CreatedAt, UpdatedAt, VersionNumber
from app.model.resources import ActionName, CatalogResource, ResourceId, ResourceType
from app.views import as_view


class ResourceView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A resource of the catalogue.

    type: Its type.
    id: Its id, unique within its type.
    title: Its name for people; null if there is none.
    description: What it is; null if there is none.
    actions: The actions that there are on it.
    properties: Its attributes, which searches judge it by.
    input_schema: The JSON Schema of an action's properties; null if there is none.
    """

    type: ResourceType
    id: ResourceId
    title: str | None
    description: str | None
    actions: list[ActionName]
    properties: dict[str, Any]
    input_schema: dict[str, Any] | None
    created_at: CreatedAt
    updated_at: UpdatedAt
    version: VersionNumber

    @classmethod
    def of(cls, resource: CatalogResource) -> "ResourceView":
        return as_view(cls, resource)
