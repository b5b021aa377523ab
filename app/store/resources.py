"""The stored catalogue of resources of any type but tools, which `store.catalog` has."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from app.errors import LimitReached, ResourceNotFound
from app.model.actors import ChangedBy
from app.model.resources import MAX_RESOURCES, CatalogResource, ResourceEntry, name_of, shown_in_trail
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, decoding_record
from app.runtime.fairness.loop_turns import take_turn
from app.store.catalog_writes import CatalogWrite, write_catalog
from app.store.keyspace import Keyspace
from app.store.optimistic import ATTEMPTS, Versions, contended, require_version

_REMEMBERED = 16
_STEP = 256
"""The records decoded before the loop gets a turn."""

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(CatalogResource).decode
_Make = Callable[[CatalogResource | None, int], CatalogResource | None]


class KnownResources(Struct, frozen=True):
    """The resources of a workspace at one moment, by type and id, sorted."""

    version: str
    by_type: dict[str, dict[str, CatalogResource]]


class Resources:
    """The resources of a workspace. The last version read is cached until the stored version differs."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._latest: OrderedDict[str, KnownResources] = OrderedDict()

    async def get(self, workspace_id: str, kind: str, resource_id: str) -> CatalogResource:
        """The resource. Raises ResourceNotFound."""
        name = name_of(kind, resource_id)
        record = await self._client.call("HGET", Keyspace(workspace_id).resource_entries, name)
        if record is None:
            raise _unknown()
        return _resource(name, record)

    async def put(
        self, workspace_id: str, entry: ResourceEntry, *, if_match: Versions = None, by: ChangedBy
    ) -> CatalogResource:
        """The resource as the entry describes it. Raises LimitReached; VersionConflict, also if it does not exist."""

        def make(current: CatalogResource | None, now_ms: int) -> CatalogResource | None:
            require_version(0 if current is None else current.version, if_match)
            return _became(current, entry, now_ms)

        made = await self._change(workspace_id, entry.type, entry.id, make, by)
        if made is None:
            raise RuntimeError("a resource that was put is missing")
        return made

    async def delete(
        self, workspace_id: str, kind: str, resource_id: str, *, if_match: Versions = None, by: ChangedBy
    ) -> None:
        """Delete the resource. Raises ResourceNotFound, VersionConflict."""

        def make(current: CatalogResource | None, _now_ms: int) -> None:
            if current is None:
                raise _unknown()
            require_version(current.version, if_match)

        await self._change(workspace_id, kind, resource_id, make, by)

    async def known(self, workspace_id: str) -> KnownResources:
        """All resources, as they are now."""
        keyspace = Keyspace(workspace_id)
        version = await self._client.call("HGET", keyspace.resources, "version")
        latest = self._latest.get(workspace_id)
        if latest is not None and latest.version == (version or ""):
            return latest
        version, records = await self._client.read_snapshot(
            ("HGET", keyspace.resources, "version"), ("HGETALL", keyspace.resource_entries)
        )
        by_type: dict[str, dict[str, CatalogResource]] = {}
        for number, (name, record) in enumerate(sorted(as_record(records).items()), 1):
            found = _resource(name, record)
            by_type.setdefault(found.type, {})[found.id] = found
            if number % _STEP == 0:
                await take_turn()
        latest = self._latest[workspace_id] = KnownResources(version or "", by_type)
        self._latest.move_to_end(workspace_id)
        while len(self._latest) > _REMEMBERED:
            self._latest.popitem(last=False)
        return latest

    async def _change(
        self, workspace_id: str, kind: str, resource_id: str, make: _Make, by: ChangedBy
    ) -> CatalogResource | None:
        """Change one resource and return it; `make` is called again whenever another change came first."""
        keyspace, name = Keyspace(workspace_id), name_of(kind, resource_id)
        for _ in range(ATTEMPTS):
            version, record, number = await self._client.read_snapshot(
                ("HGET", keyspace.resources, "version"),
                ("HGET", keyspace.resource_entries, name),
                ("HLEN", keyspace.resource_entries),
            )
            current = None if record is None else _resource(name, record)
            made = make(current, await store_time_ms(self._client))
            if made is current:
                return made
            if current is None and number >= MAX_RESOURCES:
                raise LimitReached(f"The catalogue has {number} resources; it may have {MAX_RESOURCES}")
            change = "created" if current is None else "deleted" if made is None else "updated"
            before, after = shown_in_trail(current, name), shown_in_trail(made, name)
            written: Value = "" if made is None else _encode(made)
            write = CatalogWrite(change, before, after, version or "", (name, written))
            keys = keyspace.resources, keyspace.resource_entries
            if await write_catalog(self._client, workspace_id, *keys, write, by) is not None:
                return made
        return contended()


def _became(current: CatalogResource | None, entry: ResourceEntry, now_ms: int) -> CatalogResource:
    """The resource that the entry describes; the existing one if the two are equal."""
    if current is None:
        return CatalogResource(**asdict(entry), created_ms=now_ms, updated_ms=now_ms, version=1)
    times: dict[str, Any] = {
        "created_ms": current.created_ms,
        "updated_ms": current.updated_ms,
        "version": current.version,
    }
    # Not compared with ==: in Python, 1 == True.
    if _encode(CatalogResource(**asdict(entry), **times)) == _encode(current):
        return current
    times |= {"updated_ms": max(now_ms, current.updated_ms + 1), "version": current.version + 1}
    return CatalogResource(**asdict(entry), **times)


def _resource(name: str, record: str) -> CatalogResource:
    with decoding_record(f"The description of resource {name}"):
        return _decode(record)


def _unknown() -> ResourceNotFound:
    return ResourceNotFound("No resource of this type and id is in the catalogue")
