"""`remit agents tools`."""

from typing import Any

import click

from app.cli.api import Api, on_api
from app.cli.completion import AGENT
from app.cli.find import agent_path
from app.cli.options import NAME
from app.cli.output import print_record, print_table
from app.cli.session import Shown, shows


@click.command("tools")
@on_api
@AGENT
@click.option("--tool", type=NAME, help="Only this tool, known or not, with its conditions.")
@shows
def list_tools(api: Api, agent: str, tool: str | None) -> Shown:
    """Print the result an agent's calls of each known tool would get, before their parameters are known."""
    found = api.get(f"{agent_path(api, agent)}/tools", tool=tool)
    yield found
    if tool is not None:
        _print_tool(found["tools"][0])
        return
    rows = [
        (
            each["name"],
            each["status"],
            each["reason"] or "; ".join(asked["text"] for asked in each["conditions"]) or "-",
        )
        for each in found["tools"]
    ]
    print_table(("TOOL", "CALLS ARE", "IF"), rows, "No tools are known; `remit catalog import FILE` adds some")


def _print_tool(tool: dict[str, Any]) -> None:
    """Print one tool, one condition per line."""
    fields = [("tool", tool["name"]), ("calls are", tool["status"])]
    if tool["reason"] is not None:
        fields.append(("reason", tool["reason"]))
    for asked in tool["conditions"]:
        now = {True: "holds now", False: "does not hold now", None: "depends on the call"}[asked["holds"]]
        left = f", {asked['quota']['left']:g} left" if "quota" in asked else ""
        fields.append(("else denied" if asked["effect"] == "deny" else "else asks", f"{asked['text']} ({now}{left})"))
    print_record(fields)
