"""Regular expressions that say how texts are written: the classes and lengths that enough units showed."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from app.language.schemas.patterns import MAX_REGEX_LENGTH

MAX_FORMS = 4
"""Kinds of punctuation that one place may have."""

_MAX_WORDS = 4
_MAX_SEGMENTS = 15
_CLASSES = (
    ("A-Z", re.compile("[A-Z]").search),
    ("a-z", re.compile("[a-z]").search),
    ("0-9", re.compile("[0-9]").search),
)
_cut = re.compile(r"([^A-Za-z0-9])").split
_special = re.compile(r"[\\.+*?()|\[\]{}^$]")
_Units = Mapping[str, Iterable[str]]
"""For each text, the units that wrote it."""


def pattern_of(texts: _Units, need: int) -> str | None:
    """One anchored RE2 pattern for these texts; None if `need` units did not write alike.

    Texts are alike if they have the same punctuation: all characters but ASCII letters and digits. What fewer than
    `need` units did widens nothing.
    """
    alike: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for text, units in texts.items():
        alike[tuple(_cut(text)[1::2])][text].update(units)
    common = [group for _, group in sorted(alike.items()) if len(_all(group)) >= need]
    if not 1 <= len(common) <= MAX_FORMS:
        return None
    made = [_one(group, need) for group in common]
    found = sorted({each for each in made if each is not None})
    if not found:
        return None
    pattern = f"^{found[0]}$" if len(found) == 1 else f"^({'|'.join(found)})$"
    return pattern if len(pattern) <= MAX_REGEX_LENGTH else None


def _one(texts: Mapping[str, set[str]], need: int) -> str | None:
    """The pattern, without anchors, of texts with the same punctuation."""
    cut = {text: _cut(text) for text in texts}
    count = len(next(iter(cut.values())))
    if count > _MAX_SEGMENTS:
        return None
    made = ""
    for at in range(count):
        column: dict[str, set[str]] = defaultdict(set)
        for text, parts in cut.items():
            column[parts[at]] |= texts[text]
        segment = _special.sub(r"\\\g<0>", next(iter(column))) if at % 2 else _segment(column, need, alone=count == 1)
        if segment is None:
            return None
        made += segment
    return made


def _segment(column: Mapping[str, set[str]], need: int, *, alone: bool) -> str | None:
    """What stands between two punctuation marks: one of a few words, or letters and digits. alone: it is the text."""
    words = sorted(word for word, units in column.items() if len(units) >= need)
    others = _all({word: units for word, units in column.items() if word not in words})
    is_listed = 1 <= len(words) <= _MAX_WORDS and len(others) < need and not any(map(_CLASSES[2][1], words))
    if is_listed and (not alone or words == [""]):
        return words[0] if len(words) == 1 else f"({'|'.join(words)})"
    used = [
        name
        for name, shows in _CLASSES
        if len(_all({word: each for word, each in column.items() if shows(word)})) >= need
    ]
    fits = re.compile(f"[{''.join(used)}]*").fullmatch if used else None
    inside = {word: units for word, units in column.items() if fits is not None and fits(word)}
    longest: dict[str, int] = {}
    shortest: dict[str, int] = {}
    for word, units in inside.items():
        for unit in units:
            longest[unit] = max(longest.get(unit, 0), len(word))
            shortest[unit] = min(shortest.get(unit, len(word)), len(word))
    if len(longest) < need:
        return None
    high, low = sorted(longest.values())[-need], sorted(shortest.values())[need - 1]
    return f"[{''.join(used)}]" + (f"{{{high}}}" if low == high else f"{{{min(1, low)},{2 * high}}}")


def _all(group: Mapping[str, Iterable[str]]) -> set[str]:
    return {unit for units in group.values() for unit in units}
