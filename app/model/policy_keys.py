"""Policy keys: names that programs and files use for an owner's policies, the same in every environment."""

import re
from typing import Annotated, Any

from msgspec import Meta

from app.model.agents import require_no_id
from app.model.text import FieldError

MAX_KEY = 128
_KEY = r"\.*[A-Za-z0-9_@:-][A-Za-z0-9._@:-]*"
_spelled_as_key = re.compile(_KEY).fullmatch
KEY_RULES = f"1 to {MAX_KEY} of A-Z a-z 0-9 . _ @ : - and more than dots"
CALLED: dict[str, Any] = {"minLength": 1, "maxLength": MAX_KEY, "pattern": f"^{_KEY}$"}
"""The schema of a key, and of an id or key; `require_key` is authoritative."""

_PATHS = frozenset({"lint", "schema.json"})
"""Words used in API paths where a key may appear."""


def require_key(field: str, text: str) -> None:
    """Raise FieldError unless the string can be a policy's key."""
    if len(text) > MAX_KEY or not _spelled_as_key(text):
        raise FieldError(field, f"must be {KEY_RULES}")
    require_no_id(field, text)
    if text in _PATHS:
        raise FieldError(field, "is reserved for the API's own paths; choose another")


PolicyKey = Annotated[
    str,
    Meta(
        description="A name for programs, unique among the policies of the same agent, group or workspace; never in "
        "the form of a UUID.",
        extra_json_schema=CALLED,
        extra={"check": require_key},
    ),
]


def is_key(text: str) -> bool:
    """True if a policy may have this key."""
    try:
        require_key("", text)
    except FieldError:
        return False
    return True
