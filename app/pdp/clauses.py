"""The sentence parts in which tests report on a value, which no value can rewrite."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from app.model.api_keys import without_raw_keys
from app.model.fields import Scalar
from app.model.text import with_hidden_shown
from app.redaction.credentials import RUN, without_credentials
from app.redaction.text import without_named_values

_SHOWN = 80
_encode = msgspec.json.encode


class Unjudged(str):
    """A clause about a value whose type the test cannot judge. Any other clause means that the value failed."""

    __slots__ = ()


Test = Callable[[Any], str | None]
"""Takes the value; None if it passes, else the rest of a sentence that begins with the value."""


def scalar(value: Scalar) -> tuple[type, Scalar]:
    """A key that is equal for equal JSON values of one type.

    JSON has one type of number: 1 equals 1.0, but not true.
    """
    return (float if type(value) is int else type(value)), value


def shown(value: Any, is_secret: Callable[[str], bool] | None = None) -> str:
    """The value for a sentence. is_secret: recognises names; a value named by one inside a string is not shown."""
    if type(value) is dict:
        return "an object"
    if type(value) is list:
        return "an array"
    # Redact before cutting: half a raw key is still most of a key.
    if type(value) is not str:
        return clipped(_encode(value).decode())
    text = without_credentials(value[: 4 * _SHOWN]) if len(value) >= RUN else value
    if is_secret is not None:
        text = without_named_values(is_secret, text)
    return clipped(without_raw_keys(_encode(text).decode()))


def redacted(text: str, is_secret: Callable[[str], bool] | None = None) -> str:
    """A part of a sentence that quotes a call, as `shown` shows values."""
    return clipped(without_secrets(text[: 4 * _SHOWN], is_secret))


def without_secrets(text: str, is_secret: Callable[[str], bool] | None) -> str:
    """The text with what looks like a credential or a raw key, or is named as a secret, redacted."""
    text = without_credentials(text) if len(text) >= RUN else text
    return without_raw_keys(text if is_secret is None else without_named_values(is_secret, text))


def clipped(text: str) -> str:
    """At most 80 characters, none of them hidden, so that a value cannot rewrite the sentence that shows it."""
    text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return with_hidden_shown(text)


def listed(members: Iterable[Scalar]) -> str:
    return clipped(", ".join(_encode(member).decode() for member in members))
