"""Issuers of workload tokens, and the tokens that were admitted."""

import re
from collections.abc import AsyncIterator, Sequence
from uuid import UUID, uuid5

from msgspec import Struct, json, structs

from app.errors import AppError, IssuerNotFound, IssuerTaken
from app.model.actors import ChangedBy
from app.model.api_keys import Scope
from app.model.ids import Ids
from app.model.issuers import Issuer, IssuerFields, Keys, decode_issuer, encode_issuer, issuer_digest, version_of
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, check_reply, decoding_record, number_of
from app.redis_client.scripts import PUT_ISSUER, PUT_TOKEN
from app.store.changes import change_keys, require_actor
from app.store.keyspace import ISSUERS, Keyspace, key_pointer
from app.store.optimistic import ATTEMPTS, contended, require_room
from app.store.pointers import listed_workspaces

ISSUERS_MAX = 50
"""Issuers that a workspace may have."""

TOKENS_MAX = 10_000
"""Tokens of a workspace that count at the same time."""

TOKENS_PER_WORKLOAD = 1_000
"""Tokens of a workload that count at the same time. With one more, the one that expires first ends."""

_SUBJECT_KEPT_MS = 16 * 24 * 3_600_000
"""How long a subject's record stays after its latest token: longer than an approval can be open."""

_CHUNK = 200
_workspace_ids = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII).findall


class Admitted(Struct, frozen=True, kw_only=True):
    """A token that was verified.

    digest: SHA-256 of the token. signed: the same of what is signed in it: anyone can make a second valid signature of
    an ES256 token, and other spellings of any.
    """

    digest: str
    signed: str
    sub: str
    expires_ms: int
    scopes: Sequence[Scope]
    agents: Sequence[str]


