"""`remit catalog …`: the tools of a workspace."""

from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from app.cli.groups import CommandGroup
from app.cli.options import JSON, REASON, WORKSPACE
from app.cli.output import counted, print_record, print_table
from app.cli.session import in_workspace, print_json
from app.model.actors import ChangedBy
from app.model.text import with_hidden_shown
from app.views.catalog import CatalogToolView, ChangedCatalogView

if TYPE_CHECKING:
    from app.replica import Services

_SHOWN = 60
TOOL = click.argument("tool")


@click.group(cls=CommandGroup)
def catalog() -> None:
    """Manage the tools of a workspace, as their servers list them. A catalogue allows nothing; only policies do."""


@catalog.command("import")
@WORKSPACE
@click.argument("file", type=click.File("rb"))
@click.option("--prune", is_flag=True, help="Remove tools that are not in the file.")
@JSON
@REASON
def import_tools(workspace: str, file: BinaryIO, prune: bool, as_json: bool, by: ChangedBy) -> None:
    """Import tools from FILE (- is standard input), an MCP server's answer to `tools/list`."""
    from app.errors import Invalid, PayloadTooLarge
    from app.http.api.catalog import tools_of

    try:
        entries = tools_of(file.read(), prune=prune)
    except (Invalid, PayloadTooLarge) as error:
        raise click.ClickException(f"{file.name}: {error}") from None

    async def put(services: "Services", workspace_id: str) -> ChangedCatalogView:
        state, change = await services.records.catalog.put(workspace_id, entries, prune=prune, by=by)
        return ChangedCatalogView.of(state, change)

    done = in_workspace(workspace, put)
    if as_json:
        print_json(done)
        return
    for word, names in (("added", done.added), ("changed", done.changed), ("removed", done.removed)):
        for name in names:
            click.echo(f"{word:<8} {name}")
    click.echo(f"The catalogue has {counted(done.tools, 'tool')}")


@catalog.command("list")
@WORKSPACE
@JSON
def list_tools(workspace: str, as_json: bool) -> None:
    """List every known tool by name; tools known only from the log are marked `seen`."""

    async def read(services: "Services", workspace_id: str) -> list[CatalogToolView]:
        listing = await services.records.catalog.listing(workspace_id)
        tools = listing.catalog.tools
        return [
            CatalogToolView.of(tools[name]) if name in tools else CatalogToolView(name=name, catalogued=False)
            for name in listing.names
        ]

    found = in_workspace(workspace, read)
    if as_json:
        print_json(found)
        return
    rows = [(each.name, "catalogue" if each.catalogued else "seen", _line(each)) for each in found]
    print_table(("TOOL", "FROM", "WHAT IT IS"), rows, "No tools are known; `remit catalog import FILE` adds some")


@catalog.command("show")
@WORKSPACE
@TOOL
@JSON
def show_tool(workspace: str, tool: str, as_json: bool) -> None:
    """Print one tool of the catalogue."""

    async def read(services: "Services", workspace_id: str) -> CatalogToolView:
        return CatalogToolView.of(await services.records.catalog.get(workspace_id, tool))

    found = in_workspace(workspace, read)
    if as_json:
        print_json(found)
        return
    schema = "none" if found.input_schema is None else msgspec.json.encode(found.input_schema).decode()
    fields = [("name", found.name), ("title", found.title or "-"), ("description", found.description or "-")]
    fields += [("inputSchema", schema), ("version", str(found.version)), ("changed", found.updated_at or "-")]
    print_record([(name, with_hidden_shown(value)) for name, value in fields])


@catalog.command("delete")
@WORKSPACE
@TOOL
@JSON
@REASON
def delete_tool(workspace: str, tool: str, as_json: bool, by: ChangedBy) -> None:
    """Remove a tool from the catalogue; policies and log are unchanged."""

    async def delete(services: "Services", workspace_id: str) -> None:
        await services.records.catalog.delete_tool(workspace_id, tool, by=by)

    in_workspace(workspace, delete)
    if as_json:
        print_json({"deleted": tool})
    else:
        click.echo(f"deleted {tool}")


def _line(tool: CatalogToolView) -> str:
    """A one-line summary to print beside the tool's name. Its description is untrusted text."""
    text = with_hidden_shown(" ".join((tool.title or tool.description or "-").split()))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
