"""Every `remit` command line in the documentation is one: the command, its options, and the times that it names."""

import re
import shlex
from itertools import takewhile
from pathlib import Path

import click
import pytest

from app.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", *(each for folder in ("docs", "examples") for each in ROOT.glob(f"{folder}/**/*.md"))]
)
_INLINE = re.compile(r"`(remit [a-z][^`]*)`")
_IN_A_BLOCK = re.compile(r"^(?:\$ )?(remit [a-z].*(?:\\\n.*)*)$", re.MULTILINE)
_ENDS = re.compile(r"\||\|\||&&?|[12]?>+|2>&1|<|.*[;)]")
"""What ends a command within a line of a shell."""
_TIMES = {"--from", "--to", "--since"}


def command_lines(page):
    """Each command line, with its words after `remit`."""
    text = page.read_text()
    for line in (*_INLINE.findall(text.replace("\n", " ")), *_IN_A_BLOCK.findall(text)):
        try:
            words = shlex.split(line.replace("\\\n", " "), comments=True)
        except ValueError:  # a quoted argument that goes on in later lines
            words = line.split()
        yield line, list(takewhile(lambda word: not _ENDS.fullmatch(word), words[1:]))


def parsed(words):
    """The command, its context, and the values of its options as they are written. Raises UsageError."""
    command, context = main, click.Context(main)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        _, command, words = command.resolve_command(context, words)
        context = click.Context(command, context, **command.context_settings)
    given, _, _ = command.make_parser(context).parse_args(list(words))
    return command, context, given


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_of_a_page_is_understood(page):
    """Its command and options exist, and what it gives as a time is one."""
    for line, words in command_lines(page):
        try:
            command, context, given = parsed(words)
            for each in command.params:
                value = given.get(each.name)
                if _TIMES & {*each.opts} and isinstance(value, str):
                    each.type_cast_value(context, value)
        except click.UsageError as error:
            if isinstance(error, click.BadOptionUsage) and line.endswith(error.option_name):
                continue  # a sentence that names an option, which there is
            raise AssertionError(f"{line}: {error.format_message()}") from None


def test_pages_have_command_lines_with_times():
    """So the test above is about something."""
    found = [words for page in PAGES for _, words in command_lines(page)]
    assert len(found) > 150
    assert any("-30d" in words for words in found)
    assert any("-7d" in words for words in found)
