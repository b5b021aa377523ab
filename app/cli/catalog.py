"""`remit catalog …`: the tools of a workspace."""

from typing import Any, BinaryIO

import click
import msgspec

from app.cli.api import Api, Refused, on_api
from app.cli.find import tool_path
from app.cli.groups import CommandGroup
from app.cli.options import REASON
from app.cli.output import Shown, print_record, print_table, shows
from app.model.catalog import Consequence
from app.model.text import counted, with_hidden_shown

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
    for word in ("added", "changed", "removed", "unmarked"):
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
    rows = [
        (
            each["name"],
            "catalogue" if each["catalogued"] else "seen",
            each["consequence"] or "-",
            _foreign(each),
            _line(each),
        )
        for each in found
    ]
    titles = ("TOOL", "FROM", "CONSEQUENCE", "FOREIGN", "WHAT IT IS")
    print_table(titles, rows, "No tools are known; `remit catalog import FILE` adds some")


@catalog.command("mark")
@on_api
@click.argument("tools", nargs=-1, required=True)
@click.option(
    "--consequence", type=click.Choice([each.value for each in Consequence]), help="What their calls do to the world."
)
@click.option("--foreign/--not-foreign", default=None, help="Whether their results may hold text that strangers wrote.")
@shows
@REASON
def mark_tools(api: Api, tools: tuple[str, ...], consequence: str | None, foreign: bool | None, reason: str) -> Shown:
    """Say what calls of TOOLS do to the world, and whose text they return: all of them or none are marked.

    none: they only read. discloses: they read, but their arguments reach a stranger, as those of a web page do.
    reversible: the agent's user can undo them. irreversible: they pay, send, delete, publish, or show what must stay
    secret. Until somebody says so, a tool counts as irreversible, and its results as foreign.
    """
    marks = {"consequence": consequence, "foreign": foreign}
    said = {name: value for name, value in marks.items() if value is not None}
    if not said:
        raise click.UsageError("say --consequence, --foreign or --not-foreign")
    done = api.call("PATCH", _PATH, {"tools": dict.fromkeys(tools, said)}, reason=reason)
    yield done
    for name in dict.fromkeys(tools):
        click.echo(f"{'marked' if name in done['changed'] else 'was so'}   {name}")


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
    said = found["consequence"]
    fields += [("consequence", "-" if said is None else f"{said}: {Consequence(said).in_words}")]
    fields += [("foreign", _foreign(found))]
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


def _foreign(tool: dict[str, Any]) -> str:
    return {True: "yes", False: "no", None: "-"}[tool["foreign"]]


def _line(tool: dict[str, Any]) -> str:
    """A one-line summary to print beside the tool's name. Its description is untrusted text."""
    text = with_hidden_shown(" ".join((tool["title"] or tool["description"] or "-").split()))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
