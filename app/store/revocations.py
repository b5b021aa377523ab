"""The end of an API key or a session, with immediate effect."""

from typing import NamedTuple

from app.model.actors import ChangedBy
from app.redis_client.client import Client, Value
from app.redis_client.replies import check_reply
from app.redis_client.scripts import REVOKE_KEY
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace, key_pointer
from app.store.pointers import unpoint


class Revoked(NamedTuple):
    """What is revoked: its type in the trail, the sorted set that lists it, and its fields before, for the trail."""

    resource_type: str
    listed: str
    before: bytes


async def revoke_record(
    client: Client,
    keyspace: Keyspace,
    record: dict[str, str],
    revoked: Revoked,
    by: ChangedBy,
    other_admin: str | None = None,
) -> bool:
    """Revoke the key with this record and the sessions made from it; False if the record has changed since it was read.

    other_admin: the id of a valid admin key that must remain. Raises Unauthorized if the actor's key is gone.
    """
    sign_ins, key_id = record.get("sign_ins", ""), record["id"]
    args: list[Value] = [by.actor.id, revoked.before, record.get("expires_ms", ""), key_id]
    args += ("" if other_admin is None else "1", by.reason, revoked.resource_type, sign_ins)
    keys = [*change_keys(keyspace, by.actor), keyspace.key(key_id), revoked.listed]
    keys += map(keyspace.key, sign_ins.split())
    keys += [] if other_admin is None else [keyspace.key(other_admin)]
    status = check_reply(REVOKE_KEY, await client.run(REVOKE_KEY, keys, args))[0]
    require_actor(status)
    if status != "done":
        return False
    # The record, which is the authority, is gone; only the pointer to it remains.
    await unpoint(client, key_pointer(record["digest"]))
    return True
