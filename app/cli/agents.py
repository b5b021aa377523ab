"""`remit agents …`: agents, what each may call, and what counts for that."""

import json
from collections.abc import Iterator
from typing import Any

import click

from app.cli.api import Api, on_api
from app.cli.changes import CHANGE_HEADS, a_page_of_changes, change_row
from app.cli.completion import AGENT
from app.cli.find import agent_path, find_agent
from app.cli.groups import CommandGroup
from app.cli.option_types import AgentAlias, Time
from app.cli.options import A_GROUP, LONG_TEXT, NAME, QUIET, REASON, Option, asks_first, checked, filters
from app.cli.output import Shown, print_record, print_table, shows
from app.model.agents import DEFAULT_TYPE, AgentStatus
from app.model.catalog import Consequence
from app.model.changes import HistorySpan
from app.model.requests import AgentChanges, NewAgent
from app.model.text import counted, with_hidden_shown

DESCRIPTION = click.option("--description", type=LONG_TEXT, help="What it is for.")
GROUPS = click.option("--group", "groups", multiple=True, type=A_GROUP, help="A group it belongs to; may be repeated.")
_PATH = "/v1/agents"


@click.group(cls=CommandGroup)
def agents() -> None:
    """Manage the agents whose calls are judged. AGENT is an id, an alias, or a name that only one agent has."""


@agents.command("list")
@on_api
@click.option("--alias", type=AgentAlias(), help="Only the agent with this alias.")
@click.option("--name", type=NAME, help="Only agents with this name.")
@click.option("--status", type=click.Choice([each.value for each in AgentStatus]), help="Only agents in this state.")
@shows
def list_agents(api: Api, alias: str | None, name: str | None, status: str | None) -> Shown:
    """Print a workspace's agents, oldest first."""
    found = api.get(_PATH, alias=alias, name=name, status=status)
    yield found
    rows = [(each["id"], each["status"], each["updatedAt"], each["alias"] or "-", each["name"]) for each in found]
    hint = "There are no agents; `remit agents create NAME` creates one"
    if alias is not None or name is not None or status is not None:
        hint = "No agent matches; `remit agents list` shows all of them"
    print_table(("ID", "STATUS", "CHANGED", "ALIAS", "NAME"), rows, hint)


@agents.command("show")
@on_api
@AGENT
@shows
def show_agent(api: Api, agent: str) -> Shown:
    """Print one agent and its policies, in evaluation order."""
    found = find_agent(api, agent)
    yield found
    own = api.get("/v1/policies", agent_id=found["id"])
    policies = [each["name"] if each["enabled"] else f"{each['name']} (disabled)" for each in own]
    fields = [("id", found["id"]), ("name", found["name"]), ("status", _status(found))]
    if found["alias"] is not None:
        fields.insert(1, ("alias", found["alias"]))
    if found["description"] is not None:
        fields.append(("description", found["description"]))
    fields += [("type", found["type"])] if found["type"] != DEFAULT_TYPE else []
    fields.append(("groups", ", ".join(found["groups"]) or "none"))
    fields += [("created", found["createdAt"]), ("changed", found["updatedAt"])]
    print_record([*fields, ("policies", ", ".join(policies) or "none: every call is denied")])


@agents.command("create")
@on_api
@click.argument("name", type=NAME)
@click.option("--alias", type=AgentAlias(), help="A name that programs may use instead of its id.")
@click.option("--type", "kind", default=DEFAULT_TYPE, show_default=True, help="AuthZEN's `subject.type` of it.")
@DESCRIPTION
@GROUPS
@QUIET
@shows
@REASON
def create_agent(
    api: Api, name: str, alias: str | None, kind: str, description: str | None, groups: tuple[str, ...], quiet: bool,
    reason: str,
) -> Shown:  # fmt: skip
    """Create an active agent. Until it has a policy, all its calls are denied."""
    given = {"name": name, "description": description or None, "groups": _once(groups), "alias": alias, "type": kind}
    checked(NewAgent, given)
    made = api.call("POST", _PATH, given, reason=reason)
    yield made
    click.echo(made["id"] if quiet else f"agent {made['id']}")


@agents.command("update")
@on_api
@AGENT
@click.option("--name", type=NAME, help="Its new name.")
@click.option("--alias", type=AgentAlias(empty=True), help="Its new alias; an empty one removes it.")
@click.option("--type", "kind", help="Its new type.")
@click.option("--description", type=LONG_TEXT, help="What it is for; an empty text removes it.")
@GROUPS
@click.option("--no-groups", is_flag=True, help="Remove it from every group.")
@click.option("--status", type=click.Choice([each.value for each in AgentStatus]), help="Its new status.")
@shows
@REASON
def update_agent(
    api: Api, agent: str, name: str | None, alias: str | None, kind: str | None, description: str | None,
    groups: tuple[str, ...], no_groups: bool, status: str | None, reason: str,
) -> Shown:  # fmt: skip
    """Change an agent; every later decision applies the change.

    The groups given replace all of the agent's groups.
    """
    if groups and no_groups:
        raise click.UsageError("Give --group or --no-groups, not both")

    given: dict[str, Any] = {"name": name, "alias": alias, "description": description, "status": status, "type": kind}
    changes = {field: value or None for field, value in given.items() if value is not None}
    if groups or no_groups:
        changes["groups"] = _once(groups)
    if not changes:
        raise click.UsageError(
            "Say what to change: --name, --alias, --type, --description, --group, --no-groups or --status"
        )
    checked(AgentChanges, changes)
    return _change(api, agent, changes, reason)


