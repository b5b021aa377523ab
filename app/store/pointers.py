"""Pointers to workspaces: what finds a record before its workspace is known. A cluster keeps each in two slots.

A master that is gone then keeps nobody out but its own workspaces. The record in the workspace's own slot is the
authority: a pointer alone grants nothing.
"""

import logging

from app.errors import StoreUnavailable
from app.redis_client.client import Client, Value
from app.redis_client.replies import StoreAway, as_record, check_reply
from app.redis_client.scripts import READ_POINTER
from app.store.keyspace import WORKSPACES, copy_of

log = logging.getLogger(__name__)


async def point(client: Client, name: str, value: str, *options: Value) -> None:
    """Write the pointer. Raises StoreUnavailable if no master takes it.

    Of the two masters in a cluster one is enough: who finds the pointer absent asks the other.
    """
    away: StoreUnavailable | None = None
    names = names_of(client, name)
    for each in names:
        try:
            await client.change("SET", each, value, *options)
        except StoreAway as error:
            if away is not None or len(names) == 1:
                raise
            away = error


async def pointed(client: Client, name: str) -> str | None:
    """The pointer's value; None if there is none. Raises StoreUnavailable if a master that may have it is away.

    Only a master that takes writes says that there is none: what was the master until a failover may lack it.
    """
    away: StoreUnavailable | None = None
    for each in names_of(client, name):
        try:
            value: str | None = await client.call("GET", each)
            if value is None:
                status, found = check_reply(READ_POINTER, await client.run(READ_POINTER, [each], []))
                value = str(found) if status == "found" else None
        except StoreAway as error:
            away = error
            continue
        if value is not None:
            return value
    if away is not None:
        raise away
    return None


async def unpoint(client: Client, name: str) -> None:
    """Drop the pointer to a record that is gone. In a cluster, one whose master is away stays, and grants nothing."""
    names = names_of(client, name)
    for each in names:
        try:
            await client.call("DEL", each)
        except StoreAway as error:
            if len(names) == 1:
                raise
            log.warning("%s; a pointer to what is gone stays", error)


async def list_workspace(client: Client, name: str, workspace_id: str) -> bool:
    """Note the workspace under its name, unless the name is taken; True if it was free."""
    first, *copies = names_of(client, WORKSPACES)
    is_free = bool(await client.change("HSETNX", first, name, workspace_id))
    if is_free:
        for copy in copies:
            await client.change("HSET", copy, name, workspace_id)
    return is_free


async def listed_workspaces(client: Client) -> dict[str, str]:
    """Workspace ids by name."""
    first, *copies = names_of(client, WORKSPACES)
    try:
        return as_record(await client.call("HGETALL", first))
    except StoreAway:
        for copy in copies:
            if listed := as_record(await client.call("HGETALL", copy)):
                return listed
        raise


def names_of(client: Client, name: str) -> tuple[str, ...]:
    """Under which names the pointer is: one, or in a cluster two."""
    return (name, copy_of(name)) if client.is_cluster else (name,)
