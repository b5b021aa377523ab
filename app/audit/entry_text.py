r"""Searches entries for a text: in the values of their fields, whichever way JSON spells them.

Remit spells each character in one way, so bytes are searched for the text as Remit spells it. Values in which another
spelling could hide it (`\u00e9`, `\/`) are decoded first.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

_json = msgspec.json.encode
_decode = msgspec.json.decode
_values_of = msgspec.json.Decoder(dict[str, Raw]).decode
_BACKSLASH = ord("\\")
_U = ord("u")
_ESCAPE = 6
_unusual = re.compile(rb"(?<!\\)(?:\\\\)*+\\(?:/|u(?!00[01]))").search


class EntryText:
    """Finds a text in entries: in strings and names of parameters by their characters, in numbers as they are written.

    Nothing is found in the names of an entry's own fields, or across two fields.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._spelled = _json(text)[1:-1]
        self._has_controls = any(character < " " for character in text)

    def needle(self, body: bytes) -> bytes:
        """Bytes that each line of the body with the text contains; b"" if there are none."""
        return b"" if self._may_hide_in(body) else self._spelled

    def is_in(self, line: bytes) -> bool:
        """True if a value of the entry has the text."""
        if self._may_hide_in(line):
            return any(self._text in text for value in _decode(line).values() for text in _texts_of(value))
        if self._spelled not in line:
            return False
        return any(self._stands_in(bytes(value)) for value in _values_of(line).values())

    def _may_hide_in(self, body: bytes) -> bool:
        """False if Remit's spelling of the text is the only one in the body."""
        by_number, has_slashes = body.count(rb"\u"), rb"\/" in body
        if self._has_controls or not (by_number or has_slashes):
            return bool(by_number or has_slashes)
        controls = body.count(rb"\u000") + body.count(rb"\u001")
        return (has_slashes or by_number != controls) and _unusual(body) is not None

    def _stands_in(self, value: bytes) -> bool:
        """True if the text is in the value, as Remit spells it, and does not begin in the middle of an escape."""
        at = value.find(self._spelled)
        while at >= 0 and _is_in_escape(value, at):
            at = value.find(self._spelled, at + 1)
        return at >= 0


def _is_in_escape(value: bytes, at: int) -> bool:
    """True if an escape begins before this place and ends after it."""
    for start in range(max(0, at - _ESCAPE + 1), at):
        if value[start] == _BACKSLASH and (start == at - 1 or value[start + 1] == _U):
            before = start
            while value[before - 1] == _BACKSLASH:
                before -= 1
            if (start - before) % 2 == 0:
                return True
    return False


def _texts_of(value: Any) -> Iterator[str]:
    """Every string in the value, names included, and every other scalar as JSON."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from _texts_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts_of(each)
    else:
        yield value if isinstance(value, str) else _json(value).decode()
