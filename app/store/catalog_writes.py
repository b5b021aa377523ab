"""Writes of the catalogue, of tools and of resources: the records that change, and their entry in the trail."""

import secrets
from collections.abc import Sequence

from msgspec import Struct

from app.model.actors import ChangedBy
from app.redis_client.client import Client, Value
from app.redis_client.replies import check_reply
from app.redis_client.scripts import PUT_CATALOG
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace


class CatalogWrite(Struct, frozen=True):
    """A write of some records.

    kind, before, after: for the trail. expected: the version that the records were read at. records: name and JSON of
    each; "" deletes it.
    """

    kind: str
    before: bytes
    after: bytes
    expected: str
    records: Sequence[Value]


async def write_catalog(
    client: Client, workspace_id: str, version_key: str, records_key: str, write: CatalogWrite, by: ChangedBy
) -> str | None:
    """The new version, once all records are as given; None if the version is not the expected one."""
    version = secrets.token_hex(16)
    args: list[Value] = [by.actor.id, write.kind, workspace_id, write.before, write.after]
    args += [write.expected, version, by.reason, *write.records]
    keys = [*change_keys(Keyspace(workspace_id), by.actor), version_key, records_key]
    status = check_reply(PUT_CATALOG, await client.run(PUT_CATALOG, keys, args))[0]
    require_actor(status)
    return version if status == "done" else None
