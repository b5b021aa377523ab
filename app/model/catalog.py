"""The catalogue of a workspace: its tools as their servers describe them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
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


class Consequence(StrEnum):
    """What calls of a tool do to the world.

    `none`: they only read. `discloses`: they read, but their arguments reach a stranger, as those of a web page do.
    `reversible`: the agent's user can undo them. `irreversible`: they pay, send, delete, publish, or show what must
    stay secret.
    """

    NONE = "none"
    DISCLOSES = "discloses"
    REVERSIBLE = "reversible"
    IRREVERSIBLE = "irreversible"

    @property
    def in_words(self) -> str:
        """What people read of it beside the tool's name."""
        return _IN_WORDS[self]


_IN_WORDS = {
    Consequence.NONE: "only reads",
    Consequence.DISCLOSES: "reads, and tells strangers what it asks",
    Consequence.REVERSIBLE: "can be undone",
    Consequence.IRREVERSIBLE: "cannot be undone",
}


class ToolMarks(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person says of a tool. A field that is left out stays as it is.

    consequence: What its calls do to the world.
    foreign: Whether its results may hold text that strangers wrote: mail, pages, bills, tickets.
    """

    consequence: Consequence | UnsetType = UNSET
    foreign: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.consequence is UNSET and self.foreign is UNSET:
            raise FieldError("", "says nothing; give consequence, foreign or both")


class ToolAnnotations(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a server says of its own tool: only a suggestion to whoever marks it. Other annotations are ignored.

    read_only_hint: Its calls change nothing.
    destructive_hint: They may destroy or overwrite something.
    open_world_hint: They reach what is outside of the server's own domain, such as the web.
    """

    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool as an MCP server lists it. Fields that are not named here are ignored.

    name: The tool_name of its calls.
    title: Its name for people.
    description: What it does, as told to a model.
    input_schema: The JSON Schema of its parameters, as its server publishes it.
    annotations: What its server says of its calls; only a suggestion to whoever marks it.
    """

    name: ToolName
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations | None = None

    def __post_init__(self) -> None:
        require_tool_name("name", self.name)
        encoded = _encode(self)
        if len(encoded) > MAX_TOOL_BYTES:
            raise FieldError("inputSchema", f"makes the tool more than {MAX_TOOL_BYTES} bytes of JSON")
        text = encoded.decode()
        if without_raw_keys(text) != text:
            raise FieldError("description", CONTAINS_A_KEY)


ToolEntries = Annotated[list[ToolEntry], Meta(max_length=MAX_TOOLS)]


class CatalogTool(Struct, frozen=True, kw_only=True):
    """A tool of the catalogue.

    input_schema: JSON, `null` without one. version: 1, incremented by each change. consequence, foreign: what a person
    said of it; None = nobody did since its schema or description last changed: it counts as irreversible, or foreign.
    """

    name: str
    title: str | None
    description: str | None
    input_schema: Raw
    created_ms: int
    updated_ms: int
    version: int
    annotations: ToolAnnotations | None = None
    consequence: Consequence | None = None
    foreign: bool | None = None

    @property
    def is_marked(self) -> bool:
        """True if a person has said something of it."""
        return self.consequence is not None or self.foreign is not None


class CatalogState(Struct, frozen=True):
    """The catalogue at one moment, tools by name. version: identifies exactly these tools; "" if there are none."""

    version: str
    tools: Mapping[str, CatalogTool]


class CatalogChange(Struct, frozen=True):
    """The effect of a write: all tools of the catalogue afterwards, and the names of those that changed.

    unmarked: of which nothing that a person said holds any longer.
    """

    tools: Mapping[str, CatalogTool]
    added: Sequence[str]
    changed: Sequence[str]
    removed: Sequence[str]
    unmarked: Sequence[str] = ()

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


class _Said(Struct, frozen=True):
    consequence: Consequence | None = None


_decode_said = msgspec.json.Decoder(_Said).decode


def consequence_in(record: str) -> Consequence | None:
    """What a person said in the stored record of a tool; nothing else of it is read."""
    return _decode_said(record).consequence


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

    What a person said of a tool stays unless its schema or description changes.
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
        [
            name
            for name, tool in described.items()
            if name in current and current[name].is_marked and not tool.is_marked
        ],
    )


def marked(current: Mapping[str, CatalogTool], marks: Mapping[str, ToolMarks], now_ms: int) -> CatalogChange:
    """The catalogue with what a person says of some of its tools; those of which nothing new is said are unchanged."""
    changed = {}
    for name, said in marks.items():
        tool = current[name]
        consequence = tool.consequence if said.consequence is UNSET else said.consequence
        foreign = tool.foreign if said.foreign is UNSET else said.foreign
        if (consequence, foreign) != (tool.consequence, tool.foreign):
            changed[name] = _next(tool, replace(tool, consequence=consequence, foreign=foreign), now_ms)
    return CatalogChange({**current, **changed}, [], list(changed), [])


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
    marks = {"consequence": tool.consequence, "foreign": tool.foreign}
    described = {"inputSchema": tool.input_schema, "annotations": tool.annotations}
    return named | described | marks | {"version": tool.version}


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
        annotations=entry.annotations,
    )
    if current is None:
        return made
    if (made.description, bytes(made.input_schema)) == (current.description, bytes(current.input_schema)):
        made = replace(made, consequence=current.consequence, foreign=current.foreign)
    times = {"created_ms": current.created_ms, "updated_ms": current.updated_ms, "version": current.version}
    # Not compared with ==: in Python, 1 == True.
    if _encode(replace(made, **times)) == _encode(current):
        return current
    return _next(current, made, now_ms)


def _next(current: CatalogTool, made: CatalogTool, now_ms: int) -> CatalogTool:
    """What is made of the current tool, as its next version."""
    return replace(
        made,
        created_ms=current.created_ms,
        updated_ms=max(now_ms, current.updated_ms + 1),
        version=current.version + 1,
    )
