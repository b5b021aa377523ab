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
            "Who created, updated or deleted which agent, policy or API key: written in the same step as the change, "
            "so that none is missing and none was refused. All filters that are given must match. Ask until an answer "
            "has no X-Next-Cursor: a page may hold fewer than `limit`."
        ),
    ),
)
