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
    _complete(main)
    write_man_pages("remit", main, version=version("remit"), target_dir=str(folder))


def _complete(command: click.Command) -> None:
    """Load what a group imports when it is used; and let a list have the first sentence of each, however long."""
    command.short_help = (command.help or "").split("\n\n")[0].replace("\n", " ")
    if isinstance(command, click.Group):
        context = click.Context(command)
        command.commands = {name: command.get_command(context, name) for name in command.list_commands(context)}
        for each in command.commands.values():
            _complete(each)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
