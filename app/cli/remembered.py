"""`remit agents remembered` and `remit agents forget`."""

import click

from app.cli.api import Api, on_api
from app.cli.find import agent_path
from app.cli.options import REASON
from app.cli.output import print_table
from app.cli.session import Shown, shows


@click.command("remembered")
@on_api
@click.argument("agent")
@shows
def list_remembered(api: Api, agent: str) -> Shown:
    """Print which values count as approved before, the latest first; `remit approvals show` shows the call of each."""
    found = api.get(f"{agent_path(api, agent)}/remembered")
    yield found
    rows = [(each["approvedAt"], each["expiresAt"], each["parameter"], each["approvalId"]) for each in found]
    print_table(("APPROVED", "UNTIL", "PARAMETER", "APPROVAL"), rows, "Nothing counts as approved before")


@click.command("forget")
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
