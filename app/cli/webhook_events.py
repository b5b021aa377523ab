"""`remit webhooks events` and `remit webhooks retry`: events that could not be delivered."""

import click

from app.cli.api import Api, on_api
from app.cli.options import JSON, Uuid
from app.cli.output import counted, print_table
from app.cli.session import print_json

WEBHOOK = click.argument("webhook", type=Uuid("remit webhooks list"))


@click.command("events")
@on_api
@WEBHOOK
@JSON
def list_events(api: Api, webhook: str, as_json: bool) -> None:
    """List the events that could not be delivered, waiting and parked."""
    found = api.get(f"/v1/webhooks/{webhook}/events")
    if as_json:
        print_json(found)
        return
    rows = [
        (each["id"], each["type"], each["status"], str(each["attempts"]), each["nextAttemptAt"] or "by hand",
         each["error"])
        for each in found
    ]  # fmt: skip
    print_table(("EVENT", "TYPE", "STATUS", "ATTEMPTS", "NEXT", "ERROR"), rows, "Everything was delivered")


@click.command("deliveries")
@on_api
@WEBHOOK
@JSON
def list_deliveries(api: Api, webhook: str, as_json: bool) -> None:
    """List the last 50 attempts to deliver events, newest first."""
    found = api.get(f"/v1/webhooks/{webhook}/deliveries")
    if as_json:
        print_json(found)
        return
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
@JSON
def retry_events(api: Api, webhook: str, event: str | None, as_json: bool) -> None:
    """Retry parked events now, and for another day."""
    retried = api.call("POST", f"/v1/webhooks/{webhook}/retry", {} if event is None else {"event": event})
    if as_json:
        print_json(retried)
    else:
        click.echo(f"{counted(retried['events'], 'event')} will be tried again")
