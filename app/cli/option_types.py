"""The types of options' values: what is accepted, and what a refusal says."""

import re
import time
from typing import Any

import click
from click.shell_completion import CompletionItem

from app.model.agents import require_alias
from app.model.audit import ANY_SHADOW
from app.model.ids import uuid_of
from app.model.query_fields import Spelled
from app.model.text import FieldError, require_visible
from app.model.times import parse_moment_ms

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_A_UUID = "0198c2a1-7d4e-7c3b-9a55-2f6b8e1d4c07"
_LONGEST_MS = 3_650 * _UNITS_MS["d"]
_SHOWN = 40


def shortened(value: Any) -> str:
    """The value as a message quotes it."""
    text = str(value)
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


class Text(click.ParamType[str]):
    """Visible characters as the API accepts them: at least `least` and at most `most`."""

    def __init__(self, name: str, least: int, most: int, *, lines: bool = False) -> None:
        self.name = name
        self._least, self._most, self._lines = least, most, lines

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text, unchanged."""
        if not self._least <= len(value) <= self._most:
            span = f"{self._least} to {self._most}" if self._least else f"at most {self._most}"
            self.fail(f"must have {span} characters", param, ctx)
        try:
            require_visible(self.name, value, lines=self._lines)
        except FieldError as error:
            self.fail(error.message, param, ctx)
        return str(value)


class WholeNumber(click.IntRange):
    """A whole number from `least`, up to `most` if given."""

    def __init__(self, least: int, most: int | None = None) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        try:
            return super().convert(value, param, ctx)
        except (click.BadParameter, ValueError):  # int() raises ValueError for thousands of digits
            span = f"of at least {self.min}" if self.max is None else f"from {self.min} to {self.max}"
            self.fail(f"must be a whole number {span}, and not {shortened(value)}", param, ctx)


class Share(click.FloatRange):
    """A share of something: above 0, at most 1."""

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The share."""
        try:
            share = super().convert(value, param, ctx)
        except click.BadParameter:
            share = float("nan")
        if share != share:  # noqa: PLR0124 - NaN is within every range
            self.fail(f"must be a number above 0 and at most 1, such as 0.1, and not {shortened(value)}", param, ctx)
        return share


class AgentAlias(click.ParamType[str]):
    """An agent's alias as the API accepts it; the empty string removes it, where that is possible."""

    name = "alias"

    def __init__(self, *, empty: bool = False) -> None:
        self._empty = empty

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The alias, unchanged."""
        if self._empty and not value:
            return ""
        try:
            require_alias("alias", value)
        except FieldError as error:
            self.fail(error.message, param, ctx)
        return str(value)


class Duration(click.ParamType[int]):
    """A duration in ms: 0, or a number with a unit, up to ten years."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The duration in milliseconds."""
        match = re.fullmatch(r"([0-9]{1,9})([smhd])", "0s" if value == "0" else value)
        span_ms = int(match[1]) * _UNITS_MS[match[2]] if match else _LONGEST_MS + 1
        if span_ms > _LONGEST_MS:
            self.fail("must be 0, or a number followed by s, m, h or d, such as 90m; at most 3650d", param, ctx)
        return span_ms


class Time(click.ParamType[int]):
    """A time in ms since the epoch: an ISO 8601 time or date, or a word such as `yesterday`.

    end: a date, `today` and `yesterday` mean their last millisecond instead of their first. Without an offset it is
    UTC.
    """

    name = "time"

    def __init__(self, *, end: bool = False) -> None:
        self._end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return parse_moment_ms(value, time.time_ns() // 1_000_000, end=self._end)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Uuid(click.ParamType[str]):
    """A UUID in lower case.

    listed: the command that prints such ids.
    """

    name = "uuid"

    def __init__(self, listed: str) -> None:
        self._listed = listed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return uuid_of(value) or self.fail(
            f"must be an id such as {_A_UUID}, as `{self._listed}` prints it, and not {shortened(value)}", param, ctx
        )


class Shadow(Uuid):
    """A shadow policy's id, or `any`."""

    name = "uuid|any"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == ANY_SHADOW:
            return ANY_SHADOW
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message}; or {ANY_SHADOW}", param, ctx)


class Words(click.ParamType[str]):
    """One or several of some words, separated by commas."""

    name = "word,..."

    def __init__(self, spelled: Spelled) -> None:
        self._spelled = spelled

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            self._spelled.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words that may follow the last comma."""
        before, comma, begun = incomplete.rpartition(",")
        return [CompletionItem(before + comma + each) for each in self._spelled.words if each.startswith(begun)]
