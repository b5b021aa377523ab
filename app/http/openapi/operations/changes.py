"""The trail of changes."""

from app.http.openapi.operation import ADMIN, Operation
from app.http.openapi.parameters import CHANGE_FILTERS, NEXT_CURSOR
from app.model.changes import Change

CHANGES = (
    Operation(
        "GET",
        "/v1/changes",
        "Query the trail of changes, newest first",
        ADMIN,
        "Changes",
        query=CHANGE_FILTERS,
        answer=list[Change],
        headers=NEXT_CURSOR,
        description=(
            "Who created, updated or deleted which agent, policy or API key. Each entry is written in the same step "
            "as its change: none is missing, and refused changes have none. All given filters must match. Continue "
            "until an answer has no X-Next-Cursor: a page may hold fewer than `limit`."
        ),
    ),
)
