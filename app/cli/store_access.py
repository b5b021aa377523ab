"""The store of the settings, for commands that work on it without a service."""

import os
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
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


def settings_of_commands() -> Settings:
    """The settings for a command on the store: without an identity provider whose libraries are missing.

    Nobody signs in to a command; only the service refuses to start without them. Raises SettingsError.
    """
    settings = read_settings()
    return settings if find_spec("jwt") else replace(settings, oidc_issuer=None, oidc_only=False)


def with_services(act: Callable[["Services"], Awaitable[T]]) -> T:
    """Run `act` with the parts of a replica, connected to the store of the settings, and return its result."""
    import asyncio

    from app.replica import open_alone
    from app.serve.embedded_store import reachable_store

    settings = settings_of_commands()
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
