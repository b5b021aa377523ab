"""API keys: created, listed, revoked."""

from app.errors import ApiKeyNotFound
from app.model.changes import CONSOLE, snapshots
from app.model.ids import Ids
from app.model.keys import PREFIX_LENGTH, ApiKey, Scope, digest_of, new_raw_key
from app.store.changes import change_keys, require_actor
from app.store.client import Client, Value, check_reply
from app.store.keyspace import Keyspace, key_pointer
from app.store.records import as_record, number_or_none, read_page, read_records, store_time_ms
from app.store.scripts import PUT_KEY, REVOKE_KEY


class Keys:
    """The API keys of a workspace. Only the SHA-256 of a raw key is kept."""

    def __init__(self, client: Client, ids: Ids) -> None:
        self._client = client
        self._ids = ids

    async def create(
        self,
        workspace_id: str,
        name: str,
        scopes: tuple[Scope, ...],
        expires_ms: int | None = None,
        *,
        actor_id: str = CONSOLE,
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
        await self.put(workspace_id, key, raw_key, actor_id=actor_id)
        return key, raw_key

    async def put(self, workspace_id: str, key: ApiKey, raw_key: str, *, actor_id: str = CONSOLE) -> None:
        """The key exists with this raw form; if there is one with its id already, that one."""
        keyspace, digest = Keyspace(workspace_id), digest_of(raw_key)
        # The pointer first: without its record it grants nothing, while a record without pointer is no key.
        await self._client.call("SET", key_pointer(digest), f"{workspace_id} {key.id}")
        args: list[Value] = [actor_id, snapshots(None, key)[1], key.id, key.created_ms, *_record(key, digest)]
        reply = await self._client.run(PUT_KEY, _keys_of(keyspace, key.id, actor_id), args)
        require_actor(check_reply(PUT_KEY, reply)[0])

    async def list_page(self, workspace_id: str, limit: int | None = None, offset: int = 0) -> list[ApiKey]:
        """The workspace's keys, oldest first."""
        keyspace = Keyspace(workspace_id)
        ids = await read_page(self._client, keyspace.keys, limit, offset)
        records = await read_records(self._client, [keyspace.key(key_id) for key_id in ids])
        return [_key_of(record) for record in records]

    async def revoke(self, workspace_id: str, key_id: str, *, actor_id: str = CONSOLE) -> None:
        """The key is gone; no request sent from now on is authenticated by it. Raises ApiKeyNotFound."""
        keyspace = Keyspace(workspace_id)
        status = "stale"
        while status == "stale":  # its expiry was moved meanwhile, which happens once or twice in a key's life
            record = as_record(await self._client.call("HGETALL", keyspace.key(key_id)))
            if not record:
                raise ApiKeyNotFound("No API key has this id")
            before, _ = snapshots(_key_of(record), None)
            args: list[Value] = [actor_id, before, record.get("expires_ms", ""), key_id]
            reply = await self._client.run(REVOKE_KEY, _keys_of(keyspace, key_id, actor_id), args)
            status = check_reply(REVOKE_KEY, reply)[0]
            require_actor(status)
        # The record decided; what is left is only the way to it.
        await self._client.call("DEL", key_pointer(record["digest"]))


def _keys_of(keyspace: Keyspace, key_id: str, actor_id: str) -> list[str]:
    return [*change_keys(keyspace, actor_id), keyspace.key(key_id), keyspace.keys]


def _record(key: ApiKey, digest: str) -> list[Value]:
    """The fields of a key's record and their values, all but created_ms."""
    fields: list[Value] = ["id", key.id, "name", key.name, "prefix", key.prefix]
    fields += ("scopes", ",".join(key.scopes), "digest", digest)
    return fields if key.expires_ms is None else [*fields, "expires_ms", key.expires_ms]


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
