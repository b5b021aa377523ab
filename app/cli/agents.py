"""`remit agents …`."""

from typing import TYPE_CHECKING, Any

import click

from app.admin.requests import AgentChanges, NewAgent
from app.cli.agent_tools import list_tools
from app.cli.find import find_agent
from app.cli.groups import CommandGroup
from app.cli.options import A_GROUP, JSON, LONG_TEXT, NAME, QUIET, REASON, WORKSPACE, AgentAlias, asks_first
from app.cli.output import counted, print_record, print_table
from app.cli.session import checked, in_workspace, print_json
from app.model.actors import ChangedBy
from app.model.agents import DEFAULT_TYPE, Agent, AgentStatus
from app.model.times import rfc3339

if TYPE_CHECKING:
    from app.replica import Services

DESCRIPTION = click.option("--description", type=LONG_TEXT, help="What it is for.")
GROUPS = click.option("--group", "groups", multiple=True, type=A_GROUP, help="A group it belongs to; may be repeated.")


@click.group(cls=CommandGroup)
def agents() -> None:
    """Manage the agents whose calls are judged. AGENT is an id, an alias, or a name that only one agent has."""


@agents.command("list")
@WORKSPACE
@click.option("--alias", type=AgentAlias(), help="Only the agent with this alias.")
@click.option("--name", type=NAME, help="Only agents with this name.")
@click.option("--status", type=click.Choice([each.value for each in AgentStatus]), help="Only agents in this state.")
@JSON
def list_agents(workspace: str, alias: str | None, name: str | None, status: str | None, as_json: bool) -> None:
    """Print a workspace's agents, oldest first."""

    async def read(services: "Services", workspace_id: str) -> list[Agent]:
        wanted = None if status is None else AgentStatus(status)
        return [
            each async for each in services.records.agents.each(workspace_id, alias=alias, name=name, status=wanted)
        ]

    found = in_workspace(workspace, read)
    if as_json:
        _print_json(found)
        return
    rows = [(each.id, each.status.value, rfc3339(each.updated_ms), each.alias or "-", each.name) for each in found]
    hint = "There are no agents; `remit agents create NAME` creates one"
    if alias is not None or name is not None or status is not None:
        hint = "No agent matches; `remit agents list` shows all of them"
    print_table(("ID", "STATUS", "CHANGED", "ALIAS", "NAME"), rows, hint)


@agents.command("show")
@WORKSPACE
@click.argument("agent")
@JSON
def show_agent(workspace: str, agent: str, as_json: bool) -> None:
    """Print one agent and its policies, in evaluation order."""
    from app.model.policies import Owner

    async def read(services: "Services", workspace_id: str) -> tuple[Agent, list[str]]:
        found = await find_agent(services, workspace_id, agent)
        policies = await services.records.policies.list_page(workspace_id, Owner(found.id))
        return found, [each.name if each.enabled else f"{each.name} (disabled)" for each in policies]

    found, policies = in_workspace(workspace, read)
    if as_json:
        _print_json(found)
        return
    fields = [("id", found.id), ("name", found.name), ("status", _status(found))]
    if found.alias is not None:
        fields.insert(1, ("alias", found.alias))
    if found.description is not None:
        fields.append(("description", found.description))
    fields += [("type", found.type)] if found.type != DEFAULT_TYPE else []
    fields.append(("groups", ", ".join(found.groups) or "none"))
    fields += [("created", rfc3339(found.created_ms)), ("changed", rfc3339(found.updated_ms))]
    print_record([*fields, ("policies", ", ".join(policies) or "none: every call is denied")])


@agents.command("create")
@WORKSPACE
@click.argument("name", type=NAME)
@click.option("--alias", type=AgentAlias(), help="A name that programs may use instead of its id.")
@click.option("--type", "kind", default=DEFAULT_TYPE, show_default=True, help="AuthZEN's `subject.type` of it.")
@DESCRIPTION
@GROUPS
@QUIET
@JSON
@REASON
def create_agent(
    workspace: str, name: str, alias: str | None, kind: str, description: str | None, groups: tuple[str, ...],
    quiet: bool, as_json: bool, by: ChangedBy,
) -> None:  # fmt: skip
    """Create an active agent. Until it has a policy, all its calls are denied."""
    given = {"name": name, "description": description or None, "groups": _once(groups), "alias": alias, "type": kind}
    new = checked(NewAgent, given)

    async def create(services: "Services", workspace_id: str) -> Agent:
        return await services.admin.agents.create(workspace_id, new, by)

    made = in_workspace(workspace, create)
    if as_json:
        _print_json(made)
    else:
        click.echo(made.id if quiet else f"agent {made.id}")


