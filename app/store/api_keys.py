"""Create, list, rotate and revoke API keys."""

from collections.abc import AsyncIterator

from msgspec.structs import replace

from app.errors import AgentNotFound, ApiKeyNotFound, LastAdminKey
from app.model.actors import Actor, ActorKind, ChangedBy
from app.model.api_keys import PREFIX_LENGTH, ApiKey, Scope, SessionFrom, digest_of, new_raw_key
from app.model.ids import Ids
from app.model.snapshots import snapshots
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, check_reply, decoding_record, number_of, number_or_none
from app.redis_client.scripts import PUT_KEY, ROTATE_KEY
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace, key_pointer
from app.store.limits import NO_LIMIT, WorkspaceLimits
from app.store.optimistic import ATTEMPTS, contended, require_room
from app.store.paging import read_page, read_records
from app.store.pointers import point, unpoint
from app.store.revocations import Revoked, revoke_record


class ApiKeys:
    """The API keys of a workspace. Only the SHA-256 of a raw key is kept."""

    def __init__(self, client: Client, ids: Ids, limits: WorkspaceLimits) -> None:
        self._client = client
        self._ids = ids
        self._limits = limits

    async def create(
        self,
        workspace_id: str,
        name: str,
        scopes: tuple[Scope, ...],
        expires_ms: int | None = None,
        *,
        agents: tuple[str, ...] = (),
        session_from: SessionFrom | None = None,
        by: ChangedBy,
    ) -> tuple[ApiKey, str]:
        """Create a key; return it and its raw form, which is stored nowhere. Raises LimitReached.

        agents: the ids of the only agents that the key may ask about. Raises AgentNotFound if one does not exist.
        """
        records = [Keyspace(workspace_id).agent(agent_id) for agent_id in agents]
        if records and await self._client.call("EXISTS", *records) != len(records):
            raise AgentNotFound("One of the agents does not exist, or is named twice")
        now_ms = await store_time_ms(self._client)
        key, raw_key = self._new(name, scopes, expires_ms, now_ms, agents, session_from)
        await self.put(workspace_id, key, raw_key, by=by, keys_max=self._limits.keys)
        return key, raw_key

    async def put(
        self,
        workspace_id: str,
        key: ApiKey,
        raw_key: str,
        *,
        by: ChangedBy,
        keys_max: int = NO_LIMIT,
    ) -> None:
        """Store the key under this raw form, or return the existing key with its id. Raises LimitReached."""
        keyspace, digest = Keyspace(workspace_id), await self._point(workspace_id, key, raw_key)
        args: list[Value] = [by.actor.id, snapshots(None, key)[1], key.id, key.created_ms, keys_max, by.reason]
        args += _record(replace(key, made_by=await self._makers(keyspace, by.actor)), digest)
        reply = await self._client.run(PUT_KEY, _keys_of(keyspace, key.id, by.actor), args)
        status = check_reply(PUT_KEY, reply)[0]
        if status in {"revoked", "full"}:
            await unpoint(self._client, key_pointer(digest))
        require_actor(status)
        require_room(status, "workspace", "API keys", keys_max)

    async def each(self, workspace_id: str, limit: int | None = None, offset: int = 0) -> AsyncIterator[ApiKey]:
        """Yield the workspace's keys, oldest first."""
        keyspace = Keyspace(workspace_id)
        ids = await read_page(self._client, keyspace.keys, limit, offset)
        async for records in read_records(self._client, keyspace.key, ids):
            for record in records:
                yield _key_of(record)

    async def rotate(
        self,
        workspace_id: str,
        key_id: str,
        overlap_ms: int,
        expires_ms: int | None = None,
        *,
        by: ChangedBy,
    ) -> tuple[ApiKey, str, ApiKey]:
        """Rotate the key; return its successor, the successor's raw form, and the key, which expires after the overlap.

        The successor has the same name, scopes and root. Rotating a key shows its successor, so `by` counts among those
        who made it.

        expires_ms: when the successor expires; None = after the lifetime that the key was made with, if limited.
        Both records are written at once, so nothing has to run later. A key that would expire before the overlap ends
        still does. Raises ApiKeyNotFound, LimitReached.
        """
        keyspace = Keyspace(workspace_id)
        for _ in range(ATTEMPTS):
            key, record = await self._read(keyspace, key_id)
            now_ms = await store_time_ms(self._client)
            until_ms = min(now_ms + overlap_ms, now_ms + overlap_ms if key.expires_ms is None else key.expires_ms)
            ends_ms = _original_expiry(record, now_ms) if expires_ms is None else expires_ms
            successor, raw_key = self._new(key.name, key.scopes, ends_ms, now_ms, key.agents, key.session_from)
            made_by = dict.fromkeys((*key.made_by, *await self._makers(keyspace, by.actor)))
            successor = replace(successor, root=key.root, made_by=tuple(each for each in made_by if each != key.root))
            digest = await self._point(workspace_id, successor, raw_key)
            ended = replace(key, expires_ms=until_ms)
            keys = [*change_keys(keyspace, by.actor), *map(keyspace.key, (key_id, successor.id)), keyspace.keys]
            keys += map(keyspace.key, record.get("sign_ins", "").split())
            args: list[Value] = [by.actor.id, *snapshots(key, ended), snapshots(None, successor)[1]]
            args += ("" if key.expires_ms is None else key.expires_ms, until_ms, key_id)
            args += (successor.id, successor.created_ms, self._limits.keys, by.reason, record.get("sign_ins", ""))
            args += _record(successor, digest)
            status = check_reply(ROTATE_KEY, await self._client.run(ROTATE_KEY, keys, args))[0]
            if status == "done":
                return successor, raw_key, ended
            await unpoint(self._client, key_pointer(digest))
            require_actor(status)
            require_room(status, "workspace", "API keys", self._limits.keys)
        return contended()

    async def revoke(self, workspace_id: str, key_id: str, *, force: bool = False, by: ChangedBy) -> None:
        """Revoke the key: neither it nor a session made from it authenticates a request sent from now on.

        force: revoke even the last valid admin key. Raises ApiKeyNotFound, LastAdminKey.
        """
        keyspace = Keyspace(workspace_id)
        for _ in range(ATTEMPTS):
            key, record = await self._read(keyspace, key_id)
            other = None if force else await self._other_admin(workspace_id, key)
            revoked = Revoked("api_key", keyspace.keys, snapshots(key, None)[0])
            if await revoke_record(self._client, keyspace, record, revoked, by, other):
                return
        contended()

    async def _other_admin(self, workspace_id: str, key: ApiKey) -> str | None:
        """The id of the longest-lived valid admin key besides `key`; None if `key` is not a valid admin key.

        Raises LastAdminKey if there is no other.
        """
        now_ms = await store_time_ms(self._client)
        if not _is_admin(key, now_ms):
            return None
        others = [each async for each in self.each(workspace_id) if each.id != key.id and _is_admin(each, now_ms)]
        if not others:
            raise LastAdminKey(
                "This is the workspace's last admin key; create another one first, or insist: ?force=true, "
                "`remit keys revoke --force`"
            )
        return max(others, key=lambda other: (other.expires_ms is None, other.expires_ms or 0)).id

    async def _makers(self, keyspace: Keyspace, actor: Actor) -> tuple[str, ...]:
        """The roots of all that make a key which this actor makes."""
        if actor.kind is not ActorKind.KEY:
            return ()
        root, made_by = await self._client.call("HMGET", keyspace.key(actor.id), "root", "made_by")
        return (*(made_by or "").split(), root or actor.id)

    async def _read(self, keyspace: Keyspace, key_id: str) -> tuple[ApiKey, dict[str, str]]:
        """The key as it is now, and its record. Raises ApiKeyNotFound."""
        record = as_record(await self._client.call("HGETALL", keyspace.key(key_id)))
        # A session, a workload or one of its tokens is no API key that an admin manages.
        if not record or not {"ends_ms", "workload"}.isdisjoint(record):
            raise ApiKeyNotFound("No API key has this id")
        return _key_of(record), record

    def _new(
        self,
        name: str,
        scopes: tuple[Scope, ...],
        expires_ms: int | None,
        now_ms: int,
        agents: tuple[str, ...],
        session_from: SessionFrom | None,
    ) -> tuple[ApiKey, str]:
        """A key that is not stored yet, and its raw form."""
        raw_key = new_raw_key()
        key = ApiKey(
            id=self._ids.new(now_ms),
            name=name,
            prefix=raw_key[:PREFIX_LENGTH],
            scopes=scopes,
            created_ms=now_ms,
            expires_ms=expires_ms,
            agents=agents,
            session_from=session_from,
        )
        return key, raw_key

    async def _point(self, workspace_id: str, key: ApiKey, raw_key: str) -> str:
        """Store the pointer from the raw key's digest to its record, and return the digest.

        It is written before the record: a pointer without a record grants nothing, but a record without a pointer is
        unusable.
        """
        digest = digest_of(raw_key)
        await point(self._client, key_pointer(digest), f"{workspace_id} {key.id}")
        return digest


