"""The newest signed checkpoints as stored, and proofs that an entry is in the log that they describe."""

import base64

from app.audit.trees import read_log_tree
from app.errors import AuditLogDamaged, CheckpointNotFound
from app.model.notes import Note
from app.redis_client.client import Client
from app.store.keyspace import Keyspace

ACCEPTED = "accepted"


async def read_note(client: Client, key: str) -> Note | None:
    """The newest signed checkpoint; None without one. Raises AuditLogDamaged."""
    raw = await client.call_bytes("HGET", key, "note")
    try:
        return None if raw is None else Note.parse(raw.decode())
    except ValueError:
        raise AuditLogDamaged("The newest signed checkpoint cannot be read") from None


async def read_fork(client: Client, key: str) -> str:
    """Why this tree is not signed any more, ACCEPTED if a person wants it to be signed all the same, or ""."""
    return str(await client.call("HGET", key, "fork") or "")


async def note_fork(client: Client, key: str, why: str) -> None:
    """The tree is signed no more until a person accepts it."""
    await client.call("HSET", key, "fork", why)


async def accept_fork(client: Client, key: str) -> str:
    """The tree is signed again, whatever witnesses say until all have signed. Gives why it was not; "" if it was."""
    why = await read_fork(client, key)
    if not why or why == ACCEPTED:
        return ""
    await client.call("HSET", key, "fork", ACCEPTED)
    return why


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
