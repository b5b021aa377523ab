"""`remit agents remembered` and `remit agents forget`."""

import click

from app.cli.api import Api, on_api
from app.cli.find import agent_path
from app.cli.options import JSON, REASON
from app.cli.output import print_table
from app.cli.session import print_json


@click.command("remembered")
@on_api
@click.argument("agent")
@JSON
def list_remembered(api: Api, agent: str, as_json: bool) -> None:
    """Print which values count as approved before, the latest first; `remit approvals show` shows the call of each."""
    found = api.get(f"{agent_path(api, agent)}/remembered")
    if as_json:
        print_json(found)
        return
    rows = [(each["approvedAt"], each["expiresAt"], each["parameter"], each["approvalId"]) for each in found]
    print_table(("APPROVED", "UNTIL", "PARAMETER", "APPROVAL"), rows, "Nothing counts as approved before")


@click.command("forget")
@on_api
@click.argument("agent")
@JSON
@REASON
def forget_remembered(api: Api, agent: str, as_json: bool, reason: str) -> None:
    """Let nothing that people have approved for an agent so far count as approved before."""
    path = agent_path(api, agent)
    api.call("DELETE", f"{path}/remembered", reason=reason)
    if as_json:
        print_json({"forgotten": path.rpartition("/")[2]})
    else:
        click.echo(f"agent {path.rpartition('/')[2]} remembers nothing that was approved")
