"""API keys: created, listed, revoked."""

from app.errors import ApiKeyNotFound
from app.model.ids import Ids
from app.model.keys import PREFIX_LENGTH, ApiKey, Scope, digest_of, new_raw_key
from app.store.client import Client, Value
from app.store.keyspace import Keyspace, key_pointer
from app.store.records import number_or_none, read_page, read_records, store_time_ms


class Keys:
    """The API keys of a workspace. Only the SHA-256 of a raw key is kept."""

    def __init__(self, client: Client, ids: Ids) -> None:
        self._client = client
        self._ids = ids

    async def create(
        self, workspace_id: str, name: str, scopes: tuple[Scope, ...], expires_ms: int | None = None
    ) -> tuple[ApiKey, str]:
        """A new key and its raw form, which is nowhere kept."""
        raw_key = new_raw_key()
        now_ms = await store_time_ms(self._client)
        key = ApiKey(
            id=self._ids.new(now_ms),
            name=name,
            prefix=raw_key[:PREFIX_LENGTH],
            scopes=scopes,
            created_ms=now_ms,
            expires_ms=expires_ms,
        )
        await self.put(workspace_id, key, raw_key)
        return key, raw_key

    async def put(self, workspace_id: str, key: ApiKey, raw_key: str) -> None:
        """The key exists with this raw form."""
        keyspace, digest = Keyspace(workspace_id), digest_of(raw_key)
        # The pointer first: without its record it grants nothing, while a record without pointer is no key.
        await self._client.call("SET", key_pointer(digest), f"{workspace_id} {key.id}")
        record: dict[str, Value] = {
            "id": key.id,
            "name": key.name,
            "prefix": key.prefix,
            "scopes": ",".join(key.scopes),
            "created_ms": key.created_ms,
            "digest": digest,
        }
        if key.expires_ms is not None:
            record["expires_ms"] = key.expires_ms
        fields = [part for pair in record.items() for part in pair]
        await self._client.transact(
            ("HSET", keyspace.key(key.id), *fields),
            ("ZADD", keyspace.keys, key.created_ms, key.id),
        )

    async def list_page(self, workspace_id: str, limit: int | None = None, offset: int = 0) -> list[ApiKey]:
        """The workspace's keys, oldest first."""
        keyspace = Keyspace(workspace_id)
        ids = await read_page(self._client, keyspace.keys, limit, offset)
        records = await read_records(self._client, [keyspace.key(key_id) for key_id in ids])
        return [_key_of(record) for record in records]

    async def revoke(self, workspace_id: str, key_id: str) -> None:
        """The key is gone; no request sent from now on is authenticated by it. Raises ApiKeyNotFound."""
        keyspace = Keyspace(workspace_id)
        digest, removed, _ = await self._client.transact(
            ("HGET", keyspace.key(key_id), "digest"),
            ("DEL", keyspace.key(key_id)),
            ("ZREM", keyspace.keys, key_id),
        )
        if not removed:
            raise ApiKeyNotFound("No API key has this id")
        # The record decided; what is left is only the way to it.
        await self._client.call("DEL", key_pointer(digest))


def _key_of(record: dict[str, str]) -> ApiKey:
    return ApiKey(
        id=record["id"],
        name=record["name"],
        prefix=record["prefix"],
        scopes=tuple(Scope(scope) for scope in record["scopes"].split(",")),
        created_ms=int(record["created_ms"]),
        expires_ms=number_or_none(record.get("expires_ms")),
        last_used_ms=number_or_none(record.get("last_used_ms")),
    )
