"""Checks whether decisions can be made now."""

from collections.abc import Awaitable
from typing import Any, Protocol

from app.errors import StoreUnavailable
from app.redis_client.client import Client
from app.redis_client.replies import info_of
from app.redis_client.scripts import PROBE_COMMIT, SCRIPTS
from app.store.keyspace import READINESS_PROBE, WORKSPACES

_NEARLY_FULL = 0.9


class Caller(Protocol):
    """Whatever has connections to the store."""

    def call(self, *args: str | int | bytes) -> Awaitable[Any]: ...


async def require_writable(*callers: Caller) -> None:
    """Return if the store accepts writes from each of them. Raises StoreUnavailable, as `require_ready` does."""
    for caller in callers:
        # A write command that writes nothing, because the key never exists. The store refuses it whenever it would
        # refuse a commit, and it takes neither memory nor disk.
        await caller.call("SET", READINESS_PROBE, "", "XX")


async def require_ready(client: Client) -> None:
    """Return if the store accepts writes, permits the commands of a decision, and has every script loaded.

    Scripts that it has lost are loaded again.
    Raises StoreUnavailable with the code of the store's refusal: READONLY, OOM, MISCONF, NOREPLICAS, LOADING, NOPERM.
    """
    await require_writable(client)
    replies = await client.call_each("SCRIPT", "EXISTS", *(script.sha for script in SCRIPTS))
    for script, *known in zip(SCRIPTS, *replies, strict=True):
        if not all(known):
            await client.call_each("SCRIPT", "LOAD", script.text)
    status, command = await client.run(PROBE_COMMIT, [WORKSPACES], [])
    if status == "refused":
        raise StoreUnavailable(f"The store's user may not run {command} (NOPERM), which every decision does")


async def is_nearly_full(client: Client) -> bool:
    """Whether nine tenths of the store's memory limit are used; in a cluster, on any master.

    False if the store does not report it.
    """
    try:
        replies = await client.call_each("INFO", "memory")
    except StoreUnavailable:
        return False
    for reply in replies:
        memory = info_of(reply)
        if int(memory["used_memory"]) > _NEARLY_FULL * int(memory["maxmemory"]) > 0:
            return True
    return False
