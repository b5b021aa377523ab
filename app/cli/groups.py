"""Command groups: a mistyped command gets a suggestion, and `remit --help` loads neither store nor service."""

from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click


class CommandGroup(click.Group):
    """A group that answers a command it does not have with the nearest ones, or with all if none is near.

    A misuse, so the exit code is 2.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not (ctx.resilient_parsing or name.startswith("-")) and self.get_command(ctx, name) is None:
            raise click.UsageError(f"No such command {name!r}. {self._suggestion(ctx, name)}", ctx)
        resolved = super().resolve_command(ctx, args)
        if resolved[1] is not None and not ctx.resilient_parsing:
            _require_values(
                resolved[1], click.Context(resolved[1], ctx, name, **resolved[1].context_settings), resolved[2]
            )
        return resolved

    def listed_names(self, ctx: click.Context) -> dict[str, str]:
        """Every name that calls a command, with the name that the help lists for it."""
        return {name: name for name in self.list_commands(ctx)}

    def _suggestion(self, ctx: click.Context, name: str) -> str:
        listed = self.listed_names(ctx)
        near = dict.fromkeys(listed[match] for match in get_close_matches(name, listed))
        if near:
            return f"Did you mean {' or '.join(map(repr, near))}?"
        return f"The commands are: {', '.join(self.list_commands(ctx))}."


def _require_values(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Raise UsageError if an option or argument is given as the empty text, as a variable that is not set leaves it.

    A filter without a value would be none, and the command would show or change everything. An option whose help says
    what an empty text means takes one.
    """
    given, _, _ = command.make_parser(ctx).parse_args(list(args))
    for each in command.params:
        values = given.get(each.name or "")
        if "" not in (values if isinstance(values, list | tuple) else (values,)):
            continue
        if not (isinstance(each, click.Option) and "empty" in (each.help or "")):
            raise click.BadParameter("must not be empty", ctx, each)


class LazyGroup(CommandGroup):
    """A group that knows its commands as `name: "module:attribute"` and imports one when it is used.

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

    def listed_names(self, ctx: click.Context) -> dict[str, str]:
        return super().listed_names(ctx) | self._also

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now."""
        name = self._also.get(cmd_name, cmd_name)
        if name not in self._lazily:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._lazily[name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command
