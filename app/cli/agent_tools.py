"""`remit agents tools`, `quotas`, `remembered` and `forget`: what an agent may call, and what counts for that."""

import json
from collections.abc import Iterator
from typing import Any

import click

from app.cli.api import Api, on_api
from app.cli.completion import AGENT
from app.cli.find import agent_path
from app.cli.options import NAME, REASON
from app.cli.output import Shown, print_record, print_table, shows
from app.model.text import with_hidden_shown


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


@click.command("quotas")
@on_api
@AGENT
@shows
def list_quotas(api: Api, agent: str) -> Shown:
    """Print how full an agent's limits, budgets and denial breakers are, and for which values most."""
    found = api.get(f"{agent_path(api, agent)}/quotas")
    yield found
    rows = [row for each in found["quotas"] for row in _rows(each)]
    print_table(("POLICY", "RULE", "LIMIT", "TAKEN", "LEFT", "FREES IN"), rows, "Nothing limits this agent's calls")


def _rows(limit: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The limit, and below it a row for each of its fullest values."""
    rule = f"{limit['rule']['index']} {limit['rule']['type']}"
    level = ("-", "-", "-") if "values" in limit else _level(limit["quota"])
    yield limit["policyName"], rule, limit["text"], *level
    if "values" not in limit:
        return
    shown = limit["values"]["fullest"]
    for each in shown:
        values = each["values"]
        text = "a value that is not shown" if values is None else ", ".join(map(_value, values))
        yield "", "", f"  {text}", *_level(each["quota"])
    if (others := limit["values"]["total"] - len(shown)) > 0:
        yield "", "", f"  and {others} more", "-", "-", "-"


def _value(seen: dict[str, Any]) -> str:
    """The value with its name; invisible characters are escaped."""
    return with_hidden_shown(f"{seen['name']} = {json.dumps(seen['value'], ensure_ascii=False)}")


def _level(quota: dict[str, Any]) -> tuple[str, str, str]:
    frees = quota["freesInSeconds"]
    return f"{quota['taken']:g} of {quota['most']:g}", f"{quota['left']:g}", "-" if frees is None else f"{frees:.0f} s"


@click.command("remembered")
@on_api
@click.argument("agent")
@shows
def list_remembered(api: Api, agent: str) -> Shown:
    """Print which values count as approved before, the latest first; `remit approvals show` shows the call of each."""
    found = api.get(f"{agent_path(api, agent)}/remembered")
    yield found
    rows = [(each["approvedAt"], each["expiresAt"], each["parameter"], each["approvalId"]) for each in found]
    print_table(("APPROVED", "UNTIL", "PARAMETER", "APPROVAL"), rows, "Nothing counts as approved before")


@click.command("forget")
@on_api
@click.argument("agent")
@shows
@REASON
def forget_remembered(api: Api, agent: str, reason: str) -> Shown:
    """Let nothing that people have approved for an agent so far count as approved before."""
    path = agent_path(api, agent)
    api.call("DELETE", f"{path}/remembered", reason=reason)
    yield {"forgotten": path.rpartition("/")[2]}
    click.echo(f"agent {path.rpartition('/')[2]} remembers nothing that was approved")
