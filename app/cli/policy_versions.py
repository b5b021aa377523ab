"""`remit policies versions`, `rollback` and `divergence`."""

import click

from app.cli.api import Api, on_api
from app.cli.completion import POLICY
from app.cli.find import find_policy
from app.cli.option_types import WholeNumber
from app.cli.options import OF_AGENT, OF_GROUP, REASON
from app.cli.output import Shown, counted, print_table, shows


@click.command("versions")
@on_api
@POLICY
@shows
def list_versions(api: Api, policy: str) -> Shown:
    """Print a policy's versions, newest first: who changed it, when, what and why."""
    versions = api.get(f"/v1/policies/{find_policy(api, policy)['id']}/versions")
    yield versions
    rows = [
        (
            str(each["version"]),
            each["timestamp"] or "unknown",
            each["actorName"] or "unknown",
            ", ".join(each["changed"]) or ("created" if each["timestamp"] else "unknown"),
            each.get("reason") or "",
        )
        for each in versions
    ]
    print_table(("VERSION", "CHANGED AT", "BY", "WHAT", "WHY"), rows, "")


@click.command("rollback")
@on_api
@POLICY
@click.argument("version", type=WholeNumber(1))
@REASON
@shows
def roll_back(api: Api, policy: str, version: int, reason: str) -> Shown:
    """Make a former version of a policy current again, as a new version."""
    from app.cli.policy_edits import print_written

    path = f"/v1/policies/{find_policy(api, policy)['id']}/rollback"
    changed = api.call("POST", path, {"version": version}, reason=reason)
    yield changed
    print_written(changed, f"policy {changed['id']} is at version {changed['version']}, as it was at {version}")


@click.command("divergence")
@on_api
@POLICY
@OF_AGENT
@OF_GROUP
@shows
def show_divergence(api: Api, policy: str, agent: str | None, group: str | None) -> Shown:
    """Print how often a shadow policy would have changed a result, since its last change."""
    found = api.get(f"/v1/policies/{find_policy(api, policy, agent, group)['id']}/divergence")
    yield found
    state = found["mode"] if found["enabled"] else "off"
    calls = f"{counted(found['total'], 'call')} would have had another result since {found['since']}"
    click.echo(f"{calls} (version {found['version']}, mode {state})")
    rows = [(each["result"], each["shadowResult"], str(each["count"])) for each in found["counts"]]
    if rows:
        print_table(("WAS", "WOULD BE", "CALLS"), rows, "")
        click.echo(f"`remit audit query --shadow {found['policyId']}` prints them", err=True)
