"""Sessions: made by signing in, listed, ended."""

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

from msgspec import json

from app.errors import SessionNotFound, Unauthorized
from app.model.actors import COMMAND_LINE, Actor, ActorKind, ChangedBy, Via
from app.model.api_keys import Scope, digest_of
from app.model.ids import Ids
from app.model.sign_ins import (
    CHOICE_SECONDS,
    CODE_SECONDS,
    ID_TOKEN_USED_S,
    IDLE_MS,
    LONGEST_MS,
    Identity,
    SignIn,
    SignOut,
    WaitingSignIn,
    new_code,
    new_session_token,
)
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import ForeignData, as_record, check_reply, decoding_record, number_of, number_or_none
from app.redis_client.scripts import NOTE_SIGN_OUT, PUT_SIGN_IN
from app.store.changes import require_actor
from app.store.keyspace import Keyspace, code_pointer, key_pointer, used_token, waiting_sign_in
from app.store.optimistic import ATTEMPTS, contended, require_room
from app.store.paging import read_records
from app.store.pointers import point, unpoint
from app.store.revocations import Revoked, revoke_record

SESSIONS_MAX = 10_000
"""Sessions that a workspace may have, including those that have ended early, until the end they could have had."""

SESSIONS_PER_KEY = 100
"""Sessions made from one API key that may be in use."""

_FOR_GOOD = 2**53
"""When a session of the provider was signed out: it does not begin again, so no later token of it counts."""


