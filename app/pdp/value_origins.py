"""Where the values of a call come from, for the people who are asked about it."""

import re
from collections.abc import Collection
from typing import Any

from msgspec import UNSET

from app.language.ambiguous import Ambiguous
from app.language.whole_words import CLOSING, OPENING, Words
from app.model.bound_call import decode_exact
from app.model.call_values import CallValue, Origin, general, values_in
from app.model.constraints import MAX_REQUEST_BYTES, REQUEST
from app.redaction.credentials import REDACTED

MAX_VALUES = 200
_FEWEST = 3
"""The fewest characters of a value that counts as the user's; shorter ones stand in many requests by chance."""
_SHOWN, _SHOWN_MAX, _LOOKED_AT = 20, 200, 400
_points_somewhere = re.compile(r"\d|@|://|^www\.|[^\W\d_]\.[^\W\d_]{2}").search
"""A word with a digit, or that may be an address, a link or a host."""


def value_origins(parameters: bytes, context: dict[str, Any] | None, known: Collection[str]) -> list[CallValue]:
    """The first 200 values of a call, as people see them, each with where it comes from.

    known: the names of parameters whose values have all been approved before.
    """
    words = _words((context or {}).get(REQUEST))
    found = list[CallValue]()
    for path, value in values_in(decode_exact(parameters)):
        if len(found) == MAX_VALUES:
            break
        is_text = type(value) is str and REDACTED not in value
        origin = Origin.UNVERIFIED
        if is_text and words is not None and _stands_in(words, value):
            origin = Origin.REQUEST
        elif general(path) in known:
            origin = Origin.APPROVED_BEFORE
        foreign = _foreign(words, value) if is_text and origin is Origin.UNVERIFIED and " " in value.strip() else []
        found.append(CallValue(path, origin, foreign or UNSET))
    return found


def _words(request: Any) -> Words | None:
    if type(request) is not str or len(request.encode()) > MAX_REQUEST_BYTES:
        return None
    try:
        return Words(request, fold=True)
    except Ambiguous:
        return None


def _stands_in(words: Words, text: str) -> bool:
    try:
        return len(text) >= _FEWEST and words.contain(text)
    except Ambiguous:
        return False


def _foreign(words: Words | None, text: str) -> list[str]:
    """The links, addresses and words with digits in a longer text that do not stand in the request."""
    found: dict[str, None] = {}
    pointing = (word for each in text.split() if _points_somewhere(word := each.strip(OPENING + CLOSING)))
    for number, word in enumerate(pointing):
        if number == _LOOKED_AT or len(found) == _SHOWN:
            break
        if words is None or not _stands_in(words, word):
            found[word[:_SHOWN_MAX]] = None
    return list(found)
