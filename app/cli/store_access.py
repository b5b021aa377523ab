"""The store of the settings, for commands that work on it without a service."""

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from app.runtime.logs import configure_logging
from app.settings import Settings

if TYPE_CHECKING:
    from app.replica import Services

T = TypeVar("T")


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
