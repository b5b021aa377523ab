"""Shared by the commands: the settings, the connection to the store, and output."""

import os
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from msgspec.structs import replace

from app.cli.options import JSON
from app.logs import configure_logging
from app.settings import Settings

if TYPE_CHECKING:
    from app.replica import Services

T = TypeVar("T")
Shown = Generator[Any, None, None]
"""What a command that `shows` returns: one value, and then nothing but output."""


def read_settings() -> Settings:
    """The settings from the environment. Raises SettingsError."""
    return Settings.from_env(os.environ)


def with_services(act: Callable[["Services"], Awaitable[T]]) -> T:
    """Run `act` with the parts of a replica, connected to the store of the settings, and return its result."""
    import asyncio

    from app.replica import open_alone
    from app.serve.embedded_store import reachable_store

    settings = read_settings()
    configure_logging("warning")

    async def run(url: str) -> T:
        async with open_alone(replace(settings, redis_url=url)) as services:
            return await act(services)

    with reachable_store(settings) as url:
        return asyncio.run(run(url))


def in_workspace(workspace: str, act: Callable[["Services", str], Awaitable[T]]) -> T:
    """The same, with the id of the workspace as well."""

    async def run(services: "Services") -> T:
        return await act(services, await services.records.workspaces.find(workspace))

    return with_services(run)


def checked(kind: type[T], given: dict[str, Any]) -> T:
    """The struct of these values, within the limits of a request. Raises UsageError."""
    from app.validation_messages import explain

    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        detail = explain(error, kind, given)
        raise click.UsageError(f"{detail.path.removeprefix('$.')}: {detail.message}") from None


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
