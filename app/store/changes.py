"""The trail of changes: the scripts that change something write it; this module reads it."""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from app.errors import Unauthorized
from app.model.actors import Actor, Via
from app.model.agents import Trip
from app.model.approvals import Person
from app.model.changes import Change, ChangeKind, ChangePage, ChangeQuery, ResourceType
from app.model.times import LAST_MS, rfc3339
from app.redis_client.client import Client
from app.redis_client.replies import as_record, decoding_record, number_of
from app.store.keyspace import Keyspace

log = logging.getLogger(__name__)
_FIELDS = frozenset({"actorId", "actorName", "kind", "resourceType", "resourceId", "before", "after"})
_KINDS, _RESOURCE_TYPES, _WAYS = frozenset(ChangeKind), frozenset(ResourceType), frozenset(("", *Via))
_CHUNK = 50
_READ_MAX_BYTES = 16 * 1024 * 1024
_ENTRY_BYTES = 300
_person_of = msgspec.json.Decoder(Person).decode
_fields_of = msgspec.json.Decoder(dict[str, Raw]).decode


class Changes:
    """The trail of a workspace. Only the scripts that make the changes write it, and nothing trims it."""

    def __init__(self, client: Client, read_max_bytes: int = _READ_MAX_BYTES) -> None:
        self._client = client
        self._read_max_bytes = read_max_bytes

    async def query(self, workspace_id: str, query: ChangeQuery) -> ChangePage:
        """The matching changes, newest first.

        A query stops after reading about `read_max_bytes`, however few changes it has found, and returns where to
        continue.
        """
        # Ids begin with the store's time, so a time range is an id range.
        oldest = "-" if query.from_ms is None else str(query.from_ms)
        newest = "+" if query.to_ms is None else str(query.to_ms)
        if query.older_than is not None and (query.to_ms is None or change_time_ms(query.older_than) <= query.to_ms):
            newest = f"({query.older_than}"
        matches: list[Change] = []
        read_bytes = 0
        async for change_id, record in read_back(self._client, Keyspace(workspace_id), newest, oldest):
            read_bytes += _ENTRY_BYTES
            if record is not None:
                read_bytes += len(record["before"]) + len(record["after"])
            if record is not None and _matches(record, query):
                if len(matches) == query.limit:
                    return ChangePage(matches, matches[-1].id)
                matches.append(change_of(change_id, record))
            if read_bytes > self._read_max_bytes:
                return ChangePage(matches, change_id)
        return ChangePage(matches, None)


async def read_back(
    client: Client, keyspace: Keyspace, newest: str, oldest: str = "-"
) -> AsyncIterator[tuple[str, dict[str, str] | None]]:
    """Yield the ids and fields of the changes between two ids, newest first; None for a foreign entry."""
    while True:
        chunk = await client.call_bytes("XREVRANGE", keyspace.changes, newest, oldest, "COUNT", _CHUNK)
        for each in own_records(chunk):
            yield each
        if len(chunk) < _CHUNK:
            return
        newest = f"({chunk[-1][0].decode()}"


async def read_forward(client: Client, keyspace: Keyspace) -> AsyncIterator[tuple[str, dict[str, str] | None]]:
    """Yield the ids and fields of all changes, oldest first; None for a foreign entry."""
    oldest = "-"
    while True:
        chunk = await client.call_bytes("XRANGE", keyspace.changes, oldest, "+", "COUNT", _CHUNK)
        for each in own_records(chunk):
            yield each
        if len(chunk) < _CHUNK:
            return
        oldest = f"({chunk[-1][0].decode()}"


def own_records(entries: Any) -> Iterator[tuple[str, dict[str, str] | None]]:
    """Yield the id and fields of entries of the trail, which are still undecoded; None for one that no script added.
    Such an entry cannot be removed without a trace, so readers of the trail skip it.
    """
    for raw_id, raw_fields in entries:
        change_id = raw_id.decode()
        try:
            record = as_record([raw.decode() for raw in raw_fields])
        except UnicodeDecodeError:
            record = {}
        if _is_own(record):
            yield change_id, record
        else:
            log.warning("entry %s of a trail of changes is not one that Remit wrote, and is left out", change_id)
            yield change_id, None


def _is_own(record: dict[str, str]) -> bool:
    """True if a script can have written these fields, so that `change_of` reads them."""
    try:
        number_of(record.get("sequence", "0"))
        if record.get("approvedBy"):
            _person_of(record["approvedBy"])
        return (
            record.keys() >= _FIELDS
            and record["kind"] in _KINDS
            and record["resourceType"] in _RESOURCE_TYPES
            and record.get("via", "") in _WAYS
            and ("policyId" in record or "decisionId" not in record)
            and all(not record[name] or _fields_of(record[name]) is not None for name in ("before", "after"))
        )
    except (ValueError, msgspec.MsgspecError):
        return False


def change_keys(keyspace: Keyspace, actor: Actor) -> list[str]:
    """The first keys of every script that changes something: the actor's record and the trail."""
    return [keyspace.key(actor.id), keyspace.changes]


def require_actor(status: str) -> None:
    """Raise Unauthorized if the script found the actor's key gone: it was revoked after it was authenticated."""
    if status == "revoked":
        raise Unauthorized("The API key is unknown or has been revoked")


def _matches(record: dict[str, str], query: ChangeQuery) -> bool:
    return (
        query.actor_id in (None, record["actorId"])
        and query.person in (None, record.get("person"))
        and (query.resource_type is None or record["resourceType"] in query.resource_type)
        and query.resource_id in (None, record["resourceId"])
    )


def change_of(change_id: str, record: dict[str, str]) -> Change:
    """The change that these fields of the trail describe."""
    with decoding_record(f"Change {change_id}"):
        return Change(
            id=change_id,
            timestamp=rfc3339(change_time_ms(change_id)),
            actor_id=record["actorId"],
            actor_name=record["actorName"],
            kind=ChangeKind(record["kind"]),
            resource_type=ResourceType(record["resourceType"]),
            resource_id=record["resourceId"],
            before=Raw((record["before"] or "null").encode()),
            after=Raw((record["after"] or "null").encode()),
            sequence=number_of(record["sequence"]) if "sequence" in record else UNSET,
            reason=record.get("reason") or UNSET,
            via=Via(record["via"]) if record.get("via") else UNSET,
            person=record.get("person") or UNSET,
            approved_by=_person_of(record["approvedBy"]) if record.get("approvedBy") else UNSET,
            tripped=Trip(record["policyId"], record["decisionId"]) if "decisionId" in record else UNSET,
        )


def change_time_ms(change_id: str) -> int:
    """When the change was made, ms since the epoch.

    After a foreign entry with an id in the far future, changes get later ids than that; such a time is limited to the
    year 9999.
    """
    return min(int(change_id.partition("-")[0]), LAST_MS)
