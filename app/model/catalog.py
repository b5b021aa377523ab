"""The catalogue of a workspace: its tools as their servers describe them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from app.model.api_keys import without_raw_keys
from app.model.text import CONTAINS_A_KEY, FieldError, ToolName, require_tool_name

MAX_TOOLS = 1_000
MAX_TOOL_NAME = 255
MAX_TOOL_BYTES = 64 * 1024
"""The largest JSON of one tool, in bytes."""

MAX_CATALOG_BYTES = 4 * 1024 * 1024
"""The largest JSON of all tools together, in bytes: they are read in one step."""

_encode = msgspec.json.encode


class ToolEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool as an MCP server lists it. Fields that are not named here are ignored.

    name: The tool_name of its calls.
    title: Its name for people.
    description: What it does, as told to a model.
    input_schema: The JSON Schema of its parameters, as its server publishes it.
    """

    name: ToolName
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        require_tool_name("name", self.name)
        text = _encode(self).decode()
        if len(text) > MAX_TOOL_BYTES:
            raise FieldError("inputSchema", f"makes the tool more than {MAX_TOOL_BYTES} bytes of JSON")
        if without_raw_keys(text) != text:
            raise FieldError("description", CONTAINS_A_KEY)


ToolEntries = Annotated[list[ToolEntry], Meta(max_length=MAX_TOOLS)]


class CatalogTool(Struct, frozen=True, kw_only=True):
    """A tool of the catalogue. input_schema: JSON, `null` without one. version: 1, incremented by each change."""

    name: str
    title: str | None
    description: str | None
    input_schema: Raw
    created_ms: int
    updated_ms: int
    version: int


class CatalogState(Struct, frozen=True):
    """The catalogue at one moment, tools by name. version: identifies exactly these tools; "" if there are none."""

    version: str
    tools: Mapping[str, CatalogTool]


class CatalogChange(Struct, frozen=True):
    """The effect of a write: all tools of the catalogue afterwards, and the names of those that changed."""

    tools: Mapping[str, CatalogTool]
    added: Sequence[str]
    changed: Sequence[str]
    removed: Sequence[str]

    @property
    def names(self) -> list[str]:
        """The names of all tools that changed."""
        return [*self.added, *self.changed, *self.removed]

    @property
    def kind(self) -> str:
        """The kind of change for the trail: `created` or `deleted` if all changed tools were, else `updated`."""
        if not self.changed and not self.removed:
            return "created"
        return "updated" if self.changed or self.added else "deleted"


def require_distinct(entries: Iterable[ToolEntry], field: str) -> None:
    """Raise FieldError if two entries have the same name."""
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        if entry.name in seen:
            raise FieldError(f"{field}[{index}].name", f'occurs twice: another entry is "{entry.name}", too')
        seen.add(entry.name)


def written(
    current: Mapping[str, CatalogTool], entries: Iterable[ToolEntry], now_ms: int, *, prune: bool
) -> CatalogChange:
    """The catalogue with these entries; tools without an entry stay, or are deleted with `prune`.

    Raises FieldError, with no field, if there would be too many tools or bytes.
    """
    described = {entry.name: _became(current.get(entry.name), entry, now_ms) for entry in entries}
    tools = described if prune else {**current, **described}
    if len(tools) > MAX_TOOLS:
        raise FieldError("", f"The catalogue would have {len(tools)} tools; it may have {MAX_TOOLS}")
    size = sum(len(_encode(tool)) for tool in tools.values())
    if size > MAX_CATALOG_BYTES:
        raise FieldError("", f"The catalogue would have {size} bytes of JSON; it may have {MAX_CATALOG_BYTES}")
    return CatalogChange(
        tools,
        [name for name in described if name not in current],
        [name for name in described if name in current and described[name] is not current[name]],
        [name for name in current if name not in tools],
    )


def without(current: Mapping[str, CatalogTool], name: str) -> CatalogChange:
    """The catalogue without one of its tools."""
    return CatalogChange({other: tool for other, tool in current.items() if other != name}, [], [], [name])


def shown_in_trail(tools: Mapping[str, CatalogTool], names: Collection[str]) -> bytes:
    """The trail's record of these tools, as JSON: null for a missing tool; "" if none of them exists."""
    if not any(name in tools for name in names):
        return b""
    return _encode({name: _trail_record(tools[name]) if name in tools else None for name in names})


def _trail_record(tool: CatalogTool) -> dict[str, Any]:
    named = {"title": tool.title, "description": tool.description}
    return named | {"inputSchema": tool.input_schema, "version": tool.version}


def _became(current: CatalogTool | None, entry: ToolEntry, now_ms: int) -> CatalogTool:
    """The tool that the entry describes; the existing one if the two are equal."""
    made = CatalogTool(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        input_schema=Raw(_encode(entry.input_schema)),
        created_ms=now_ms,
        updated_ms=now_ms,
        version=1,
    )
    if current is None:
        return made
    times = {"created_ms": current.created_ms, "updated_ms": current.updated_ms, "version": current.version}
    # Not compared with ==: in Python, 1 == True.
    if _encode(replace(made, **times)) == _encode(current):
        return current
    return replace(
        made,
        created_ms=current.created_ms,
        updated_ms=max(now_ms, current.updated_ms + 1),
        version=current.version + 1,
    )
