"""`remit policies …`."""

from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from app.cli.find import find_agent, find_policy
from app.cli.lazy import LazyGroup
from app.cli.options import JSON, QUIET, REASON, WORKSPACE, Name
from app.cli.policy_versions import list_versions, roll_back
from app.cli.replay import replay_draft
from app.cli.session import print_json, with_services
from app.cli.tables import counted, print_record, print_table
from app.model.times import rfc3339

if TYPE_CHECKING:
    from app.model.policies import Policy
    from app.replica import Services

_LOWEST, _HIGHEST = 0, 1_000_000
FILE = click.File("rb")
OF_AGENT = click.option("--agent", help="Whose policy it is: an agent's.")
OF_GROUP = click.option("--group", help="Whose policy it is: a group's.")


_ON_FILES = {
    "apply": "app.cli.policy_files:apply_policies",
    "diff": "app.cli.policy_files:diff_policies",
    "export": "app.cli.policy_export:export_policies",
    "lint": "app.cli.policy_checks:lint_files",
    "schema": "app.cli.policy_export:print_schema",
    "test": "app.cli.policy_checks:test_policies",
}


@click.group(cls=LazyGroup, lazily=_ON_FILES, also={})
def policies() -> None:
    """Policies of agents. POLICY is an id, or a key or name that only one has; AGENT an id, an alias or such a name.

    Keys and names of policies are looked up among all, or among those of --agent or --group. `create` and `update` take
    a file with what POST /v1/policies takes but for agent_id: name, rules, and if wanted key, priority and enabled.
    `export`, `diff` and `apply` are about files with all policies of an agent, of a group or of the workspace.
    """


@policies.command("list")
@WORKSPACE
@click.option("--agent", help="Only those of this agent, in the order in which they are evaluated.")
@JSON
def list_policies(workspace: str, agent: str | None, as_json: bool) -> None:
    """Print a workspace's policies."""

    async def read(services: "Services") -> "tuple[list[Policy], dict[str, str]]":
        workspace_id = await services.workspaces.find(workspace)
        agent_id = None if agent is None else (await find_agent(services, workspace_id, agent)).id
        names = {each.id: each.alias or each.name async for each in services.agents.each(workspace_id)}
        return await services.policies.list_page(workspace_id, agent_id), names

    found, names = with_services(read)
    if as_json:
        _print_json(found)
        return
    rows = [
        (
            each.id,
            str(each.priority),
            "on" if each.enabled else "off",
            counted(len(each.rules), "rule"),
            _governed(each, names),
            each.key or "-",
            each.name,
        )
        for each in found
    ]
    hint = "There is no policy; `remit policies create AGENT --file FILE` makes one"
    print_table(("ID", "PRIORITY", "STATE", "RULES", "GOVERNS", "KEY", "NAME"), rows, hint)


@policies.command("show")
@WORKSPACE
@click.argument("policy")
@OF_AGENT
@OF_GROUP
@JSON
def show_policy(workspace: str, policy: str, agent: str | None, group: str | None, as_json: bool) -> None:
    """Print one policy, a rule a line."""

    async def read(services: "Services") -> "Policy":
        return await find_policy(services, await services.workspaces.find(workspace), policy, agent, group)

    found = with_services(read)
    if as_json:
        _print_json(found)
        return
    print_record(
        [
            ("id", found.id),
            ("governs", _governed(found, {})),
            ("key", found.key or "-"),
            ("name", found.name),
            ("priority", str(found.priority)),
            ("state", "on" if found.enabled else "off"),
            ("created", rfc3339(found.created_ms)),
            ("changed", f"{rfc3339(found.updated_ms)}, version {found.version}"),
            *((f"rule {index}", msgspec.json.encode(rule).decode()) for index, rule in enumerate(found.rules)),
        ]
    )


