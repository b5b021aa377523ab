"""Which text may be a name: what a person can see, and nothing that hides."""

import unicodedata
from typing import Annotated

from msgspec import Meta

Name = Annotated[str, Meta(min_length=1, max_length=255)]


class FieldError(ValueError):
    """A value decoded but may not stand at `field`, a path below the struct that raised it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def require_visible(field: str, text: str, *, lines: bool = False) -> None:
    """Raise FieldError if `text` holds a control, bidirectional, zero-width or unassigned character.

    Rejected, never stripped: a name that two systems read differently is how a denylist is passed by.
    With `lines`, line feeds and tabs may stand in it.
    """
    if text.isprintable():
        return
    for position, character in enumerate(text):
        # Zs (wide spaces) are visible gaps; Python merely does not call them printable.
        if character.isprintable() or unicodedata.category(character) == "Zs" or (lines and character in "\n\t"):
            continue
        message = f"has the invisible character U+{ord(character):04X} at position {position}; remove it"
        raise FieldError(field, message)
