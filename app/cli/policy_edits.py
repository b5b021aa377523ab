"""`remit policies create` and `remit policies update`."""

from typing import TYPE_CHECKING, BinaryIO

import click

from app.cli.find import find_agent, find_policy
from app.cli.options import JSON, NAME, OF_AGENT, OF_GROUP, QUIET, REASON, WORKSPACE
from app.cli.output import WholeNumber
from app.cli.session import in_workspace, print_json
from app.model.actors import ChangedBy

if TYPE_CHECKING:
    from app.replica import Services
    from app.views.policies import WrittenPolicyView


_LOWEST, _HIGHEST = 0, 1_000
FILE = click.File("rb")
MODE = click.option(
    "--mode", type=click.Choice(["enforce", "shadow"]), help="Whether it decides, or only records where it would have."
)
STRICT = click.option("--strict", is_flag=True, help="Write nothing and exit with 3 if there is a warning.")


@click.command("create")
@WORKSPACE
@click.argument("agent", required=False)
@click.option("--group", help="The group that owns the policy, instead of an agent.")
@click.option("--file", "-f", "file", type=FILE, required=True, help="The policy as JSON; - is standard input.")
@MODE
@STRICT
@QUIET
@JSON
@REASON
def create_policy(
    workspace: str, agent: str | None, group: str | None, file: BinaryIO, mode: str | None, strict: bool, quiet: bool,
    as_json: bool, by: ChangedBy,
) -> None:  # fmt: skip
    """Create a policy of AGENT or of a group; it applies from the next decision on.

    With neither it is a guardrail of the whole workspace, and the file must say so: "kind": "guardrail". Warnings about
    rules that are valid but probably not meant go to stderr.
    """
    from msgspec.structs import replace

    from app.cli.policy_bodies import read_file, require_owned
    from app.cli.policy_lint import accepting
    from app.model.new_policy_checks import NewPolicy
    from app.model.policies import Owner, PolicyMode

    if agent is not None and group is not None:
        raise click.UsageError("Give AGENT or --group, not both")
    given = read_file(file, NewPolicy)
    given = given if mode is None else replace(given, mode=PolicyMode(mode))

    async def create(services: "Services", workspace_id: str) -> "WrittenPolicyView":
        agent_id = None if agent is None else (await find_agent(services, workspace_id, agent)).id
        owner = Owner(agent_id, group)
        require_owned(file.name, given, owner)
        return await services.admin.policies.create(workspace_id, owner, given, by, accepting(strict=strict))

    made = in_workspace(workspace, create)
    if quiet and not as_json:
        click.echo(made.id)
    else:
        print_written(made, f"policy {made.id}", as_json=as_json)


@click.command("update")
@WORKSPACE
@click.argument("policy")
@OF_AGENT
@OF_GROUP
@click.option("--file", "-f", "file", type=FILE, help="What to change, as JSON; - is standard input.")
@click.option("--name", type=NAME, help="Its new name.")
@click.option(
    "--priority",
    type=WholeNumber(_LOWEST, _HIGHEST),
    help="Its new priority; higher priorities are evaluated first.",
)
@click.option("--enable/--disable", "enabled", default=None, help="Whether it is evaluated at all.")
@MODE
@STRICT
@JSON
@REASON
def update_policy(
    workspace: str, policy: str, agent: str | None, group: str | None, file: BinaryIO | None, name: str | None,
    priority: int | None, enabled: bool | None, mode: str | None, strict: bool, as_json: bool, by: ChangedBy,
) -> None:  # fmt: skip
    """Change a policy; fields not given stay. Rate limits that keep their tools and window keep their counted calls."""
    if (file, name, priority, enabled, mode) == (None,) * 5:
        raise click.UsageError("Say what to change: --file, --name, --priority, --mode, --enable or --disable")
    from msgspec.structs import replace

    from app.cli.policy_bodies import read_file
    from app.cli.policy_lint import accepting
    from app.model.new_policy_checks import NewPolicyChanges
    from app.model.policies import PolicyMode

    options = {"name": name, "priority": priority, "enabled": enabled, "mode": mode and PolicyMode(mode)}
    given = NewPolicyChanges() if file is None else read_file(file, NewPolicyChanges)
    given = replace(given, **{field: value for field, value in options.items() if value is not None})

    async def update(services: "Services", workspace_id: str) -> "WrittenPolicyView":
        found = await find_policy(services, workspace_id, policy, agent, group)
        return await services.admin.policies.update(workspace_id, found.id, given, by, accepting(strict=strict))

    changed = in_workspace(workspace, update)
    print_written(changed, f"policy {changed.id} is at version {changed.version}", as_json=as_json)


def print_written(policy: "WrittenPolicyView", sentence: str, *, as_json: bool) -> None:
    """Print the policy, or the sentence and, to stderr, the warnings."""
    from app.cli.policy_lint import warning_lines

    if as_json:
        print_json(policy)
        return
    click.echo(sentence)
    for line in warning_lines(policy.warnings or ()):
        click.echo(line, err=True)
