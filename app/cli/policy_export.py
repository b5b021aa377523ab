"""`remit policy export` and `schema`: a workspace's policies as files, and the schema of such files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.api import Api, on_api
from app.cli.output import print_json

if TYPE_CHECKING:
    from app.cli.policy_sets import Sets


@click.command("export")
@on_api
@click.option("--agent", help="Only this agent's policies; printed if no folder is given.")
@click.option("--group", help="Only this group's policies; printed if no folder is given.")
@click.option("--json", "as_json", is_flag=True, help="JSON files instead of YAML.")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
def export_policies(api: Api, agent: str | None, group: str | None, as_json: bool, folder: Path | None) -> None:
    """Write policies as files: one for each agent and group that has any, and one for the workspace.

    Files in FOLDER with the same names are replaced; others are left alone.
    """
    from app.cli.policy_sets import Sets
    from app.policy_tools.files.rendering import as_json as to_json
    from app.policy_tools.files.rendering import as_yaml

    if folder is None and (agent is None) == (group is None):
        raise click.UsageError("Give a FOLDER to write to, or one of --agent and --group to print")

    for name, file in _exported(Sets(api), agent, group):
        text = to_json(file) if as_json else as_yaml(file)
        if folder is None:
            click.echo(text, nl=False)
            continue
        path = folder / f"{name}.{'json' if as_json else 'yaml'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        click.echo(path)


@click.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of policy files, for editors; the service provides it at /v1/policies/schema.json."""
    from app.policy_tools.files.schema import schema

    print_json(schema())


def _exported(sets: "Sets", agent: str | None, group: str | None) -> list[tuple[str, dict[str, Any]]]:
    """For each owner of policies, its file's name without the extension, and its content."""
    from msgspec.structs import replace

    from app.model.policies import Owner
    from app.policy_tools.files.policy_file import as_file, as_owner
    from app.policy_tools.files.rendering import file_name

    agents = sets.agents()
    if agent is not None:
        agent_id, _ = sets.agent(agent)
        wanted = [Owner(agent_id)]
    elif group is not None:
        wanted = [Owner(group=group)]
    else:
        wanted = sets.owners()
    names = [each.name for _, each in agents]
    known = dict(agents)
    files: dict[str, dict[str, Any]] = {}
    for owner in wanted:
        policies = sets.get(owner).policies
        if owner.agent_id is not None:
            found_agent = known[owner.agent_id]
            is_unique = found_agent.alias is not None or names.count(found_agent.name) == 1
            called = as_owner(found_agent if is_unique else replace(found_agent, name=owner.agent_id))
            path = f"agents/{file_name(found_agent.called)}" + ("" if is_unique else f"-{owner.agent_id}")
        elif owner.group is not None:
            called, path = {"group": owner.group}, f"groups/{file_name(owner.group)}"
        else:
            called, path = {"workspace": True}, "workspace"
        while path.lower() in (each.lower() for each in files):
            path += "-2"
        files[path] = as_file(policies, called)
    return list(files.items())
