"""`remit policies …`."""

from typing import TYPE_CHECKING

import click
import msgspec

from app.cli.find import find_agent, find_policy
from app.cli.groups import LazyGroup
from app.cli.options import JSON, OF_AGENT, OF_GROUP, REASON, WORKSPACE
from app.cli.output import counted, print_record, print_table
from app.cli.policy_versions import list_versions, roll_back, show_divergence
from app.cli.replay import replay_draft
from app.cli.session import in_workspace, print_json
from app.model.actors import ChangedBy
from app.model.times import rfc3339

if TYPE_CHECKING:
    from app.model.policies import Policy
    from app.replica import Services


_LAZILY = {
    "create": "app.cli.policy_edits:create_policy",
    "update": "app.cli.policy_edits:update_policy",
    "apply": "app.cli.policy_apply:apply_policies",
    "diff": "app.cli.policy_apply:diff_policies",
    "export": "app.cli.policy_export:export_policies",
    "lint": "app.cli.policy_lint:lint",
    "schema": "app.cli.policy_export:print_schema",
    "test": "app.cli.policy_tests:test_policies",
}


_OWN_LINES = ("name", "rules", "priority", "enabled", "mode", "key")
"""Fields that `show` always prints; the others only if they differ from their default."""


@click.group(cls=LazyGroup, lazily=_LAZILY, also={})
def policies() -> None:
    """Manage policies. POLICY is an id, or a unique key or name; AGENT is an id, an alias or a unique name.

    Keys and names are looked up among all policies, or among those of --agent or --group. `create` and `update` take a
    file with the body of POST /v1/policies without its owner: name, rules, and optionally kind, mode, …. `export`,
    `diff` and `apply` work with files that contain all policies of an agent, of a group or of the workspace.
    """


@policies.command("list")
@WORKSPACE
@click.option("--agent", help="Only those of this agent, in evaluation order.")
@click.option("--group", help="Only those of this group.")
@JSON
def list_policies(workspace: str, agent: str | None, group: str | None, as_json: bool) -> None:
    """List a workspace's policies."""
    from app.model.policies import owner_or_none

    async def read(services: "Services", workspace_id: str) -> "tuple[list[Policy], dict[str, str]]":
        agent_id = None if agent is None else (await find_agent(services, workspace_id, agent)).id
        names = {each.id: each.alias or each.name async for each in services.records.agents.each(workspace_id)}
        return [
            each async for each in services.records.policies.each(workspace_id, owner_or_none(agent_id, group))
        ], names

    found, names = in_workspace(workspace, read)
    if as_json:
        _print_json(found)
        return
    rows = [
        (
            each.id,
            str(each.priority),
            _state(each),
            counted(len(each.rules), "rule"),
            _governed(each, names),
            each.key or "-",
            each.name,
        )
        for each in found
    ]
    hint = "There are no policies; `remit policies create AGENT --file FILE` creates one"
    print_table(("ID", "PRIORITY", "MODE", "RULES", "GOVERNS", "KEY", "NAME"), rows, hint)


@policies.command("show")
@WORKSPACE
@click.argument("policy")
@OF_AGENT
@OF_GROUP
@JSON
def show_policy(workspace: str, policy: str, agent: str | None, group: str | None, as_json: bool) -> None:
    """Print one policy, one rule per line."""

    async def read(services: "Services", workspace_id: str) -> "Policy":
        return await find_policy(services, workspace_id, policy, agent, group)

    from app.model.policies import DEFAULTS, values_of

    found = in_workspace(workspace, read)
    if as_json:
        _print_json(found)
        return
    more = {name: value for name, value in values_of(found).items() if name not in _OWN_LINES}
    print_record(
        [
            ("id", found.id),
            ("governs", _governed(found, {})),
            ("key", found.key or "-"),
            ("name", found.name),
            ("priority", str(found.priority)),
            ("mode", _state(found)),
            *((name.replace("_", " "), str(value)) for name, value in more.items() if value != DEFAULTS[name]),
            ("created", rfc3339(found.created_ms)),
            ("changed", f"{rfc3339(found.updated_ms)}, version {found.version}"),
            *((f"rule {index}", msgspec.json.encode(rule).decode()) for index, rule in enumerate(found.rules)),
        ]
    )


@policies.command("delete")
@WORKSPACE
@click.argument("policy")
@OF_AGENT
@OF_GROUP
@JSON
@REASON
def delete_policy(
    workspace: str, policy: str, agent: str | None, group: str | None, as_json: bool, by: ChangedBy
) -> None:
    """Delete a policy and its quotas."""

    async def delete(services: "Services", workspace_id: str) -> str:
        found = await find_policy(services, workspace_id, policy, agent, group)
        await services.admin.policies.delete(workspace_id, found.id, by)
        return found.id

    deleted = in_workspace(workspace, delete)
    if as_json:
        print_json({"deleted": deleted})
    else:
        click.echo(f"deleted {deleted}")


policies.add_command(list_versions)
policies.add_command(show_divergence)
policies.add_command(roll_back)


def _state(policy: "Policy") -> str:
    """Its mode, or `off` if it is disabled."""
    return policy.mode.value if policy.enabled else "off"


def _governed(policy: "Policy", names: dict[str, str]) -> str:
    """The agent's name or id, the group, or the whole workspace."""
    if policy.agent_id is not None:
        return names.get(policy.agent_id, policy.agent_id)
    return "every agent" if policy.group is None else f"group {policy.group}"


def _print_json(found: "Policy | list[Policy]") -> None:
    from app.views.policies import PolicyView

    print_json([PolicyView.of(each) for each in found] if isinstance(found, list) else PolicyView.of(found))


policies.add_command(replay_draft)
