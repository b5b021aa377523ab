"""Query parameters: known ones only, each once, with its own sentence when it is wrong."""

from collections.abc import Collection
from typing import Any

from litestar import Request

from app.errors import Invalid
from app.model.ids import canonical_uuid
from app.model.times import parse_time_ms

MAX_LIMIT = 1000


class Query:
    """The query string of a request.

    aliases: further spellings of a parameter. Raises Invalid on unknown or repeated parameters.
    """

    def __init__(
        self, request: Request[Any, Any, Any], known: Collection[str], aliases: dict[str, str] | None = None
    ) -> None:
        aliases = aliases or {}
        self._values: dict[str, str] = {}
        for given, value in request.query_params.multi_items():
            name = aliases.get(given, given)
            if name not in known:
                raise Invalid.at(given, f"is not a query parameter here; there are {', '.join(known)}")
            if self._values.setdefault(name, value) != value:
                raise Invalid.at(name, "is given twice with different values")

    def text(self, name: str) -> str | None:
        return self._values.get(name)

    def number(self, name: str, *, least: int, most: int) -> int | None:
        """A whole number in decimal digits; Invalid outside the bounds."""
        value = self._values.get(name)
        if value is None:
            return None
        if value.isascii() and value.isdigit() and len(value) <= 15 and least <= int(value) <= most:
            return int(value)
        raise Invalid.at(name, f"must be a whole number from {least} to {most}")

    def limit(self) -> int | None:
        return self.number("limit", least=1, most=MAX_LIMIT)

    def offset(self) -> int:
        return self.number("offset", least=0, most=10**12) or 0

    def uuid(self, name: str) -> str | None:
        value = self._values.get(name)
        if value is None:
            return None
        return canonical_uuid(value) or _raise(name, "must be a UUID")

    def time_ms(self, name: str) -> int | None:
        value = self._values.get(name)
        try:
            return None if value is None else parse_time_ms(value)
        except ValueError as error:
            raise Invalid.at(name, str(error)) from None

    def choice(self, name: str, choices: Collection[str]) -> str | None:
        value = self._values.get(name)
        if value is None or value in choices:
            return value
        raise Invalid.at(name, f"must be one of {', '.join(choices)}")


def _raise(path: str, message: str) -> Any:
    raise Invalid.at(path, message)
