"""`remit changes`: who changed what, when and why."""

from typing import TYPE_CHECKING, Any

import click
import msgspec

from app.cli.find import find_key
from app.cli.options import JSON, WORKSPACE, Time, Uuid
from app.cli.output import WholeNumber, print_table
from app.cli.session import print_json, with_services
from app.model.ids import canonical_uuid

if TYPE_CHECKING:
    from app.model.changes import Change, ChangePage
    from app.replica import Services

_LARGEST_PAGE = 1000
RESOURCES = ("agent", "policy", "api_key", "webhook", "catalog")


@click.command("changes")
@WORKSPACE
@click.option("--actor", help="Only changes made with this key (id or name), by `console` or by `breaker`.")
@click.option("--type", "kind", type=click.Choice(RESOURCES), help="Only changes to this type of thing.")
@click.option("--id", "resource_id", type=Uuid("remit changes --json"), help="Only changes to the thing with this id.")
@click.option("--from", "from_", type=Time(), help="Only changes at or after this time: ISO 8601, a date, -24h.")
@click.option("--to", type=Time(end=True), help="Only changes at or before this time; a date means its end.")
@click.option(
    "--limit", type=WholeNumber(1, _LARGEST_PAGE), default=100, show_default=True, help="The most changes to print."
)
@click.option("--before", help="Only changes before this one: the position that the last page ended with.")
@JSON
def changes(
    workspace: str, actor: str | None, kind: str | None, resource_id: str | None, from_: int | None, to: int | None,
    limit: int, before: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Print who changed which agent, policy, key or webhook, when and why, newest first."""
    from app.model.actors import UNRECORDED
    from app.model.changes import ChangeQuery, ResourceType

    async def read(services: "Services") -> "ChangePage":
        from app.store.changes import is_change_id

        if before is not None and not is_change_id(before):
            raise click.BadParameter("must be the position that the page before ended with", param_hint="--before")
        workspace_id = await services.workspaces.find(workspace)
        actor_id = actor if actor in (None, *UNRECORDED) else canonical_uuid(actor or "")
        if actor is not None and actor_id is None:
            actor_id = (await find_key(services, workspace_id, actor)).id
        query = ChangeQuery(
            actor_id=actor_id,
            resource_type=None if kind is None else ResourceType(kind),
            resource_id=resource_id,
            from_ms=from_,
            to_ms=to,
            limit=limit,
            older_than=before,
        )
        return await services.changes.query(workspace_id, query)

    page = with_services(read)
    if as_json:
        print_json(page.changes)
    else:
        heads = ("CHANGED AT", "BY", "WHAT", "ID", "FIELDS", "WHY")
        print_table(heads, [_row(each) for each in page.changes], "No change matches")
    if page.older_than is not None:
        click.echo(f"There are older ones: add --before {page.older_than} for the next page", err=True)


def _row(change: "Change") -> tuple[str, ...]:
    from app.model.text import with_hidden_shown

    fields: dict[str, Any] = msgspec.json.decode(change.after) or {}
    shown = ", ".join(name for name in fields if name != "version") if change.kind == "updated" else "-"
    reason = "" if isinstance(change.reason, msgspec.UnsetType) else change.reason
    what = f"{change.resource_type} {change.kind}"
    cells = (change.timestamp, change.actor_name, what, change.resource_id, shown or "-", reason)
    return tuple(map(with_hidden_shown, cells))
