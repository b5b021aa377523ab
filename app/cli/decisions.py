"""`remit decisions …`: report the outcome of calls, with the key that asked."""

import click

from app.cli.api import URL_OPTION, over_http
from app.cli.groups import CommandGroup
from app.cli.options import Uuid
from app.cli.session import Shown, shows
from app.model.outcomes import CallStatus


@click.group(cls=CommandGroup)
def decisions() -> None:
    """Report on past decisions. Needs REMIT_API_KEY, the key that asked for them."""


@decisions.command("outcome")
@URL_OPTION
@click.argument("decision_id", type=Uuid("remit audit query --json"))
@click.argument("status", type=click.Choice([each.value for each in CallStatus]))
@shows
def report_outcome(url: str, decision_id: str, status: str) -> Shown:
    """Report the outcome of an allowed call: once, within 24 hours."""
    found = over_http(url, "the key that asked for the decision").call(
        "POST", f"/v1/decisions/{decision_id}/outcome", {"status": status}
    )
    yield found
    click.echo(f"decision {found['decisionId']} is {found['status']}; limits given back: {found['refunded']}")