@agents.command("update")
@WORKSPACE
@click.argument("agent")
@click.option("--name", type=NAME, help="Its new name.")
@click.option("--alias", type=AgentAlias(empty=True), help="Its new alias; an empty one removes it.")
@click.option("--type", "kind", help="Its new type.")
@DESCRIPTION
@GROUPS
@click.option("--no-groups", is_flag=True, help="Remove it from every group.")
@click.option("--status", type=click.Choice([each.value for each in AgentStatus]), help="Its new status.")
@JSON
@REASON
def update_agent(
    workspace: str,
    agent: str,
    name: str | None,
    alias: str | None,
    kind: str | None,
    description: str | None,
    groups: tuple[str, ...],
    no_groups: bool,
    status: str | None,
    as_json: bool,
    by: ChangedBy,
) -> None:
    """Change an agent; every later decision applies the change. An empty description removes it.

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
    _change(workspace, agent, checked(AgentChanges, changes), by, as_json=as_json)


def _change(workspace: str, agent: str, changes: "AgentChanges", by: ChangedBy, *, as_json: bool) -> None:
    async def update(services: "Services", workspace_id: str) -> Agent:
        found = await find_agent(services, workspace_id, agent)
        return await services.admin.agents.update(workspace_id, found.id, changes, by)

    changed = in_workspace(workspace, update)
    if as_json:
        _print_json(changed)
    else:
        click.echo(f"agent {changed.id} is {changed.status}")


@agents.command("suspend")
@WORKSPACE
@click.argument("agent")
@JSON
@REASON
def suspend_agent(workspace: str, agent: str, as_json: bool, by: ChangedBy) -> None:
    """Deny every call of an agent from now on, until `remit agents activate`."""
    _change(workspace, agent, AgentChanges(status=AgentStatus.SUSPENDED), by, as_json=as_json)


@agents.command("activate")
@WORKSPACE
@click.argument("agent")
@JSON
@REASON
def activate_agent(workspace: str, agent: str, as_json: bool, by: ChangedBy) -> None:
    """Activate a suspended agent: its policies decide again."""
    _change(workspace, agent, AgentChanges(status=AgentStatus.ACTIVE), by, as_json=as_json)


@agents.command("revoke")
@WORKSPACE
@click.argument("agent")
@asks_first("A revoked agent stays revoked. Go on?")
@JSON
@REASON
def revoke_agent(workspace: str, agent: str, as_json: bool, by: ChangedBy) -> None:
    """Deny every call of an agent for good."""
    _change(workspace, agent, AgentChanges(status=AgentStatus.REVOKED), by, as_json=as_json)


@agents.command("delete")
@WORKSPACE
@click.argument("agent")
@asks_first("Its policies and quotas are deleted, too. Go on?")
@JSON
@REASON
def delete_agent(workspace: str, agent: str, as_json: bool, by: ChangedBy) -> None:
    """Delete an agent with its policies and quotas; its audit entries stay."""
    from app.model.policies import Owner

    async def delete(services: "Services", workspace_id: str) -> tuple[str, int]:
        found = await find_agent(services, workspace_id, agent)
        policies = await services.records.policies.list_page(workspace_id, Owner(found.id))
        await services.admin.agents.delete(workspace_id, found.id, by)
        return found.id, len(policies)

    agent_id, policies = in_workspace(workspace, delete)
    if as_json:
        print_json({"deleted": agent_id, "policies": policies})
        return
    click.echo(f"deleted {agent_id} with {counted(policies, 'policy', 'policies')}")


def _once(groups: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(groups))


def _status(agent: Agent) -> str:
    if agent.tripped is None:
        return agent.status.value
    return f"suspended by the denial breaker of policy {agent.tripped.policy_id} (decision {agent.tripped.decision_id})"


def _print_json(found: Agent | list[Agent]) -> None:
    from app.views.agents import AgentView

    print_json([AgentView.of(each) for each in found] if isinstance(found, list) else AgentView.of(found))


agents.add_command(list_tools)