class SignIns:
    """The sessions of a workspace. Each is the record of an API key, so whatever checks keys also checks sessions."""

    def __init__(self, client: Client, ids: Ids, idle_ms: int = IDLE_MS) -> None:
        self._idle_ms = idle_ms
        self._client = client
        self._ids = ids

    async def create(self, workspace_id: str, identity: Identity, via: Via) -> tuple[SignIn, str]:
        """Create a session; return it and its token, which is stored nowhere.

        A session made from a key ends with it, at the latest. Raises Unauthorized if the key is gone, or the person has
        signed out meanwhile; LimitReached.
        """
        keyspace = Keyspace(workspace_id)
        for _ in range(ATTEMPTS):
            maker = as_record(await self._client.call("HGETALL", keyspace.key(identity.key_id)))
            now_ms = await store_time_ms(self._client)
            ends_ms = min(now_ms + LONGEST_MS, number_or_none(maker.get("expires_ms")) or now_ms + LONGEST_MS)
            session = SignIn(
                id=self._ids.new(now_ms),
                name=identity.name,
                scopes=identity.scopes,
                created_ms=now_ms,
                expires_ms=min(now_ms + self._idle_ms, ends_ms),
                ends_ms=ends_ms,
                via=via,
                key_id=identity.key_id,
                person=identity.person,
                groups=identity.groups,
                issuer=identity.issuer,
                sid=identity.sid,
                authenticated_s=identity.authenticated_s,
                id_token=identity.id_token,
                address=identity.address,
            )
            known, token = maker.get("sign_ins", ""), new_session_token()
            in_use = await self._in_use(keyspace, known.split(), now_ms)
            require_room("full" if len(in_use) >= SESSIONS_PER_KEY else "", "API key", "sessions", SESSIONS_PER_KEY)
            actor = (identity.key_id, "")
            if not identity.key_id:
                actor = (identity.person, identity.name) if identity.person else (COMMAND_LINE.id, COMMAND_LINE.name)
            args: list[Value] = [actor[0], json.encode(session.snapshot), session.id, now_ms, ends_ms]
            args += (SESSIONS_MAX, known, " ".join([*in_use, session.id]), actor[1])
            args += (identity.issued_s if identity.person else "",)
            args += _record(workspace_id, session, digest_of(token), maker, self._idle_ms)
            # The pointer comes first: without its record, it grants nothing.
            pointer = key_pointer(digest_of(token))
            await point(self._client, pointer, f"{workspace_id} {session.id}", "PXAT", ends_ms)
            keys = [keyspace.key(identity.key_id), keyspace.changes, keyspace.key(session.id), keyspace.sign_ins]
            keys += _sign_outs(keyspace, identity.person, identity.sid)
            status = check_reply(PUT_SIGN_IN, await self._client.run(PUT_SIGN_IN, keys, args))[0]
            if status == "done":
                if session.person and session.address:
                    newest = keyspace.addressed(digest_of(session.address))
                    await self._client.change("SET", newest, session.id, "PXAT", ends_ms)
                return session, token
            await unpoint(self._client, pointer)
            require_actor(status)
            if status == "signed_out":
                raise Unauthorized("You have signed out at the identity provider meanwhile; sign in again")
            require_room(status, "workspace", "sessions", SESSIONS_MAX)
        return contended()

    async def get(self, workspace_id: str, session_id: str) -> SignIn | None:
        """The session with this id; None if there is none, which is so for an API key."""
        record = as_record(await self._client.call("HGETALL", Keyspace(workspace_id).key(session_id)))
        return session_of(record) if "ends_ms" in record else None

    async def of_address(self, workspace_id: str, address: str) -> SignIn | None:
        """The newest session of the person with this verified mail address; None if it has ended, or was signed out.

        It counts until it ends in any case, also while it is idle.
        """
        keyspace, now_ms = Keyspace(workspace_id), await store_time_ms(self._client)
        session_id = await self._client.call("GET", keyspace.addressed(digest_of(address.lower())))
        session = None if session_id is None else await self.get(workspace_id, session_id)
        counts = session is not None and session.address == address.lower() and now_ms < session.ends_ms
        return session if counts else None

    async def each(
        self, workspace_id: str, limit: int | None = None, offset: int = 0, *, skip_unreadable: bool = False
    ) -> AsyncIterator[SignIn]:
        """Yield the sessions that have not ended, those first that end first. An unreadable one counts as none."""
        keyspace, now_ms = Keyspace(workspace_id), await store_time_ms(self._client)
        ids = await self._client.call("ZRANGE", keyspace.sign_ins, f"({now_ms}", "+inf", "BYSCORE")
        # Only their records say which of these have ended early, so all before a page are read.
        found, last = 0, None if limit is None else offset + limit
        async for records in read_records(self._client, keyspace.key, ids):
            for record in records:
                try:
                    if now_ms < (session := session_of(record)).expires_ms:
                        found += 1
                        if found > offset:
                            yield session
                        if found == last:
                            return
                except ForeignData:
                    if not skip_unreadable:
                        raise

    async def end(self, workspace_id: str, session_id: str, *, by: ChangedBy) -> None:
        """End the session: its token authenticates no request sent from now on. Raises SessionNotFound."""
        keyspace = Keyspace(workspace_id)
        for _ in range(ATTEMPTS):
            record = as_record(await self._client.call("HGETALL", keyspace.key(session_id)))
            if "ends_ms" not in record:
                raise SessionNotFound("No session has this id, or it has ended")
            before = json.encode(session_of(record).snapshot)
            revoked = Revoked("session", keyspace.sign_ins, before)
            if await revoke_record(self._client, keyspace, record, revoked, by):
                return
        contended()

    async def sign_out_once(self, workspace_ids: Iterable[str], who: SignOut) -> bool:
        """End their sessions in these workspaces; False if the same message has done so before.

        No sign-in of theirs is completed with what the provider said until then. If this is interrupted, the message
        can be sent again.
        """
        if await self._client.call("GET", used_token(digest_of(who.token))) is not None:
            return False
        for each in workspace_ids:
            await self._sign_out(each, who)
        await self._first_seen(who.token, who.remembered_s)
        return True

    async def _sign_out(self, workspace_id: str, who: SignOut) -> None:
        keyspace, person, sid = Keyspace(workspace_id), who.person, who.sid
        # First the note, then the list: a session that is created meanwhile is in the list, or finds the note.
        note = keyspace.signed_out(_digest_of(person, sid))
        await self._client.run(NOTE_SIGN_OUT, [note], [_FOR_GOOD if sid else who.at_s, ID_TOKEN_USED_S])
        async for session in self.each(workspace_id, skip_unreadable=True):
            if session.person and person in ("", session.person) and sid in ("", session.sid):
                actor = Actor(session.id, session.name, ActorKind.KEY)  # the trail says that each was ended by itself
                with suppress(SessionNotFound, Unauthorized):  # it has ended meanwhile
                    await self.end(workspace_id, session.id, by=ChangedBy(actor, "signed out at the identity provider"))

    async def use_id_token(self, issuer: str, token: str) -> bool:
        """True if this ID token has not been used; from now on, no program can present it."""
        # Without its signature, which can be written in several ways.
        return await self._first_seen(f"{issuer} {token.rpartition('.')[0]}", ID_TOKEN_USED_S)

    async def use_flow(self, state: str) -> bool:
        """True if the answer to this state is the first one: each gets one request to the identity provider."""
        return await self._first_seen(f"state {state}", CHOICE_SECONDS)

    async def _first_seen(self, token: str, seconds: int) -> bool:
        """True if nothing that works once has been used under this name; it is then remembered so long."""
        key = used_token(digest_of(token))
        return await self._client.change("SET", key, "1", "NX", "EX", max(1, seconds)) is not None

    async def ask_workspace(self, waiting: WaitingSignIn) -> str:
        """A one-time code with which the person can choose a workspace, within ten minutes."""
        code = new_code()
        await self._client.change("SET", waiting_sign_in(digest_of(code)), json.encode(waiting), "EX", CHOICE_SECONDS)
        return code

    async def take_waiting(self, code: str) -> WaitingSignIn | None:
        """What waits for the choice, once; None if the code is unknown, used or too old."""
        value = await self._client.change("GETDEL", waiting_sign_in(digest_of(code)))
        with decoding_record("A sign-in that waits for a workspace"):
            return None if value is None else json.decode(value, type=WaitingSignIn)

    async def new_code(self, workspace_id: str, name: str, scopes: tuple[Scope, ...]) -> str:
        """A one-time code with which one session of this name and with these scopes can be made, within a minute."""
        code = new_code()
        value = " ".join([workspace_id, ",".join(scopes), name])
        await self._client.change("SET", code_pointer(digest_of(code)), value, "EX", CODE_SECONDS)
        return code

    async def redeem(self, code: str) -> tuple[str, Identity] | None:
        """The workspace and the identity that the code stands for, once; None if it is unknown, used or too old."""
        value = await self._client.change("GETDEL", code_pointer(digest_of(code)))
        if value is None:
            return None
        workspace_id, scopes, name = value.split(" ", 2)
        with decoding_record("A one-time code"):
            return workspace_id, Identity(name=name, scopes=tuple(map(Scope, scopes.split(","))))

    async def _in_use(self, keyspace: Keyspace, ids: list[str], now_ms: int) -> list[str]:
        """Those of the sessions that have not ended."""
        replies = await self._client.read_pipelined([("HGET", keyspace.key(each), "expires_ms") for each in ids])
        return [each for each, ends in zip(ids, replies, strict=True) if ends is not None and now_ms < int(ends)]


