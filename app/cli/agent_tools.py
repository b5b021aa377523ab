"""`remit agents tools`."""

from typing import TYPE_CHECKING

import click
from msgspec import UnsetType

from app.cli.find import find_agent
from app.cli.options import JSON, NAME, WORKSPACE
from app.cli.output import print_record, print_table
from app.cli.session import in_workspace, print_json

if TYPE_CHECKING:
    from app.model.tool_access import AgentTools, ToolAccess
    from app.replica import Services


@click.command("tools")
@WORKSPACE
@click.argument("agent")
@click.option("--tool", type=NAME, help="Only this tool, known or not, with its conditions.")
@JSON
def list_tools(workspace: str, agent: str, tool: str | None, as_json: bool) -> None:
    """Print the result an agent's calls of each known tool would get, before their parameters are known."""

    async def read(services: "Services", workspace_id: str) -> "AgentTools":
        found = await find_agent(services, workspace_id, agent)
        return (await services.explanations.tool_listings.list_tools(workspace_id, found.id, tool=tool)).whole

    found = in_workspace(workspace, read)
    if as_json:
        print_json(found)
        return
    if tool is not None:
        _print_tool(found.tools[0])
        return
    rows = [
        (each.name, each.status.value, each.reason or "; ".join(asked.text for asked in each.conditions) or "-")
        for each in found.tools
    ]
    print_table(("TOOL", "CALLS ARE", "IF"), rows, "No tools are known; `remit catalog import FILE` adds some")


def _print_tool(tool: "ToolAccess") -> None:
    """Print one tool, one condition per line."""
    fields = [("tool", tool.name), ("calls are", tool.status.value)]
    if tool.reason is not None:
        fields.append(("reason", tool.reason))
    for asked in tool.conditions:
        now = {True: "holds now", False: "does not hold now", None: "depends on the call"}[asked.holds]
        left = "" if isinstance(asked.quota, UnsetType) else f", {asked.quota.left:g} left"
        fields.append(("else denied" if asked.effect == "deny" else "else asks", f"{asked.text} ({now}{left})"))
    print_record(fields)
