"""The strings that can be names: visible characters only, nothing hidden."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from app.language.visible import is_hidden
from app.model.api_keys import without_raw_keys

_HIDDEN_IN_LINES = (
    r"\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F"
    r"\u200B-\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB"
)
HIDDEN = r"\u0009\u000A" + _HIDDEN_IN_LINES
"""Invisible characters, as a character class of a pattern; some rarer ones are rejected as well."""

VISIBLE = {"pattern": f"^[^{HIDDEN}]+$"}
"""The schema of a name; `require_visible` is authoritative."""

NOT_IN_TOOLS = HIDDEN + r"\u0020\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000"
"""`HIDDEN` and every space: a tool's name has only single spaces, each between two other characters."""

CONTAINS_A_KEY = "contains an API key; leave it out, and revoke it if it is in use"


class FieldError(ValueError):
    """A value was decoded but is not allowed at `field`, a path below the struct that raised it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def require_visible(field: str, text: str, *, lines: bool = False) -> None:
    """Raise FieldError if `text` contains a control, bidirectional, zero-width or unassigned character, or an API key.

    Rejected, never stripped: a name that two systems read differently can bypass a denylist, and everyone who may read
    the log would see the key. With `lines`, line feeds and tabs are allowed.
    """
    if without_raw_keys(text) != text:
        raise FieldError(field, CONTAINS_A_KEY)
    if text.isascii() and text.isprintable():
        return
    for position, character in enumerate(text):
        if is_hidden(character) and not (lines and character in "\n\t"):
            message = f"has the invisible character U+{ord(character):04X} at position {position}; remove it"
            raise FieldError(field, message)


def require_text(text: str, most: int) -> None:
    """Raise ValueError unless `text`, a value in a query, has 1 to `most` characters, all visible.

    Anything else could not match a name.
    """
    if not 1 <= len(text) <= most:
        raise ValueError(f"must have 1 to {most} characters, not {len(text)}; leave it out to match all")
    require_visible("", text)


def require_tool_name(field: str, text: str) -> None:
    """Raise FieldError unless every character of a tool's name is visible and unambiguous.

    In addition to what `require_visible` rejects, spaces are rejected, except a single one between two other
    characters.
    """
    require_visible(field, text)
    if text.isascii() and " " not in text:
        return
    for position, character in enumerate(text):
        alone = 0 < position < len(text) - 1 and " " not in (text[position - 1], text[position + 1])
        if character.isspace() and not (character == " " and alone):
            raise FieldError(field, f"has the space U+{ord(character):04X} at position {position}; remove it")


def with_hidden_shown(text: str) -> str:
    r"""`text` with every character that `require_visible` rejects written as its code, such as `\u{202e}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{{{ord(char):x}}}" if is_hidden(char) else char for char in text)


MAX_NAME = 255
Name = Annotated[
    str, Meta(min_length=1, max_length=MAX_NAME, extra_json_schema=VISIBLE, extra={"check": require_visible})
]
"""A struct that people write runs the check with `require_valid_fields`."""
ToolName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        extra_json_schema={"pattern": f"^[^{NOT_IN_TOOLS}]( ?[^{NOT_IN_TOOLS}])*$"},
    ),
]
"""The schema of a tool's name; `require_tool_name` is authoritative."""

VisibleLines = Annotated[
    str,
    Meta(
        extra_json_schema={"pattern": f"^[^{_HIDDEN_IN_LINES}]*$"},
        extra={"check": partial(require_visible, lines=True)},
    ),
]


def counted(number: int, one: str, many: str = "") -> str:
    """`1 segment`, `2 segments`; `1 entry`, `2 entries` where `many` is given."""
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"
