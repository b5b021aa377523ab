"""`remit changes`: who changed what, when and why."""

import json
from typing import Any

import click

from app.cli.api import Api, on_api
from app.cli.find import find_key
from app.cli.option_types import Time, Uuid, WholeNumber
from app.cli.options import F, Option, filters
from app.cli.output import Shown, print_table, shows
from app.model.actors import UNRECORDED
from app.model.changes import ChangeFilters, is_change_id
from app.model.ids import uuid_of
from app.model.query_fields import MAX_PAGE
from app.model.text import with_hidden_shown

CHANGE_HEADS = ("CHANGED AT", "BY", "WHAT", "ID", "FIELDS", "WHY")


def _a_position(_context: click.Context, _option: click.Parameter, before: str | None) -> str | None:
    if before is not None and not is_change_id(before):
        raise click.BadParameter("must be the position that the page before ended with")
    return before


def a_page_of_changes(command: F) -> F:
    """The options --limit and --before of a command that prints changes, newest first."""
    limited = click.option(
        "--limit", type=WholeNumber(1, MAX_PAGE), default=100, show_default=True, help="The most changes to print."
    )
    said = "Only changes before this one: the position that the last page ended with."
    return limited(click.option("--before", callback=_a_position, help=said)(command))


@click.command("changes")
@on_api
@filters(
    ChangeFilters,
    actor_id=Option(
        "--actor", click.STRING, "Only changes made with this key (id or name), by `console` or by `breaker`."
    ),
    person=Option("--person", Uuid("remit sessions list --json"), help="Only changes made by the person with this id."),
    resource_type=Option("--type"),
    resource_id=Option("--id", Uuid("remit changes --json")),
    from_ms=Option(kind=Time(), help="Only changes at or after this time: ISO 8601, a date, -24h."),
    to_ms=Option(kind=Time(end=True), help="Only changes at or before this time; a date means its end."),
)
@a_page_of_changes
@shows
def changes(api: Api, query: dict[str, Any], limit: int, before: str | None) -> Shown:
    """Print who changed which agent, policy, key or webhook, when and why, newest first."""
    actor = query.get("actor_id")
    if actor is not None and actor not in UNRECORDED:
        query["actor_id"] = uuid_of(actor) or find_key(api, actor)["id"]
    page, older_than = api.page("/v1/changes", query | {"limit": limit, "cursor": before})
    changed = [*map(json.loads, page)]
    try:
        yield changed
        print_table(CHANGE_HEADS, [change_row(each) for each in changed], "No change matches")
    finally:  # JSON ends at the yield, and the note comes after it, too
        if older_than is not None:
            click.echo(f"There are older ones: add --before {older_than} for the next page", err=True)


def change_row(change: dict[str, Any]) -> tuple[str, ...]:
    """A change as a row of a table with CHANGE_HEADS."""
    fields = change["after"] or {}
    shown = ", ".join(name for name in fields if name != "version") if change["kind"] == "updated" else "-"
    what = f"{change['resourceType']} {change['kind']}"
    by = f"{change['actorName']} ({change['via']})" if "via" in change else change["actorName"]
    said = (change["timestamp"], by, what, change["resourceId"], shown or "-", change.get("reason"))
    return tuple(with_hidden_shown(each or "") for each in said)
