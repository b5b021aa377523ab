"""Reads query parameters. Unknown and repeated ones are refused, each error with a message of its own."""

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl

from litestar.connection import ASGIConnection

from app.errors import Invalid
from app.model.ids import canonical_uuid
from app.model.text import require_visible
from app.model.times import parse_time_ms
from app.validation_messages import refusing_fields, visible

MAX_LIMIT = 1000
MAX_OFFSET = 10**12
MAX_TEXT = 255
_MAX_FIELDS = 50
_digits = re.compile(r"[0-9]{1,16}").fullmatch
_lost_plus = re.compile(r".*\d \d\d:?\d\d").fullmatch


class Query:
    """The query string of a request.

    aliases: other accepted spellings of a parameter. Raises Invalid on unknown or repeated parameters.
    """

    def __init__(
        self,
        request: ASGIConnection[Any, Any, Any, Any],
        known: Collection[str],
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        aliases = aliases or {}
        spellings: set[str] = set()
        self._values: dict[str, str] = {}
        for given, value in _pairs(request.scope["query_string"]):
            name = aliases.get(given, given)
            if name not in known:
                there_are = f"there are {', '.join(known)}" if known else "there are none"
                raise Invalid.at(visible(given), f"is not a query parameter here; {there_are}")
            if given in spellings:
                raise Invalid.at(given, "is given twice; give it once")
            spellings.add(given)
            if self._values.setdefault(name, value) != value:
                raise Invalid.at(name, f"is given in two spellings that differ; leave {given} out")

    def given(self, name: str) -> str | None:
        """The value as given."""
        return self._values.get(name)

    def text(self, name: str, most: int = MAX_TEXT) -> str | None:
        """A string of 1 to `most` visible characters; anything else could not match a name."""
        value = self._values.get(name)
        if value is None:
            return None
        if not 1 <= len(value) <= most:
            raise Invalid.at(name, f"must have 1 to {most} characters, not {len(value)}; leave it out to match all")
        with refusing_fields(""):
            require_visible(name, value)
        return value

    def number(self, name: str, *, least: int, most: int) -> int | None:
        """A whole number in decimal digits. Raises Invalid outside the limits."""
        value = self._values.get(name)
        if value is None:
            return None
        if _digits(value) and least <= int(value) <= most:
            return int(value)
        raise Invalid.at(name, f"must be a whole number from {least} to {most}")

    def limit(self) -> int | None:
        return self.number("limit", least=1, most=MAX_LIMIT)

    def offset(self) -> int:
        return self.number("offset", least=0, most=MAX_OFFSET) or 0

    def uuid(self, name: str) -> str | None:
        value = self._values.get(name)
        if value is None:
            return None
        canonical = canonical_uuid(value)
        if canonical is None:
            raise Invalid.at(name, "must be a UUID")
        return canonical

    def time_ms(self, name: str) -> int | None:
        value = self._values.get(name)
        try:
            return None if value is None else parse_time_ms(value)
        except ValueError as error:
            hint = "; a + in a query is written %2B" if _lost_plus(value or "") else ""
            raise Invalid.at(name, f"{error}{hint}") from None

    def choice(self, name: str, choices: Collection[str]) -> str | None:
        value = self._values.get(name)
        if value is None or value in choices:
            return value
        raise Invalid.at(name, f"must be one of {', '.join(choices)}")


def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query_string.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except UnicodeDecodeError:
        raise Invalid.at("?", "the query string is not UTF-8") from None
    except ValueError:
        raise Invalid.at("?", f"the query string has more than {_MAX_FIELDS} parameters") from None
