"""`remit catalog …`: the tools of a workspace."""

from typing import Any, BinaryIO

import click
import msgspec

from app.cli.api import Api, Refused, on_api
from app.cli.find import tool_path
from app.cli.groups import CommandGroup
from app.cli.options import REASON
from app.cli.output import Shown, counted, print_record, print_table, shows
from app.model.text import with_hidden_shown

_PATH = "/v1/catalog"
_SHOWN = 60
TOOL = click.argument("tool")


@click.group(cls=CommandGroup)
def catalog() -> None:
    """Manage the tools of a workspace, as their servers list them. A catalogue allows nothing; only policies do."""


@catalog.command("import")
@on_api
@click.argument("file", type=click.File("rb"))
@click.option("--prune", is_flag=True, help="Remove tools that are not in the file.")
@shows
@REASON
def import_tools(api: Api, file: BinaryIO, prune: bool, reason: str) -> Shown:
    """Import tools from FILE (- is standard input), an MCP server's answer to `tools/list`."""
    try:
        done = api.call("PUT", _PATH, file.read(), reason=reason, prune=prune)
    except Refused as refused:
        raise click.ClickException(f"{file.name}: {refused.message}") from None
    yield done
    for word in ("added", "changed", "removed"):
        for name in done[word]:
            click.echo(f"{word:<8} {name}")
    click.echo(f"The catalogue has {counted(done['tools'], 'tool')}")


@catalog.command("list")
@on_api
@shows
def list_tools(api: Api) -> Shown:
    """List every known tool by name; tools known only from the log are marked `seen`."""
    found = api.get(_PATH)
    yield found
    rows = [(each["name"], "catalogue" if each["catalogued"] else "seen", _line(each)) for each in found]
    print_table(("TOOL", "FROM", "WHAT IT IS"), rows, "No tools are known; `remit catalog import FILE` adds some")


@catalog.command("show")
@on_api
@TOOL
@shows
def show_tool(api: Api, tool: str) -> Shown:
    """Print one tool of the catalogue."""
    found = api.get(tool_path(tool))
    yield found
    schema = found.get("inputSchema")
    fields = [("name", found["name"]), ("title", found["title"] or "-"), ("description", found["description"] or "-")]
    fields += [("inputSchema", "none" if schema is None else msgspec.json.encode(schema).decode())]
    fields += [("version", str(found["version"])), ("changed", found["updatedAt"] or "-")]
    print_record([(name, with_hidden_shown(value)) for name, value in fields])


@catalog.command("delete")
@on_api
@TOOL
@shows
@REASON
def delete_tool(api: Api, tool: str, reason: str) -> Shown:
    """Remove a tool from the catalogue; policies and log are unchanged."""
    api.call("DELETE", tool_path(tool), reason=reason)
    yield {"deleted": tool}
    click.echo(f"deleted {tool}")


def _line(tool: dict[str, Any]) -> str:
    """A one-line summary to print beside the tool's name. Its description is untrusted text."""
    text = with_hidden_shown(" ".join((tool["title"] or tool["description"] or "-").split()))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
