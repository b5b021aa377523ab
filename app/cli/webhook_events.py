"""`remit webhooks events` and `remit webhooks retry`: events that could not be delivered."""

from typing import TYPE_CHECKING

import click

from app.cli.options import JSON, WORKSPACE, Uuid
from app.cli.output import counted, print_table
from app.cli.session import in_workspace, print_json

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

    async def read(services: "Services", workspace_id: str) -> list[UnsentView]:
        unsent = await services.records.webhooks.unsent(workspace_id, webhook)
        return [UnsentView.of(each) for each in unsent]

    found = in_workspace(workspace, read)
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

    async def retry(services: "Services", workspace_id: str) -> int:
        return await services.records.webhooks.retry(workspace_id, webhook, event)

    count = in_workspace(workspace, retry)
    if as_json:
        print_json({"events": count})
    else:
        click.echo(f"{counted(count, 'event')} will be tried again")
