"""Command groups that import a command when it is used: `remit --help` loads neither store nor service."""

from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows its commands as `name: "module:attribute"`.

    A command module imports at the top what describes its commands, and inside them what runs them.
    also: further names of commands, not listed in the help.
    """

    def __init__(self, *args: Any, lazily: dict[str, str], also: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazily = lazily
        self._also = also

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, sorted."""
        return sorted({*super().list_commands(ctx), *self._lazily})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now."""
        name = self._also.get(cmd_name, cmd_name)
        if name not in self._lazily:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._lazily[name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command