def _change(api: Api, agent: str, changes: dict[str, Any], reason: str) -> Shown:
    changed = api.call("PATCH", agent_path(api, agent), changes, reason=reason)
    yield changed
    what = changed["status"] if "status" in changes else f"at version {changed['version']}"
    click.echo(f"agent {changed['id']} is {what}")


@agents.command("suspend")
@on_api
@AGENT
@shows
@REASON
def suspend_agent(api: Api, agent: str, reason: str) -> Shown:
    """Deny every call of an agent from now on, until `remit agents activate`."""
    return _change(api, agent, {"status": AgentStatus.SUSPENDED}, reason)


@agents.command("activate")
@on_api
@AGENT
@shows
@REASON
def activate_agent(api: Api, agent: str, reason: str) -> Shown:
    """Activate a suspended agent: its policies decide again."""
    return _change(api, agent, {"status": AgentStatus.ACTIVE}, reason)


@agents.command("revoke")
@on_api
@AGENT
@asks_first("A revoked agent stays revoked. Go on?")
@shows
@REASON
def revoke_agent(api: Api, agent: str, reason: str) -> Shown:
    """Deny every call of an agent for good."""
    return _change(api, agent, {"status": AgentStatus.REVOKED}, reason)


@agents.command("delete")
@on_api
@AGENT
@asks_first("Its policies and quotas are deleted, too. Go on?")
@shows
@REASON
def delete_agent(api: Api, agent: str, reason: str) -> Shown:
    """Delete an agent with its policies and quotas; its audit entries stay."""
    agent_id = find_agent(api, agent)["id"]
    policies = len(api.get("/v1/policies", agent_id=agent_id))
    api.call("DELETE", f"{_PATH}/{agent_id}", reason=reason)
    yield {"deleted": agent_id, "policies": policies}
    click.echo(f"deleted {agent_id} with {counted(policies, 'policy', 'policies')}")


def _once(groups: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(groups))


def _status(agent: dict[str, Any]) -> str:
    tripped = agent.get("tripped")
    if tripped is None:
        return str(agent["status"])
    return f"suspended by the denial breaker of policy {tripped['policyId']} (decision {tripped['decisionId']})"


@agents.command("tools")
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
            each["consequence"] or "-",
            each["reason"] or "; ".join(asked["text"] for asked in each["conditions"]) or "-",
        )
        for each in found["tools"]
    ]
    print_table(
        ("TOOL", "CALLS ARE", "CONSEQUENCE", "IF"), rows, "No tools are known; `remit catalog import FILE` adds some"
    )


def _print_tool(tool: dict[str, Any]) -> None:
    """Print one tool, one condition per line."""
    fields = [("tool", tool["name"]), ("calls are", tool["status"])]
    if said := tool["consequence"]:
        fields.append(("consequence", f"{said}: {Consequence(said).in_words}"))
    if tool["reason"] is not None:
        fields.append(("reason", tool["reason"]))
    for asked in tool["conditions"]:
        now = {True: "holds now", False: "does not hold now", None: "depends on the call"}[asked["holds"]]
        left = f", {asked['quota']['left']:g} left" if "quota" in asked else ""
        fields.append(("else denied" if asked["effect"] == "deny" else "else asks", f"{asked['text']} ({now}{left})"))
    print_record(fields)


@agents.command("quotas")
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


@agents.command("remembered")
@on_api
@click.argument("agent")
@shows
def list_remembered(api: Api, agent: str) -> Shown:
    """Print which values count as approved before, the latest first; `remit approvals show` shows the call of each."""
    found = api.get(f"{agent_path(api, agent)}/remembered")
    yield found
    rows = [(each["approvedAt"], each["expiresAt"], each["parameter"], each["approvalId"]) for each in found]
    print_table(("APPROVED", "UNTIL", "PARAMETER", "APPROVAL"), rows, "Nothing counts as approved before")


@agents.command("forget")
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


@agents.command("history")
@on_api
@AGENT
@filters(
    HistorySpan,
    from_ms=Option(kind=Time(), help="Only what was at or after this time: ISO 8601, a date, -24h."),
    to_ms=Option(kind=Time(end=True), help="Only what was at or before this time; a date means its end."),
)
@a_page_of_changes
@shows
def history(api: Api, agent: str, query: dict[str, Any], limit: int, before: str | None) -> Shown:
    """Print what an agent's calls were answered, and what was changed meanwhile that concerned it, newest first."""
    found = api.get(f"{agent_path(api, agent)}/history", **query, limit=limit, cursor=before)
    try:
        yield found
        counts = [(each["result"], each["code"] or "-", str(each["count"])) for each in found["counts"]]
        print_table(("RESULT", "CODE", "CALLS"), counts, "No call was answered")
        click.echo()
        print_table(CHANGE_HEADS, [*map(change_row, found["changes"])], "Nothing that concerns it was changed")
    finally:  # JSON ends at the yield, and the notes come after it, too
        if found["nextCursor"] is not None:
            click.echo(f"There are older changes: add --before {found['nextCursor']} for the next page", err=True)
        if not found["complete"]:
            click.echo("Older changes were not looked for: the trail is too long to be read so far back", err=True)
