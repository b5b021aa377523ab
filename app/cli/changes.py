"""`remit changes`: who changed what, when and why."""

from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace

from app.cli.find import find_key
from app.cli.options import JSON, WORKSPACE, Option, Time, Uuid, filters
from app.cli.output import WholeNumber, print_table
from app.cli.session import in_workspace, print_json
from app.model.actors import UNRECORDED
from app.model.changes import Change, ChangeFilters, ChangePage, ChangeQuery, is_change_id
from app.model.ids import canonical_uuid
from app.model.query_fields import MAX_PAGE

if TYPE_CHECKING:
    from app.replica import Services


@click.command("changes")
@WORKSPACE
@filters(
    ChangeFilters,
    ChangeQuery,
    actor_id=Option(
        "--actor", click.STRING, "Only changes made with this key (id or name), by `console` or by `breaker`."
    ),
    resource_type=Option("--type"),
    resource_id=Option("--id", Uuid("remit changes --json")),
    from_ms=Option(kind=Time(), help="Only changes at or after this time: ISO 8601, a date, -24h."),
    to_ms=Option(kind=Time(end=True), help="Only changes at or before this time; a date means its end."),
)
@click.option(
    "--limit", type=WholeNumber(1, MAX_PAGE), default=100, show_default=True, help="The most changes to print."
)
@click.option("--before", help="Only changes before this one: the position that the last page ended with.")
@JSON
def changes(workspace: str, query: ChangeQuery, limit: int, before: str | None, as_json: bool) -> None:
    """Print who changed which agent, policy, key or webhook, when and why, newest first."""

    async def read(services: "Services", workspace_id: str) -> ChangePage:
        if before is not None and not is_change_id(before):
            raise click.BadParameter("must be the position that the page before ended with", param_hint="--before")
        actor = query.actor_id
        actor_id = actor if actor in (None, *UNRECORDED) else canonical_uuid(actor or "")
        if actor is not None and actor_id is None:
            actor_id = (await find_key(services, workspace_id, actor)).id
        asked = replace(query, actor_id=actor_id, limit=limit, older_than=before)
        return await services.records.changes.query(workspace_id, asked)

    page = in_workspace(workspace, read)
    if as_json:
        print_json(page.changes)
    else:
        heads = ("CHANGED AT", "BY", "WHAT", "ID", "FIELDS", "WHY")
        print_table(heads, [_row(each) for each in page.changes], "No change matches")
    if page.older_than is not None:
        click.echo(f"There are older ones: add --before {page.older_than} for the next page", err=True)


def _row(change: Change) -> tuple[str, ...]:
    from app.model.text import with_hidden_shown

    fields: dict[str, Any] = msgspec.json.decode(change.after) or {}
    shown = ", ".join(name for name in fields if name != "version") if change.kind == "updated" else "-"
    reason = "" if isinstance(change.reason, msgspec.UnsetType) else change.reason
    what = f"{change.resource_type} {change.kind}"
    cells = (change.timestamp, change.actor_name, what, change.resource_id, shown or "-", reason)
    return tuple(map(with_hidden_shown, cells))
