"""Numbers as values of options: what is not one is answered with the span of those that are."""

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
