"""Tables for people: every column as wide as its widest cell."""

from collections.abc import Sequence

import click


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], when_empty: str) -> None:
    """Print the rows aligned below their heads; without rows, print `when_empty` to stderr."""
    if not rows:
        click.echo(when_empty, err=True)
        return
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def counted(number: int, one: str, many: str = "") -> str:
    """`1 segment`, `2 segments`; `1 entry`, `2 entries` where `many` is given."""
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"


def print_record(fields: Sequence[tuple[str, str]]) -> None:
    """Print one thing, one field per line."""
    width = max(len(name) for name, _ in fields)
    for name, value in fields:
        click.echo(f"{name.ljust(width)}  {value}")