@policies.command("create")
@WORKSPACE
@click.argument("agent")
@click.option("--file", "-f", "file", type=FILE, required=True, help="The policy as JSON; - is standard input.")
@QUIET
@JSON
@REASON
def create_policy(workspace: str, agent: str, file: BinaryIO, quiet: bool, as_json: bool, reason: str) -> None:
    """Make a policy of an agent; it governs the agent from the next decision on."""
    from app.cli.policy_file import PolicyFile, read_file

    given = read_file(file, PolicyFile)

    async def create(services: "Services") -> "Policy":
        workspace_id = await services.workspaces.find(workspace)
        return await services.policies.create(
            workspace_id,
            (await find_agent(services, workspace_id, agent)).id,
            name=given.name,
            rules=given.rules,
            priority=given.priority,
            enabled=given.enabled,
            reason=reason,
            key=given.key,
            agent_message=given.agent_message,
        )

    made = with_services(create)
    if as_json:
        _print_json(made)
    else:
        click.echo(made.id if quiet else f"policy {made.id}")


@policies.command("update")
@WORKSPACE
@click.argument("policy")
@OF_AGENT
@OF_GROUP
@click.option("--file", "-f", "file", type=FILE, help="What to change, as JSON; - is standard input.")
@click.option("--name", type=Name(), help="Its new name.")
@click.option("--priority", type=click.IntRange(_LOWEST, _HIGHEST), help="Its new priority; higher is asked first.")
@click.option("--enable/--disable", "enabled", default=None, help="Whether it decides.")
@JSON
@REASON
def update_policy(
    workspace: str,
    policy: str,
    agent: str | None,
    group: str | None,
    file: BinaryIO | None,
    name: str | None,
    priority: int | None,
    enabled: bool | None,
    as_json: bool,
    reason: str,
) -> None:
    """Change a policy; what is not given stays. Rate limits keep their calls where tools and window stay."""
    if file is None and name is None and priority is None and enabled is None:
        raise click.UsageError("Say what to change: --file, --name, --priority, --enable or --disable")
    from msgspec import UNSET

    from app.cli.policy_file import PolicyChanges, read_file

    given = PolicyChanges() if file is None else read_file(file, PolicyChanges)

    async def update(services: "Services") -> "Policy":
        workspace_id = await services.workspaces.find(workspace)
        return await services.policies.update(
            workspace_id,
            (await find_policy(services, workspace_id, policy, agent, group)).id,
            name=given.name if name is None else name,
            rules=UNSET if given.rules is UNSET else given.rules,
            priority=given.priority if priority is None else priority,
            enabled=given.enabled if enabled is None else enabled,
            reason=reason,
            key=given.key,
            agent_message=given.agent_message,
        )

    changed = with_services(update)
    if as_json:
        _print_json(changed)
    else:
        click.echo(f"policy {changed.id} is at version {changed.version}")


@policies.command("delete")
@WORKSPACE
@click.argument("policy")
@OF_AGENT
@OF_GROUP
@REASON
def delete_policy(workspace: str, policy: str, agent: str | None, group: str | None, reason: str) -> None:
    """Remove a policy and its quotas."""

    async def delete(services: "Services") -> str:
        workspace_id = await services.workspaces.find(workspace)
        found = await find_policy(services, workspace_id, policy, agent, group)
        await services.policies.delete(workspace_id, found.id, reason=reason)
        return found.id

    click.echo(f"deleted {with_services(delete)}")


policies.add_command(list_versions)
policies.add_command(roll_back)


def _governed(policy: "Policy", names: dict[str, str]) -> str:
    """The agent by its name or id, the group, or the whole workspace."""
    if policy.agent_id is not None:
        return names.get(policy.agent_id, policy.agent_id)
    return "every agent" if policy.group is None else f"group {policy.group}"


def _print_json(found: "Policy | list[Policy]") -> None:
    from app.views.policies import PolicyView

    print_json([PolicyView.of(each) for each in found] if isinstance(found, list) else PolicyView.of(found))


policies.add_command(replay_draft)
