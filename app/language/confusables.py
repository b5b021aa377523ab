"""Tells texts that look alike: by their skeletons (Unicode TS 39), and by how many edits are between them."""

import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path

from app.language.visible import is_hidden

_TABLE = Path(__file__).with_name("confusables.txt")
EDITS_MAX = 2
_ALPHABETS = (
    *("FULLWIDTH", "MATHEMATICAL", "LATIN", "GREEK", "CYRILLIC", "COPTIC", "ARMENIAN", "GEORGIAN", "CHEROKEE"),
    *("HEBREW", "ARABIC", "LISU"),
)
"""First words of the names of letters that stand for one another; Chinese, Japanese and Korean ones mix with Latin."""
_BLOCKS = 5
"""Two edits touch at most four parts of a text, so that one of five is in the other text as it is."""


def skeleton(text: str) -> str:
    """A text that is equal for texts that look the same in ASCII: with letters of another script, or `rn` for `m`.

    Characters that cannot be seen are left out. It is for comparing only; a skeleton is not meant to be shown.
    """
    if text.isascii() and text.isprintable():
        return text.translate(_ascii())
    seen = (character for character in unicodedata.normalize("NFD", text) if not is_hidden(character))
    return unicodedata.normalize("NFD", "".join(seen).translate(_prototypes()))


def edits(one: str, other: str, most: int) -> int | None:
    """How many characters were inserted, left out, replaced or swapped with their neighbour; None = more than `most`.

    most: 1 or EDITS_MAX.
    """
    if one == other:
        return 0
    if abs(len(one) - len(other)) > most or not _share_a_block(one, other):
        return None
    return _edits(one, other, most)


def mixed_scripts(text: str) -> list[str]:
    """The letters that are of another alphabet than most of their word."""
    if text.isascii():
        return []
    found: list[str] = []
    for word in "".join(character if character.isalpha() else " " for character in text).split():
        alphabets = [unicodedata.name(letter, "").partition(" ")[0] for letter in word]
        counts = Counter(name for name in alphabets if name in _ALPHABETS)
        if len(counts) > 1:
            main = max(counts, key=lambda name: (counts[name], name == "LATIN", -_ALPHABETS.index(name)))
            found += [
                letter for letter, name in zip(word, alphabets, strict=True) if name in _ALPHABETS and name != main
            ]
    return found


def _edits(one: str, other: str, most: int) -> int | None:
    one, other = _without_common_ends(one, other)
    if not one or not other:
        left = len(one) + len(other)
        return left if left <= most else None
    if most == 0:
        return None
    tries = [(one[1:], other[1:]), (one[1:], other), (one, other[1:])]
    if one[:2] == other[1::-1]:
        tries.append((one[2:], other[2:]))
    fewest: int | None = None
    for rest, of in tries:
        found = _edits(rest, of, most - 1)
        if found is not None:
            fewest, most = found + 1, found
            if most == 0:
                break
    return fewest


def _without_common_ends(one: str, other: str) -> tuple[str, str]:
    first, least = 0, min(len(one), len(other))
    while first < least and one[first] == other[first]:
        first += 1
    last = 0
    while last < least - first and one[-1 - last] == other[-1 - last]:
        last += 1
    return one[first : len(one) - last], other[first : len(other) - last]


def _share_a_block(one: str, other: str) -> bool:
    """False only if more than two edits are between them; a cheap look before the exact one."""
    size = len(one) // _BLOCKS
    return size == 0 or any(one[place : place + size] in other for place in range(0, size * _BLOCKS, size))


@cache
def _prototypes() -> dict[int, str]:
    rows = (line.split("\t") for line in _TABLE.read_text("utf-8").split("\n") if not line.startswith("#") and line)
    return {ord(character): prototype for prototype, characters in rows for character in characters}


@cache
def _ascii() -> dict[int, str]:
    return {code: prototype for code, prototype in _prototypes().items() if chr(code).isascii()}
