"""The catalogue as API and console show it."""

from typing import Any

import msgspec
from msgspec import Struct

from app.model.catalog import CatalogChange, CatalogState, CatalogTool
from app.model.fields import Count, CreatedAt, UpdatedAt, VersionNumber
from app.model.text import ToolName
from app.model.times import rfc3339


class CatalogToolView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool that is known of.

    type: `tool`.
    name: What calls have as their tool_name.
    catalogued: false of a tool that only the log has: all that is known of it is its name.
    title: What people call it; null where nobody said.
    description: What it does, as its server describes it; null where nobody said.
    input_schema: The JSON Schema of its parameters as its server has it; null where nobody said.
    created_at: When it came into the catalogue; null of one that has not.
    updated_at: When it last changed there; null of one that is not there.
    version: 1 when it came, one more with every change; null of one that is not there.
    """

    type: str = "tool"
    name: ToolName
    catalogued: bool = True
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    created_at: CreatedAt | None = None
    updated_at: UpdatedAt | None = None
    version: VersionNumber | None = None

    @classmethod
    def of(cls, tool: CatalogTool) -> "CatalogToolView":
        return cls(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=msgspec.json.decode(tool.input_schema),
            created_at=rfc3339(tool.created_ms),
            updated_at=rfc3339(tool.updated_ms),
            version=tool.version,
        )


class ChangedCatalogView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was changed for the catalogue to be as it was sent.

    version: Another one after every change of the catalogue, the same text as in ETag; empty where it has no tools.
    tools: How many tools it has now.
    added: Tools that are new.
    changed: Tools that were there and are not as they were.
    removed: Tools that are gone.
    """

    version: str
    tools: Count
    added: list[str]
    changed: list[str]
    removed: list[str]

    @classmethod
    def of(cls, state: CatalogState, change: CatalogChange) -> "ChangedCatalogView":
        return cls(
            version=state.version,
            tools=len(state.tools),
            added=sorted(change.added),
            changed=sorted(change.changed),
            removed=sorted(change.removed),
        )
