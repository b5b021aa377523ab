"""`remit policies divergence`."""

from typing import TYPE_CHECKING

import click

from app.cli.find import find_policy
from app.cli.options import JSON, OF_AGENT, OF_GROUP, WORKSPACE
from app.cli.session import print_json, with_services
from app.cli.tables import counted, print_table

if TYPE_CHECKING:
    from app.model.divergences import PolicyDivergence
    from app.replica import Services


@click.command("divergence")
@WORKSPACE
@click.argument("policy")
@OF_AGENT
@OF_GROUP
@JSON
def show_divergence(workspace: str, policy: str, agent: str | None, group: str | None, as_json: bool) -> None:
    """Print how often a shadow policy would have changed a result, since its last change."""
    from app.views.divergences import DivergenceView

    async def read(services: "Services") -> "PolicyDivergence":
        workspace_id = await services.workspaces.find(workspace)
        found = await find_policy(services, workspace_id, policy, agent, group)
        return await services.divergences.get(workspace_id, found.id)

    found = DivergenceView.of(with_services(read))
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
