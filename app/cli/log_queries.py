"""Queries of the log from the command line: their filters, and as many entries as were asked for."""

from typing import Any

import click

from app.cli.api import Api
from app.cli.find import find_agent_id
from app.cli.option_types import Shadow, Time, Uuid
from app.cli.options import Option, filters
from app.model.audit import AuditFilters

FILTERS = filters(
    AuditFilters,
    agent_id=Option(
        "--agent", click.STRING, "Only entries of this agent: its id, its alias, or a name that only one has."
    ),
    tool_name=Option("--tool"),
    result=Option(help="Only this result."),
    id=Option(kind=Uuid("remit audit query --json")),
    key_id=Option("--key", Uuid("remit keys list")),
    policy_id=Option("--policy", Uuid("remit policies list")),
    shadow=Option(
        kind=Shadow("remit policies list"), help="Only where this shadow policy, or any, would have decided otherwise."
    ),
    text=Option("--text"),
    from_ms=Option(kind=Time(), help="Only entries at or after this time: ISO 8601, a date, yesterday, -24h."),
    to_ms=Option(kind=Time(end=True), help="Only entries at or before this time; a date means its end."),
)


def settled(api: Api, query: dict[str, Any]) -> dict[str, Any]:
    """The query with the id of the agent it names."""
    called = query.get("agent_id")
    return query if called is None else query | {"agent_id": find_agent_id(api, called)}


def newest(api: Api, query: dict[str, Any], limit: int) -> tuple[list[bytes], str | None]:
    """The newest matching entries, and the cursor of the older ones; None if there are none.

    The service ends a page early if it had to read many entries for it; then the next page is read, too.
    """
    lines, older = api.page("/v1/audit-logs", query | {"limit": limit})
    while older is not None and len(lines) < limit:
        more, older = api.page("/v1/audit-logs", query | {"limit": limit - len(lines), "offset": 0, "cursor": older})
        lines += more
    return lines, older
