"""What commands share: the workspace they are about, a connection to the store, and how they print."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click
import msgspec
from msgspec.structs import replace

from app.logs import configure_logging
from app.main import open_services
from app.services import Services
from app.settings import Settings
from app.store.embedded import reachable_store

T = TypeVar("T")

WORKSPACE = click.option("--workspace", "-w", default="default", show_default=True, help="Name or id of the workspace.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def read_settings() -> Settings:
    """What the environment says. Raises SettingsError."""
    return Settings.from_env(os.environ)


def with_services(act: Callable[[Services], Awaitable[T]]) -> T:
    """What `act` gives with the parts of a replica, on the store that the settings name."""
    settings = read_settings()
    configure_logging("warning")

    async def run(url: str) -> T:
        async with open_services(replace(settings, redis_url=url)) as services:
            return await act(services)

    with reachable_store(settings) as url:
        return asyncio.run(run(url))


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())
