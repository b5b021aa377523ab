"""`remit webhooks events` and `remit webhooks retry`: events that could not be delivered."""

from typing import TYPE_CHECKING

import click

from app.cli.options import JSON, WORKSPACE, Uuid
from app.cli.output import counted, print_table
from app.cli.session import print_json, with_services

if TYPE_CHECKING:
    from app.replica import Services


WEBHOOK = click.argument("webhook", type=Uuid("remit webhooks list"))


@click.command("events")
@WORKSPACE
@WEBHOOK
@JSON
def list_events(workspace: str, webhook: str, as_json: bool) -> None:
    """List the events that could not be delivered, waiting and parked."""
    from app.webhooks.attempts import UnsentView

    async def read(services: "Services") -> list[UnsentView]:
        unsent = await services.webhooks.unsent(await services.workspaces.find(workspace), webhook)
        return [UnsentView.of(each) for each in unsent]

    found = with_services(read)
    if as_json:
        print_json(found)
        return
    rows = [
        (each.id, each.type, each.status, str(each.attempts), each.next_attempt_at or "by hand", each.error)
        for each in found
    ]
    print_table(("EVENT", "TYPE", "STATUS", "ATTEMPTS", "NEXT", "ERROR"), rows, "Everything was delivered")


@click.command("retry")
@WORKSPACE
@WEBHOOK
@click.option("--event", help="Only this one, parked or not.")
@JSON
def retry_events(workspace: str, webhook: str, event: str | None, as_json: bool) -> None:
    """Retry parked events now, and for another day."""

    async def retry(services: "Services") -> int:
        return await services.webhooks.retry(await services.workspaces.find(workspace), webhook, event)

    count = with_services(retry)
    if as_json:
        print_json({"events": count})
    else:
        click.echo(f"{counted(count, 'event')} will be tried again")
