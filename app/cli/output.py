"""Values and tables as people read them on the command line."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import click


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


_SHOWN = 40


def shortened(value: Any) -> str:
    """The value as a message quotes it."""
    text = str(value)
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], when_empty: str) -> None:
    """Print the rows aligned below their heads; without rows, print `when_empty` to stderr."""
    if not rows:
        click.echo(when_empty, err=True)
        return
    widths = [max(map(_places, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        columns = zip(heads, row, widths, strict=True)
        cells = (
            (in_colour(cell) if head in _STATES else cell) + " " * (width - _places(cell))
            for head, cell, width in columns
        )
        click.echo("  ".join(cells).rstrip())


def in_colour(word: str, width: int = 0) -> str:
    """The word, padded to a width, in its colour if it is a result or a state that has one."""
    padded = f"{word:{width}}"
    return click.style(padded, fg=_COLOURS[word]) if word in _COLOURS else padded


_COLOURS = (
    dict.fromkeys(("allowed", "approved", "consumed", "active", "delivered"), "green")
    | dict.fromkeys(("denied", "revoked", "parked"), "red")
    | dict.fromkeys(("escalated", "pending", "suspended"), "yellow")
)
_STATES = {"STATUS", "STATE", "RESULT", "WAS", "WOULD BE"}
"""The heads of columns with results or states; elsewhere, such a word is a name that somebody has chosen."""


def _places(text: str) -> int:
    """How many places of a terminal's line the text takes: an emoji, or a Chinese character, takes two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


def counted(number: int, one: str, many: str = "") -> str:
    """`1 segment`, `2 segments`; `1 entry`, `2 entries` where `many` is given."""
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"


def print_record(fields: Sequence[tuple[str, str]]) -> None:
    """Print one thing, one field per line."""
    width = max(len(name) for name, _ in fields)
    for name, value in fields:
        click.echo(f"{name.ljust(width)}  {in_colour(value) if name == 'status' else value}")
