"""`remit webhooks events` and `remit webhooks retry`: events that could not be delivered."""

import click

from app.cli.api import Api, on_api
from app.cli.options import Uuid
from app.cli.output import counted, print_table
from app.cli.session import Shown, shows

WEBHOOK = click.argument("webhook", type=Uuid("remit webhooks list"))


@click.command("events")
@on_api
@WEBHOOK
@shows
def list_events(api: Api, webhook: str) -> Shown:
    """List the events that could not be delivered, waiting and parked."""
    found = api.get(f"/v1/webhooks/{webhook}/events")
    yield found
    rows = [
        (each["id"], each["type"], each["status"], str(each["attempts"]), each["nextAttemptAt"] or "by hand",
         each["error"])
        for each in found
    ]  # fmt: skip
    print_table(("EVENT", "TYPE", "STATUS", "ATTEMPTS", "NEXT", "ERROR"), rows, "Everything was delivered")


@click.command("deliveries")
@on_api
@WEBHOOK
@shows
def list_deliveries(api: Api, webhook: str) -> Shown:
    """List the last 50 attempts to deliver events, newest first."""
    found = api.get(f"/v1/webhooks/{webhook}/deliveries")
    yield found
    rows = [
        (each["at"], each["eventId"], each["type"], str(each["attempt"]), str(each["status"] or "-"),
         f"{each['milliseconds']} ms", each["error"] or "delivered")
        for each in found
    ]  # fmt: skip
    print_table(("AT", "EVENT", "TYPE", "ATTEMPT", "STATUS", "TOOK", "RESULT"), rows, "Nothing was sent yet")


@click.command("retry")
@on_api
@WEBHOOK
@click.option("--event", help="Only this one, parked or not.")
@shows
def retry_events(api: Api, webhook: str, event: str | None) -> Shown:
    """Retry parked events now, and for another day."""
    retried = api.call("POST", f"/v1/webhooks/{webhook}/retry", {} if event is None else {"event": event})
    yield retried
    click.echo(f"{counted(retried['events'], 'event')} will be tried again")
