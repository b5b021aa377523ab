"""Who makes a change, and the reason they give in Change-Reason: for the trail."""

from typing import Any

from litestar import Request

from app.errors import Invalid
from app.http.authentication import provide_caller
from app.model.actors import MAX_REASON, ChangedBy
from app.model.text import require_visible
from app.validation_messages import refusing_fields

HEADER = "Change-Reason"


def provide_changed_by(request: Request[Any, Any, Any]) -> ChangedBy:
    """The caller, and the header's value. Raises Invalid."""
    return ChangedBy(provide_caller(request).actor, _reason(request))


def _reason(request: Request[Any, Any, Any]) -> str:
    """UTF-8, as in bodies; "" if it is missing. Raises Invalid."""
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
