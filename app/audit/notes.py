"""The newest signed checkpoints as stored, and proofs that an entry is in the log that they describe."""

import base64

from msgspec import json

from app.audit.trees import read_log_tree
from app.errors import AuditLogDamaged, CheckpointNotFound
from app.model.actors import ChangedBy
from app.model.checkpoints import Fork, SignedTree
from app.model.notes import Note
from app.model.times import rfc3339
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import check_reply, decoding_record, number_of
from app.redis_client.scripts import ACCEPT_FORK
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace

ACCEPTED = "accepted"


async def read_note(client: Client, key: str) -> Note | None:
    """The newest signed checkpoint; None without one. Raises AuditLogDamaged."""
    raw = await client.call_bytes("HGET", key, "note")
    try:
        return None if raw is None else Note.parse(raw.decode())
    except ValueError:
        raise AuditLogDamaged("The newest signed checkpoint cannot be read") from None


def checkpoint_key(keyspace: Keyspace, tree: SignedTree) -> str:
    """Where the newest checkpoint of this tree is."""
    return keyspace.audit_checkpoint if tree is SignedTree.LOG else keyspace.changes_checkpoint


async def read_fork(client: Client, key: str) -> str | None:
    """As stored, for `fork_of`: since when and why this tree is not signed; ACCEPTED if a person wants it all the same;
    None if it continues what was signed.
    """
    raw = await client.call("HGET", key, "fork")
    return None if raw is None else str(raw)


async def note_fork(client: Client, key: str, why: str) -> None:
    """The tree is signed no more until a person accepts it."""
    await client.call("HSET", key, "fork", f"{await store_time_ms(client)} {why}")


def fork_of(tree: SignedTree, stored: str | None) -> Fork | None:
    """The fork for which the tree is not signed; None if it is. Raises ForeignData."""
    if stored is None or stored == ACCEPTED:
        return None
    with decoding_record("The note about a fork"):
        since_ms, message = stored.split(" ", 1)
        return Fork(tree, rfc3339(number_of(since_ms)), message)


async def accept_fork(client: Client, workspace_id: str, tree: SignedTree, by: ChangedBy) -> Fork | None:
    """The tree is signed again, whatever witnesses say until all have signed. Gives why it was not; None if it was.

    Raises ForeignData.
    """
    keyspace = Keyspace(workspace_id)
    key = checkpoint_key(keyspace, tree)
    stored = await read_fork(client, key)
    fork = fork_of(tree, stored)
    if stored is None or fork is None:
        return None
    values = {tree: {"since": fork.since, "message": fork.message}}, {tree: ACCEPTED}
    args: list[Value] = [by.actor.id, workspace_id, stored, *map(json.encode, values), by.reason]
    reply = await client.run(ACCEPT_FORK, [*change_keys(keyspace, by.actor), key], args)
    (status,) = check_reply(ACCEPT_FORK, reply)
    require_actor(status)
    return fork if status == "done" else None


async def newest_note(client: Client, key: str) -> Note:
    """The newest signed checkpoint. Raises CheckpointNotFound, AuditLogDamaged."""
    note = await read_note(client, key)
    if note is None:
        raise CheckpointNotFound(
            "Nothing is signed yet: a checkpoint is signed a minute after the first entry is sealed"
        )
    return note


async def proof_of(client: Client, workspace_id: str, sequence: int, line: bytes) -> str:
    """The proof, as c2sp.org/tlog-proof@v1, that the newest checkpoint covers the entry; its extra data is the line.

    Raises CheckpointNotFound if no checkpoint covers it yet, and AuditLogDamaged.
    """
    note = await newest_note(client, Keyspace(workspace_id).audit_checkpoint)
    if sequence > note.size:
        raise CheckpointNotFound(
            f"The newest checkpoint covers {note.size} entries, and this is entry {sequence}: ask again in a minute"
        )
    hashes = await (await read_log_tree(client, workspace_id)).inclusion(sequence - 1, note.size)
    path = "".join(f"{base64.b64encode(each).decode()}\n" for each in hashes)
    return f"c2sp.org/tlog-proof@v1\nextra {base64.b64encode(line).decode()}\nindex {sequence - 1}\n{path}\n{note}"