class Issuers:
    """The issuers of a workspace. Changing or deleting one ends every token that was admitted before."""

    def __init__(self, client: Client, ids: Ids) -> None:
        self._client = client
        self._ids = ids

    async def list_all(self, workspace_id: str) -> list[Issuer]:
        """The workspace's issuers, by name."""
        records = as_record(await self._client.call("HGETALL", Keyspace(workspace_id).issuers))
        return [_decoded(name, record) for name, record in sorted(records.items())]

    async def get(self, workspace_id: str, name: str) -> tuple[Issuer, str]:
        """The issuer, and its record as text. Raises IssuerNotFound."""
        record = await self._client.call("HGET", Keyspace(workspace_id).issuers, name)
        if record is None:
            raise IssuerNotFound("No issuer has this name")
        return _decoded(name, record), record

    async def put(self, workspace_id: str, name: str, fields: IssuerFields, by: ChangedBy) -> tuple[Issuer, bool]:
        """Create or replace the issuer; return it, and True if it is new. No token admitted before counts afterwards.

        Raises IssuerTaken, also if the audience contains the id of another workspace; LimitReached.
        """
        await self._require_own(workspace_id, fields.audience)
        owner, digest = f"{workspace_id} {name}", issuer_digest(fields.issuer, fields.audience)
        await self._claim(digest, owner)
        try:
            issuer, before = await self._put(workspace_id, name, fields, by)
        except AppError:
            await self.release_unused(digest, workspace_id, name)
            raise
        await self._claim(digest, owner)  # in case it was released while the record was not written yet
        if before is not None and (old := issuer_digest(before.issuer, before.audience)) != digest:
            await self._release(old, owner)
        return issuer, before is None

    async def _put(
        self, workspace_id: str, name: str, fields: IssuerFields, by: ChangedBy
    ) -> tuple[Issuer, Issuer | None]:
        """The issuer as written, and as it was before."""
        keyspace = Keyspace(workspace_id)
        for _ in range(ATTEMPTS):
            known = await self._client.call("HGET", keyspace.issuers, name)
            before = None if known is None else _decoded(name, known)
            now_ms = await store_time_ms(self._client)
            if before is not None and _same(before, fields):
                await self.drop_stale(workspace_id)  # the last to put it may have been interrupted
                return before, before
            issuer = Issuer(
                **structs.asdict(fields),
                id=self._ids.new(now_ms) if before is None else before.id,
                name=name,
                updated_ms=now_ms,
            )
            if await self._write(workspace_id, name, known, before, issuer, by):
                if before is not None:
                    await self._client.change("DEL", keyspace.issuer_keys(name))
                    await self.drop_stale(workspace_id)
                return issuer, before
        return contended()

    async def delete(self, workspace_id: str, name: str, by: ChangedBy) -> None:
        """Delete the issuer: none of its tokens counts any more. Raises IssuerNotFound."""
        for _ in range(ATTEMPTS):
            try:
                before, known = await self.get(workspace_id, name)
            except IssuerNotFound:
                await self.drop_stale(workspace_id)  # the last to delete it may have been interrupted
                raise
            if await self._write(workspace_id, name, known, before, None, by):
                await self.drop_stale(workspace_id)
                await self._client.change("DEL", Keyspace(workspace_id).issuer_keys(name))
                await self._release(issuer_digest(before.issuer, before.audience), f"{workspace_id} {name}")
                return
        contended()

    async def of_token(self, issuer: str, audience: str) -> tuple[str, Issuer, str] | None:
        """The workspace, the issuer and its record, for tokens with this `iss` and `aud`."""
        owner = await self._client.call("HGET", ISSUERS, issuer_digest(issuer, audience))
        workspace_id, _, name = (owner or "").partition(" ")
        record = await self._client.call("HGET", Keyspace(workspace_id).issuers, name) if owner else None
        if record is None:
            return None
        found = _decoded(name, record)
        return (workspace_id, found, record) if (found.issuer, found.audience) == (issuer, audience) else None

    async def owners(self) -> AsyncIterator[tuple[str, str, str]]:
        """Yield the digest, the workspace and the name of every issuer of all workspaces."""
        for digest, owner in as_record(await self._client.call("HGETALL", ISSUERS)).items():
            workspace_id, _, name = owner.partition(" ")
            yield digest, workspace_id, name

    async def release_unused(self, digest: str, workspace_id: str, name: str) -> None:
        """Let others have the issuer and the audience of this digest, unless the issuer of this name has them."""
        record = await self._client.call("HGET", Keyspace(workspace_id).issuers, name)
        if record is None:
            await self._client.change("DEL", Keyspace(workspace_id).issuer_keys(name))
        if record is None or digest_in(record) != digest:
            await self._release(digest, f"{workspace_id} {name}")

    async def admit(self, workspace_id: str, issuer: Issuer, record: str, token: Admitted) -> bool:
        """Let the token count, from now until it expires; False if the issuer has changed. Raises LimitReached.

        If its workload has its share of tokens, the one that expires first ends.
        """
        keyspace, now_ms, version = Keyspace(workspace_id), await store_time_ms(self._client), version_of(record)
        workload_id = issuer.workload_id(token.sub)
        token_id = str(uuid5(UUID(workload_id), f"{version} {token.signed}"))
        after = {"subject": token.sub, "issuer": issuer.issuer, "name": token.sub}
        member = f"{version} {token_id} {workload_id} {token.digest} {issuer.name}"
        pointer = key_pointer(token.digest)
        # The pointer comes first: without its record, it grants nothing.
        await self._client.change("SET", pointer, f"{workspace_id} {token_id} {workload_id}", "PXAT", token.expires_ms)
        ended = ""
        for _ in range(ATTEMPTS):
            args: list[Value] = [issuer.name, record, member, now_ms, token.expires_ms, TOKENS_MAX, workload_id]
            args += (token.sub, json.encode(after), now_ms + _SUBJECT_KEPT_MS, TOKENS_PER_WORKLOAD, ended)
            args += ("id", token_id, "name", token.sub, "prefix", "eyJ", "digest", token.digest)
            args += ("scopes", ",".join(token.scopes), "expires_ms", token.expires_ms)
            args += ("root", workload_id, "workload", workload_id)
            args += ("agents", ",".join(token.agents)) if token.agents else ()
            keys = [keyspace.issuers, keyspace.key(token_id), keyspace.key(workload_id), keyspace.tokens]
            keys += (keyspace.changes, keyspace.workload_tokens(workload_id))
            keys.append(keyspace.key(ended.split(" ")[1] if ended else token_id))
            status, first = check_reply(PUT_TOKEN, await self._client.run(PUT_TOKEN, keys, args))
            if status != "crowded":
                break
            ended = first
        else:
            contended()
        if status != "done":
            await self._client.call("DEL", pointer)
        elif ended:
            await self._client.call("DEL", key_pointer(ended.split(" ")[3]))
        require_room(status, "workspace", "tokens", TOKENS_MAX)
        return bool(status == "done")

    async def drop_stale(self, workspace_id: str) -> None:
        """End every token whose issuer is gone or has changed since.

        Nothing that the workloads of an issuer that is gone have asked for can be approved any more, either.
        """
        keyspace = Keyspace(workspace_id)
        records = as_record(await self._client.call("HGETALL", keyspace.issuers))
        current = {version_of(record) for record in records.values()}
        members = await self._client.call("ZRANGE", keyspace.tokens, 0, -1)
        stale = [each for each in members if each.partition(" ")[0] not in current]
        for start in range(0, len(stale), _CHUNK):
            some = [each.split(" ") for each in stale[start : start + _CHUNK]]
            gone = [token_id for _, token_id, _, _, _ in some]
            gone += [workload_id for _, _, workload_id, _, name in some if name not in records]
            # The pointers go first: where there is none, a token is verified anew, which is how it may count again.
            for _, _, _, digest, _ in some:
                await self._client.call("DEL", key_pointer(digest))
            await self._client.change("DEL", *map(keyspace.key, gone))
            for member, (_, _, workload_id, _, _) in zip(stale[start : start + _CHUNK], some, strict=True):
                await self._client.call("ZREM", keyspace.workload_tokens(workload_id), member)
            await self._client.change("ZREM", keyspace.tokens, *stale[start : start + _CHUNK])

    async def keys_of(self, workspace_id: str, issuer: Issuer) -> Keys:
        """The public keys that were last read from the issuer's `jwks_uri`, and never those of a former one."""
        stored = as_record(await self._client.call("HGETALL", Keyspace(workspace_id).issuer_keys(issuer.name)))
        if stored.get("uri") != issuer.jwks_uri:
            return Keys()
        with decoding_record(f"The keys of issuer {issuer.name}"):
            return Keys(json.decode(stored.get("keys", "[]")), number_of(stored.get("read_ms", "0")))

    async def ask_for_keys(self, workspace_id: str, name: str) -> None:
        """Ask a compactor to read the issuer's keys again, soon."""
        await self._client.change("HSET", Keyspace(workspace_id).issuer_keys(name), "wanted", "1")

    async def _write(
        self,
        workspace_id: str,
        name: str,
        known: str | None,
        before: Issuer | None,
        after: Issuer | None,
        by: ChangedBy,
    ) -> bool:
        kind = "deleted" if after is None else "created" if before is None else "updated"
        shown = [b"" if each is None else json.encode(snapshot(each)) for each in (before, after)]
        of_id = after or before
        args: list[Value] = [by.actor.id, kind, "" if of_id is None else of_id.id, *shown, by.reason, name]
        args += (known or "", b"" if after is None else encode_issuer(after), ISSUERS_MAX)
        keyspace = Keyspace(workspace_id)
        keys = [*change_keys(keyspace, by.actor), keyspace.issuers]
        status = check_reply(PUT_ISSUER, await self._client.run(PUT_ISSUER, keys, args))[0]
        require_actor(status)
        require_room(status, "workspace", "issuers", ISSUERS_MAX)
        return bool(status == "done")

    async def _require_own(self, workspace_id: str, audience: str) -> None:
        """Raise IssuerTaken if the audience names another workspace, whose tokens nobody else may receive."""
        named = {each.lower() for each in _workspace_ids(audience)} - {workspace_id}
        if named and not named.isdisjoint((await listed_workspaces(self._client)).values()):
            raise IssuerTaken("The audience contains the id of another workspace, which alone can set it up")

    async def _claim(self, digest: str, owner: str) -> None:
        """Let no other issuer have what this digest is of. Raises IssuerTaken if one has."""
        is_free = await self._client.change("HSETNX", ISSUERS, digest, owner)
        if not is_free and await self._client.call("HGET", ISSUERS, digest) != owner:
            raise IssuerTaken("This issuer is set up with this audience already, here or in another workspace")

    async def _release(self, digest: str, owner: str) -> None:
        """Let others have this issuer with this audience."""
        if await self._client.call("HGET", ISSUERS, digest) == owner:
            await self._client.change("HDEL", ISSUERS, digest)


def digest_in(record: str) -> str:
    """The digest by which the store finds the issuer in this record."""
    issuer = _decoded("", record)
    return issuer_digest(issuer.issuer, issuer.audience)


def _same(issuer: Issuer, fields: IssuerFields) -> bool:
    """True if the issuer has these fields already: putting them again ends no token."""
    return all(getattr(issuer, name) == value for name, value in structs.asdict(fields).items())


def snapshot(issuer: Issuer) -> dict[str, object]:
    """What the trail shows of it."""
    shown = json.decode(encode_issuer(issuer))
    return {name: value for name, value in shown.items() if name not in ("id", "updated_ms")}


def _decoded(name: str, record: str) -> Issuer:
    with decoding_record(f"The record of issuer {name}"):
        return decode_issuer(record)