def _is_admin(key: ApiKey, now_ms: int) -> bool:
    return Scope.ADMIN in key.scopes and (key.expires_ms is None or now_ms < key.expires_ms)


def _keys_of(keyspace: Keyspace, key_id: str, actor: Actor) -> list[str]:
    return [*change_keys(keyspace, actor), keyspace.key(key_id), keyspace.keys]


def _record(key: ApiKey, digest: str) -> list[Value]:
    """The key's record as fields and values, without created_ms."""
    fields: list[Value] = ["id", key.id, "name", key.name, "prefix", key.prefix]
    fields += ("scopes", ",".join(key.scopes), "digest", digest)
    if key.agents:
        fields += ("agents", ",".join(key.agents))
    if key.session_from is not None:
        fields += ("session_from", key.session_from)
    if key.root != key.id:
        fields += ("root", key.root)
    if key.made_by:
        fields += ("made_by", " ".join(key.made_by))
    return fields if key.expires_ms is None else [*fields, "expires_ms", key.expires_ms]


def _original_expiry(record: dict[str, str], now_ms: int) -> int | None:
    """The expiry of a successor made now, with the lifetime that the key had before any rotation; None = never."""
    expires_ms = number_or_none(record.get("meant_to_expire_ms", record.get("expires_ms")) or None)
    return None if expires_ms is None else now_ms + max(0, expires_ms - number_of(record["created_ms"]))


def _key_of(record: dict[str, str]) -> ApiKey:
    with decoding_record(f"The record of API key {record.get('id', '')}"):
        return ApiKey(
            id=record["id"],
            name=record["name"],
            prefix=record["prefix"],
            scopes=tuple(Scope(scope) for scope in record["scopes"].split(",")),
            created_ms=number_of(record["created_ms"]),
            expires_ms=number_or_none(record.get("expires_ms")),
            last_used_ms=number_or_none(record.get("last_used_ms")),
            agents=tuple(record["agents"].split(",")) if "agents" in record else (),
            session_from=SessionFrom(record["session_from"]) if "session_from" in record else None,
            root=record.get("root", ""),
            made_by=tuple(record.get("made_by", "").split()),
        )
