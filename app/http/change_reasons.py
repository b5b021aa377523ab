"""Change-Reason: the reason of a change, for the trail."""

from typing import Any

from litestar import Request

from app.errors import Invalid
from app.model.changes import MAX_REASON
from app.model.text import require_visible
from app.validation_messages import refusing_fields

HEADER = "Change-Reason"


def provide_reason(request: Request[Any, Any, Any]) -> str:
    """The header's value; "" if it is missing. UTF-8, as in bodies. Raises Invalid."""
    given = [value for name, value in request.scope["headers"] if name == b"change-reason"]
    if not given:
        return ""
    if len(given) > 1:
        raise Invalid.at(HEADER, "is given twice; give it once")
    try:
        reason = given[0].decode().strip()
    except UnicodeDecodeError:
        raise Invalid.at(HEADER, "is not UTF-8") from None
    if not 1 <= len(reason) <= MAX_REASON:
        raise Invalid.at(HEADER, f"must have 1 to {MAX_REASON} characters, not {len(reason)}")
    with refusing_fields(""):
        require_visible(HEADER, reason)
    return reason
