"""Writes the man pages of `remit` and all its commands: `make man`. click_man makes them from the help."""

import sys
from importlib.metadata import version
from pathlib import Path

import click
from click_man.core import write_man_pages

from app.cli.main import main


def write(folder: Path) -> None:
    """Write one page for each command."""
    folder.mkdir(parents=True, exist_ok=True)
    context = click.Context(main)
    main.commands = {name: main.get_command(context, name) for name in main.list_commands(context)}
    _help_in_full(main)
    write_man_pages("remit", main, version=version("remit"), target_dir=str(folder))


def _help_in_full(command: click.Command) -> None:
    """In a list of commands, the first sentence of each, however long."""
    command.short_help = (command.help or "").split("\n\n")[0].replace("\n", " ")
    for each in getattr(command, "commands", {}).values():
        _help_in_full(each)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
