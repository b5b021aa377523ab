"""`remit policies versions`, `rollback` and `divergence`."""

from typing import TYPE_CHECKING

import click

from app.cli.find import find_policy
from app.cli.options import JSON, OF_AGENT, OF_GROUP, REASON, WORKSPACE
from app.cli.output import WholeNumber, counted, print_table
from app.cli.session import in_workspace, print_json
from app.model.actors import ChangedBy

if TYPE_CHECKING:
    from app.model.snapshots import PolicyVersion
    from app.replica import Services
    from app.views.policies import WrittenPolicyView


@click.command("versions")
@WORKSPACE
@click.argument("policy")
@JSON
def list_versions(workspace: str, policy: str, as_json: bool) -> None:
    """Print a policy's versions, newest first: who changed it, when, what and why."""
    from app.views.policy_versions import PolicyVersionView

    async def read(services: "Services", workspace_id: str) -> "list[PolicyVersion]":
        found = await find_policy(services, workspace_id, policy)
        return [each async for each in services.records.policy_versions.each(workspace_id, found.id)]

    versions = [PolicyVersionView.of(each) for each in in_workspace(workspace, read)]
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
def roll_back(workspace: str, policy: str, version: int, by: ChangedBy, as_json: bool) -> None:
    """Make a former version of a policy current again, as a new version."""
    from app.cli.policy_edits import print_written
    from app.cli.policy_lint import accepting

    async def change(services: "Services", workspace_id: str) -> "WrittenPolicyView":
        found = await find_policy(services, workspace_id, policy)
        return await services.admin.policies.roll_back(workspace_id, found.id, version, by, accepting(strict=False))

    changed = in_workspace(workspace, change)
    sentence = f"policy {changed.id} is at version {changed.version}, as it was at {version}"
    print_written(changed, sentence, as_json=as_json)


if TYPE_CHECKING:
    from app.model.policy_sets import PolicyDivergence
    from app.replica import Services


@click.command("divergence")
@WORKSPACE
@click.argument("policy")
@OF_AGENT
@OF_GROUP
@JSON
def show_divergence(workspace: str, policy: str, agent: str | None, group: str | None, as_json: bool) -> None:
    """Print how often a shadow policy would have changed a result, since its last change."""
    from app.views.policy_versions import DivergenceView

    async def read(services: "Services", workspace_id: str) -> "PolicyDivergence":
        found = await find_policy(services, workspace_id, policy, agent, group)
        return await services.records.divergences.get(workspace_id, found.id)

    found = DivergenceView.of(in_workspace(workspace, read))
    if as_json:
        print_json(found)
        return
    state = found.mode.value if found.enabled else "off"
    calls = counted(found.total, "call")
    click.echo(f"{calls} would have had another result since {found.since} (version {found.version}, mode {state})")
    rows = [(each.result.value, each.shadow_result.value, str(each.count)) for each in found.counts]
    if rows:
        print_table(("WAS", "WOULD BE", "CALLS"), rows, "")
        click.echo(f"`remit audit query --shadow {found.policy_id}` prints them", err=True)