def _sign_outs(keyspace: Keyspace, person: str, sid: str) -> list[str]:
    """The keys with sign-outs that end this person's sign-in in this session of the provider; none without a person."""
    each = [(person, ""), *([(person, sid), ("", sid)] if sid else [])] if person else []
    return [keyspace.signed_out(_digest_of(*one)) for one in each]


def _digest_of(person: str, sid: str) -> str:
    return digest_of(f"{person} {sid}")


def session_of(record: dict[str, str]) -> SignIn:
    """The session in this record."""
    with decoding_record(f"The record of session {record.get('id', '')}"):
        return SignIn(
            id=record["id"],
            name=record["name"],
            scopes=tuple(Scope(scope) for scope in record["scopes"].split(",")),
            created_ms=number_of(record["created_ms"]),
            expires_ms=number_of(record["expires_ms"]),
            ends_ms=number_of(record["ends_ms"]),
            via=Via(record["via"]),
            key_id=record.get("key_id", ""),
            person=record.get("person", ""),
            groups=tuple(filter(None, record.get("groups", "").split("\n"))),
            issuer=record.get("issuer", ""),
            sid=record.get("sid", ""),
            authenticated_s=number_or_none(record.get("authenticated_s")),
            id_token=record.get("id_token", ""),
            address=record.get("address", ""),
            last_used_ms=number_or_none(record.get("last_used_ms")),
        )


def _record(workspace_id: str, session: SignIn, digest: str, maker: dict[str, str], idle_ms: int) -> list[Value]:
    """The session's record as fields and values, without created_ms. Its root is its own or its key's."""
    fields: list[Value] = ["id", session.id, "name", session.name, "prefix", "ses_", "digest", digest]
    fields += ("scopes", ",".join(session.scopes), "expires_ms", session.expires_ms)
    fields += ("ends_ms", session.ends_ms, "idle_ms", idle_ms, "via", session.via)
    fields += ("root", session.root(workspace_id) or maker.get("root", session.key_id))
    if session.key_id:
        fields += ("key_id", session.key_id, *(("made_by", maker["made_by"]) if "made_by" in maker else ()))
    if session.person:
        fields += ("person", session.person, "groups", "\n".join(session.groups))
        fields += ("issuer", session.issuer, "sid", session.sid)
        fields += ("id_token", session.id_token) if session.id_token else ()
        fields += ("address", session.address) if session.address else ()
    if session.authenticated_s is not None:
        fields += ("authenticated_s", session.authenticated_s)
    return fields
