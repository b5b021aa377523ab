"""Finds a string in a text that people wrote, as whole words: not as a part of a longer name."""

import re
from string import ascii_lowercase, ascii_uppercase
from unicodedata import is_normalized

from app.language.ambiguous import Ambiguous

MAX_PLACES = 64
"""The most places at which a string is looked at."""

MAX_PLACES_IN_ALL = 1 << 14
"""The most places at which all values of one list are looked at together: 10 to 30 ms, as busy as the machine is."""

MAX_MARKS = 16
"""The most marks between a word and the space before or after it."""

_QUOTES = "\"'`\u00ab\u00bb\u2039\u203a\u201c\u201d\u2018\u2019\u201a\u201e"
OPENING = _QUOTES + "([{<\u00bf\u00a1\uff08\uff3b\uff5b\u3008\u300a\u300c\u300e\u3010"
_CLOSING_WIDE = (
    "\uff09\uff3d\uff5d\u3009\u300b\u300d\u300f\u3011\uff0c\u3001\u3002\uff1b\uff1a\uff01\uff1f\u060c\u061b\u061f"
)
CLOSING = _QUOTES + ")]}>.,;:!?\u2026" + _CLOSING_WIDE
"""Marks that may stand between a space and a word, and between a word and a space: also wide and Arabic ones."""

_SHORT = 256
"""Up to this many characters, looking at each is quicker than translating them."""

_POSSESSIVE = ("'s", "\u2019s")
_WIDE_SPACES = "\u00a0\u1680\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_JOINERS = "\u200c\u200d"
"""Persian, Hindi and many emoji cannot be written without them. They turn no text round, as marks of direction do."""

_SPACES = b"\t\n\r"
_CONTROL = bytes({*range(ord(" ")), 0x7F}.difference(_SPACES))
_from, _to = _SPACES + _CONTROL, b" " * len(_SPACES) + b"\0" * len(_CONTROL)
_as_spaces = bytes.maketrans(_from, _to)
_as_small_letters = bytes.maketrans(_from + ascii_uppercase.encode(), _to + ascii_lowercase.encode())
"""For bytes of UTF-8: white space as a space, other control characters as NUL, and in the second small letters."""

_blanks = re.compile("[^\\S\n\r\u2028\u2029]+").sub
_line_end = re.compile(" ?[\n\r\u2028\u2029]\\s*").sub
"""In linear time, once runs of blanks are one each."""


class Places:
    """How many places may still be looked at for the values of one list."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_PLACES_IN_ALL


class Words:
    """A text in which strings are looked for.

    fold: regardless of ASCII case and of how long white space is and what it consists of, except that there must be a
    line break where a string has one; else by equal code points.
    """

    __slots__ = ("_fold", "_given", "_lines", "_spaced", "_text")

    def __init__(self, text: str, *, fold: bool) -> None:
        """Raises Ambiguous as `readable` does, but takes joiners for letters.

        A string cannot have any, so none is found beside one.
        """
        self._fold = fold
        self._spaced = readable(text, fold=fold, joiners=_JOINERS)
        self._text = self._spaced if fold else text
        self._given = text
        self._lines = ""

    def contain(self, text: str, places: Places | None = None) -> bool:
        """True if the text stands somewhere as whole words: with nothing but marks up to the next space on each side.

        A possessive `'s` may follow it. Raises Ambiguous as `readable` does, and if none of the first 64 places is
        right and there are more, or if `places` are used up.
        """
        places = Places() if places is None else places
        folded = readable(text, fold=self._fold)
        wanted = folded if self._fold else text
        lines: str | None = None
        start = self._text.find(wanted)
        for _ in range(MAX_PLACES):
            if start < 0:
                return False
            places.left -= 1
            if places.left < 0:
                raise Ambiguous(f"and the values before it stand at more than {MAX_PLACES_IN_ALL} places there")
            if self._is_whole(start, start + len(wanted)):
                if lines is None:  # not before a place is found: until then, the string may be much longer
                    lines = "" if not self._fold or text.isprintable() else _lines(text)  # no break is printable
                if self._has_breaks(start, lines):
                    return True
            start = self._text.find(wanted, start + 1)
        if start >= 0:
            raise Ambiguous(f"stands at more than {MAX_PLACES} places there, as a part of longer words at the first")
        return False

    def _has_breaks(self, start: int, lines: str) -> bool:
        """True if the text has line breaks where a string that begins at `start` has them.

        A break in place of a space would begin another header, command or item, which the caller did not write.
        """
        at = lines.find("\n")
        if at >= 0 and not self._lines:
            self._lines = _lines(self._given)
        while at >= 0:
            if self._lines[start + at] != "\n":
                return False
            at = lines.find("\n", at + 1)
        return True

    def _is_whole(self, start: int, end: int) -> bool:
        spaced = self._spaced
        before = spaced[max(0, start - MAX_MARKS - 1) : start].rstrip(OPENING)
        if before[-1:] != " " and (before or start > MAX_MARKS):
            return False
        if spaced.startswith(_POSSESSIVE, end):
            end += 2
        after = spaced[end : end + MAX_MARKS + 1].lstrip(CLOSING)
        return after[:1] == " " or not (after or end + MAX_MARKS < len(spaced))


def _lines(text: str) -> str:
    """The text with each run of white space as one character: a line break if it has one, else a space."""
    return _line_end("\n", _blanks(" ", text))


def readable(text: str, *, fold: bool, joiners: str = "") -> str:
    """The text with each white space as a space; with `fold`, runs as one and ASCII capitals as small letters.

    Raises Ambiguous if it is not in Unicode's normal form C or has characters that people do not see: control, format,
    private or unassigned ones, except those in `joiners`.
    """
    if len(text) <= _SHORT and text.isascii() and text.isprintable():
        read = text.lower() if fold else text
        while fold and "  " in read:
            read = read.replace("  ", " ")
        return read
    read = text.encode().translate(_as_small_letters if fold else _as_spaces).decode()
    if not read.isascii():
        for space in _WIDE_SPACES:
            read = read.replace(space, " ")
        if not is_normalized("NFC", text):
            raise Ambiguous("is not in Unicode's normal form C")
        visible = read
        for character in joiners:
            visible = visible.replace(character, "")
        if not visible.isprintable():
            raise Ambiguous("has invisible characters")
    if "\0" in read:
        raise Ambiguous("has control characters")
    while fold and "  " in read:
        read = read.replace("  ", " ")
    return read
