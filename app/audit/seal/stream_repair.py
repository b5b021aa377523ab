"""Repairs streams to which something other than a commit has appended, so that commits can append again."""

import logging
from collections.abc import Sequence

from app.audit.seal.oldest_entries import Quarantined
from app.audit.seal.sealer import Sealer
from app.audit.unsealed import fields_of
from app.redis_client.client import Client
from app.redis_client.replies import count_of
from app.redis_client.scripts import FREE_STREAM
from app.store.keyspace import Keyspace

log = logging.getLogger(__name__)
_AT_ONCE = 128


async def displaced(client: Client, workspaces: Sequence[str]) -> list[str]:
    """The workspaces whose stream would refuse the next commit: its last id is above the last commit's."""
    keyspaces = [Keyspace(each) for each in workspaces]
    exist = await client.read_each(("EXISTS", each.audit_stream) for each in keyspaces)
    existing = [each for each, exists in zip(workspaces, exist, strict=True) if exists]
    commands: list[tuple[str, ...]] = []
    for workspace_id in existing:
        # The number of the last commit is read second, so nothing committed in between is mistaken for foreign.
        commands += (("XINFO", "STREAM", Keyspace(workspace_id).audit_stream),)
        commands += (("HGET", Keyspace(workspace_id).commits, "sequence"),)
    replies = await client.read_each(commands) if commands else []
    blocked = []
    for workspace_id, stream, sequence in zip(existing, replies[::2], replies[1::2], strict=True):
        if stream is None:
            continue
        last_id = dict(zip(stream[::2], stream[1::2], strict=True))[b"last-generated-id"]
        if _id(last_id) > (count_of(sequence), 0):
            blocked.append(workspace_id)
    return blocked


async def free_stream(client: Client, sealer: Sealer, workspace_id: str) -> int:
    """Make the stream accept the workspace's next commit; return how many entries were set aside.

    What commits have written is sealed first, because only an empty stream can be made to forget its last id.
    """
    keyspace = Keyspace(workspace_id)
    keys = [keyspace.audit_stream, keyspace.commits, keyspace.audit_poison]
    removed = 0
    await _restore_sequence(client, workspace_id)
    while True:
        sequence = await client.call("HGET", keyspace.commits, "sequence") or "0"
        chunk = await client.call_bytes("XRANGE", keyspace.audit_stream, f"({sequence}-0", "+", "COUNT", _AT_ONCE)
        foreign = [Quarantined(entry_id.decode(), _WHY, fields_of(fields)) for entry_id, fields in chunk]
        args = [part for entry in foreign for part in (entry.entry_id, entry.found)]
        (status,) = await client.run(FREE_STREAM, keys, [sequence, *args])
        if status == "stale":
            continue
        removed += len(foreign)
        for entry in foreign:
            log.error("entry %s of %s is quarantined: %s", entry.entry_id, keyspace.audit_stream, entry.why)
        if status == "unsealed" and await sealer.seal_next(workspace_id) is None:
            return removed  # another compactor is repairing it
        if status == "freed":
            log.error(
                "workspace %s can decide again, after entry %s: foreign entries had blocked its stream",
                workspace_id,
                sequence,
            )
            return removed


async def _restore_sequence(client: Client, workspace_id: str) -> None:
    """Restore the number of the last commit, if the store has lost it.

    Entries that follow the head in an unbroken row were committed. Without the number, all of them would count as
    foreign, and their numbers would be used again.
    """
    keyspace = Keyspace(workspace_id)
    has_sequence, sealed = await client.read_pipelined(
        (("HEXISTS", keyspace.commits, "sequence"), ("HGET", keyspace.audit_head, "sequence"))
    )
    if has_sequence:
        return
    start = last = int(sealed or 0)
    is_unbroken = True
    while is_unbroken:
        chunk = await client.call_bytes("XRANGE", keyspace.audit_stream, f"({last}-0", "+", "COUNT", _AT_ONCE)
        is_unbroken = len(chunk) == _AT_ONCE
        for entry_id, fields in chunk:
            if entry_id != b"%d-0" % (last + 1) or b"id" not in fields_of(fields):
                is_unbroken = False
                break
            last += 1
    if last and await client.call("HSETNX", keyspace.commits, "sequence", last):
        log.error(
            "workspace %s lost the number of its last commit; by the log it is %d: %d sealed, %d in the stream",
            workspace_id,
            last,
            start,
            last - start,
        )


_WHY = "no commit made it, and it stood in the way of the next one"


def _id(raw: bytes) -> tuple[int, int]:
    first, _, second = raw.partition(b"-")
    return int(first), int(second)
