"""The catalogue as the API and the command line show it."""

from typing import Any

import msgspec
from msgspec import Struct

from app.http.views import as_view
from app.model.catalog import CatalogChange, CatalogState, CatalogTool, Consequence
from app.model.fields import Count, CreatedAt, UpdatedAt, VersionNumber
from app.model.resources import ActionName, CatalogResource, ResourceId, ResourceType
from app.model.text import ToolName
from app.model.tool_suggestions import Suggestion, suggested


class CatalogToolView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A known tool.

    type: `tool`.
    name: The tool_name of its calls.
    catalogued: false for a tool known only from the log; only its name is known.
    title: Its name for people; null if there is none.
    description: What it does, as its server describes it; null if there is none.
    input_schema: The JSON Schema of its parameters, as its server publishes it; null if there is none.
    consequence: What its calls do to the world, as a person said; null if nobody has said, and it counts as
        `irreversible`.
    foreign: Whether its results may hold text that strangers wrote, as a person said; null if nobody has said, and it
        counts as true.
    suggested: What annotations and name suggest of it, for a person to confirm; null if it is not in the catalogue.
    created_at: When it was added to the catalogue; null if it is not in it.
    updated_at: When it last changed there; null if it is not in it.
    version: 1 when added, incremented by every change; null if it is not in the catalogue.
    """

    type: str = "tool"
    name: ToolName
    catalogued: bool = True
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    consequence: Consequence | None = None
    foreign: bool | None = None
    suggested: Suggestion | None = None
    created_at: CreatedAt | None = None
    updated_at: UpdatedAt | None = None
    version: VersionNumber | None = None

    @classmethod
    def of(cls, tool: CatalogTool) -> "CatalogToolView":
        return as_view(cls, tool, input_schema=msgspec.json.decode(tool.input_schema), suggested=suggested(tool))


class ChangedCatalogView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a write changed in the catalogue.

    version: Changes with every change of the catalogue, the same string as in ETag; empty if it has no tools.
    tools: How many tools it has now.
    added: Names of new tools.
    changed: Names of tools that were changed.
    removed: Names of tools that were removed.
    unmarked: Names of tools whose schema or description changed, so that nothing holds any longer that a person said of
        them.
    """

    version: str
    tools: Count
    added: list[str]
    changed: list[str]
    removed: list[str]
    unmarked: list[str]

    @classmethod
    def of(cls, state: CatalogState, change: CatalogChange) -> "ChangedCatalogView":
        return cls(
            version=state.version,
            tools=len(state.tools),
            added=sorted(change.added),
            changed=sorted(change.changed),
            removed=sorted(change.removed),
            unmarked=sorted(change.unmarked),
        )


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
