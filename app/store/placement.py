"""Which master of a cluster holds a workspace: chosen when it is made, and moved with its slot while it is used."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from app.errors import Invalid, StoreUnavailable
from app.redis_client.client import Client, Value
from app.store.keyspace import Keyspace, slot_of_workspace

IDS_TRIED = 256
_KEYS_AT_ONCE = 10
_MIGRATE_MS = 60_000


async def holders(client: Client, workspace_ids: Iterable[str]) -> dict[str, str]:
    """The master, as host:port, that holds each workspace; without a cluster, nothing."""
    ids = list(workspace_ids)
    _, names = await client.master_names(Keyspace(each).workspace for each in ids)
    return dict(zip(ids, names, strict=False))


async def placed_id(client: Client, fresh: Sequence[str], others: Iterable[str], master: str | None = None) -> str:
    """The first of `fresh` whose keys are on `master`; without one, on a master with the fewest of the `others`.

    An id's slot is chance, and by chance seven workspaces fell one, two and four on three masters. Raises Invalid if
    there is no such master.
    """
    masters, _ = await client.master_names(())
    if master is not None:
        _require_master(master, masters)
    counts = Counter((await holders(client, others)).values())
    wanted = master or min(masters, key=lambda name: counts[name], default=None)
    held = await holders(client, fresh)
    found = next((each for each in fresh if held.get(each) == wanted), None)
    if found is None and master is not None:
        raise Invalid(f"{master} holds so few slots that none of {len(fresh)} ids fell on it; try again, or move slots")
    return found or fresh[0]


async def move(client: Client, workspace_id: str, to: str, login: Sequence[str] = ()) -> AsyncIterator[int]:
    """Move the workspace's slot to the master `to`, host:port; yields the number of keys that have moved so far.

    Afterwards both masters know it, and the others a moment later. Workspaces of the same slot move with it
    (`sharing_slot`). Decisions of the slot are 503 while a key that they need has moved and another has not. Nothing is
    lost if the move is interrupted, and the same call finishes it. login: user and password by which the masters log in
    to each other. The steps are those of the Redis Cluster specification, "Live resharding".
    Raises Invalid if there is no such master, or the slot is moving to another; StoreUnavailable if one is away or the
    user may not move slots.
    """
    clients = await client.masters()
    _require_master(to, clients)
    slot, source = slot_of_workspace(workspace_id), (await holders(client, [workspace_id]))[workspace_id]
    target_id, moved = str(await _told(clients[to], "CLUSTER", "MYID")), 0
    if source != to:
        await _require_not_elsewhere(clients[source], slot, target_id)
        source_id = str(await _told(clients[source], "CLUSTER", "MYID"))
        await _told(clients[to], "CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        await _told(clients[source], "CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        host, _, port = to.rpartition(":")
        auth: tuple[Value, ...] = ("AUTH2", *login) if login else ()
        # Other masters have keys of the slot if moves to two of them began at once: only the one begun last goes on.
        for name in (source, *(each for each in clients if each not in (source, to))):
            while keys := await _told(clients[name], "CLUSTER", "GETKEYSINSLOT", slot, _KEYS_AT_ONCE):
                await _require_not_elsewhere(clients[source], slot, target_id)
                await _told(clients[name], "MIGRATE", host.strip("[]"), port, "", 0, _MIGRATE_MS, *auth, "KEYS", *keys)
                moved += len(keys)
                yield moved
        await _require_not_elsewhere(clients[source], slot, target_id)
    # A master to which a move was begun, too, does not listen to who has the slot, and tools move no other meanwhile.
    for name in clients.keys() - {to, source}:
        await _told(clients[name], "CLUSTER", "SETSLOT", slot, "STABLE")
    # The new holder first: its configuration epoch tells every other node, also the old one if this is interrupted.
    for name in dict.fromkeys((to, source)):
        await _told(clients[name], "CLUSTER", "SETSLOT", slot, "NODE", target_id)
    yield moved


async def _require_not_elsewhere(source: Client, slot: int, target_id: str) -> None:
    """Raise Invalid if the slot is moving to another master, which deletes its keys once a third one has the slot."""
    rows = [line.split(" ") for line in str(await _told(source, "CLUSTER", "NODES")).splitlines()]
    own = next(row for row in rows if "myself" in row[2].split(","))
    other_id = next((each[:-1].partition("->-")[2] for each in own if each.startswith(f"[{slot}->-")), target_id)
    if other_id != target_id:
        other = next((address.partition("@")[0] for node_id, address, *_ in rows if node_id == other_id), other_id)
        raise Invalid(f"The slot of the workspace is moving to {other}; finish that move first")


def sharing_slot(workspace_id: str, others: Iterable[str]) -> list[str]:
    """Those of the others that are in the workspace's slot, and move with it."""
    slot = slot_of_workspace(workspace_id)
    return [each for each in others if each != workspace_id and slot_of_workspace(each) == slot]


async def _told(master: Client, *command: Value) -> Any:
    try:
        return await master.call(*command)
    except StoreUnavailable as error:
        if "(NOPERM)" not in str(error):
            raise
        words = " ".join(map(str, command[:2] if command[0] == "CLUSTER" else command[:1]))
        raise StoreUnavailable(
            f"The user of REMIT_REDIS_URL may not run {words}; docs/growing.md names what a move needs"
        ) from error


def _require_master(name: str, masters: Iterable[str]) -> None:
    if name not in (known := sorted(masters)):
        raise Invalid(
            f'No master "{name}" takes workspaces; there are: {", ".join(known)}'
            if known
            else f'The store is not a cluster, so there is no master "{name}" to choose'
        )
