r"""Searches entries for a text: in the values of their fields, whichever way JSON spells them.

Remit spells each character in one way, so bytes are searched for the text as Remit spells it. Where another spelling
could hide it (`\u00e9`, `\/`), every line is read.
"""

import re

import msgspec
from msgspec import Raw

_json = msgspec.json.encode
_text_of = msgspec.json.Decoder(str).decode
_values_of = msgspec.json.Decoder(dict[str, Raw]).decode
_QUOTE = ord(b'"')
_unusual = re.compile(rb"(?<!\\)(?:\\\\)*+\\(?:/|u(?!00[01]))").search
_scalars_in = re.compile(rb'"(?:[^"\\]|\\.)*+"|[^][{},:"\s]+').findall


class EntryText:
    """Finds a text in entries: in strings and names of parameters by their characters, in numbers as they are written.

    Nothing is found in the names of an entry's own fields, or across two values.
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
        is_hidden = self._may_hide_in(line)
        if not is_hidden and self._spelled not in line:
            return False
        for value in map(bytes, _values_of(line).values()):
            if is_hidden or self._spelled in value:
                for scalar in _scalars_in(value):
                    if self._text in (_text_of(scalar) if scalar[0] == _QUOTE else scalar.decode()):
                        return True
        return False

    def _may_hide_in(self, body: bytes) -> bool:
        """False if Remit's spelling of the text is the only one in the body."""
        by_number, has_slashes = body.count(rb"\u"), rb"\/" in body
        if self._has_controls or not (by_number or has_slashes):
            return bool(by_number or has_slashes)
        controls = body.count(rb"\u000") + body.count(rb"\u001")
        return (has_slashes or by_number != controls) and _unusual(body) is not None
