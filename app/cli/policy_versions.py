"""`remit policies versions` and `remit policies rollback`."""

from typing import TYPE_CHECKING

import click

from app.cli.find import find_policy
from app.cli.numbers import WholeNumber
from app.cli.options import JSON, REASON, WORKSPACE
from app.cli.session import print_json, with_services
from app.cli.tables import print_table

if TYPE_CHECKING:
    from app.model.changes import PolicyVersion
    from app.model.policies import Policy
    from app.replica import Services


@click.command("versions")
@WORKSPACE
@click.argument("policy")
@JSON
def list_versions(workspace: str, policy: str, as_json: bool) -> None:
    """Print a policy's versions, newest first: who changed it, when, what and why."""
    from app.views.policy_versions import PolicyVersionView

    async def read(services: "Services") -> "list[PolicyVersion]":
        workspace_id = await services.workspaces.find(workspace)
        found = await find_policy(services, workspace_id, policy)
        return [each async for each in services.policy_versions.each(workspace_id, found.id)]

    versions = [PolicyVersionView.of(each) for each in with_services(read)]
    if as_json:
        print_json(versions)
        return
    rows = [
        (
            str(each.version),
            each.timestamp or "unknown",
            each.actor_name or "unknown",
            ", ".join(each.changed) or ("created" if each.timestamp else "unknown"),
            each.reason or "",
        )
        for each in versions
    ]
    print_table(("VERSION", "CHANGED AT", "BY", "WHAT", "WHY"), rows, "")


@click.command("rollback")
@WORKSPACE
@click.argument("policy")
@click.argument("version", type=WholeNumber(1))
@REASON
@JSON
def roll_back(workspace: str, policy: str, version: int, reason: str, as_json: bool) -> None:
    """Make a former version of a policy current again, as a new version."""

    async def change(services: "Services") -> "Policy":
        workspace_id = await services.workspaces.find(workspace)
        found = await find_policy(services, workspace_id, policy)
        return await services.policy_versions.roll_back(workspace_id, found.id, version, reason=reason)

    changed = with_services(change)
    if as_json:
        from app.views.policies import PolicyView

        print_json(PolicyView.of(changed))
    else:
        click.echo(f"policy {changed.id} is at version {changed.version}, as it was at {version}")
