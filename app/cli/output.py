"""What commands print: records and tables for people, JSON for programs."""

import sys
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import wraps
from typing import Any

import click
import msgspec

from app.cli.options import JSON

ANSWER_IS_NO = 3
"""The exit code of a command that was run to find out, such as whether a call is allowed, if it is not."""

Shown = Generator[Any, None, None]
"""What a command that `shows` returns: one value, and then nothing but output."""


def shows(command: Callable[..., Shown]) -> Callable[..., None]:
    """The option --json. The command yields what it prints with it; what follows prints the same for people."""

    @JSON
    @wraps(command)
    def show(*args: Any, as_json: bool, **values: Any) -> None:
        with closing(command(*args, **values)) as shown:
            found = next(shown)
            if as_json:
                print_json(found)
            else:
                next(shown, None)

    return show


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr, if that is a terminal; it is called with the number done and the total."""
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def move(done: int, of: int) -> None:
            bar.length = max(1, of)
            bar.update(done - bar.pos)

        yield move


def result_of(label: str, lines: Iterable[bytes], kind: type[Any], result: str) -> Any:
    """The field `result` of one of the lines, which are JSON of `kind`; a bar shows the progress that others tell.

    Raises ClickException with the error that a line tells, or if the lines end before.
    """
    with progress_bar(label) as progress:
        for each in lines:
            line = msgspec.json.decode(each, type=kind)
            if isinstance(line.error, str):
                raise click.ClickException(line.error)
            if not isinstance(line.progress, msgspec.UnsetType):
                progress(line.progress.done, line.progress.of)
            if not isinstance(found := getattr(line, result), msgspec.UnsetType):
                return found
    raise click.ClickException(f"The answer ended before its {result}")


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


def print_record(fields: Sequence[tuple[str, str]]) -> None:
    """Print one thing, one field per line."""
    width = max(len(name) for name, _ in fields)
    for name, value in fields:
        click.echo(f"{name.ljust(width)}  {in_colour(value) if name == 'status' else value}")
