"""Pinned requests: what the user asked for in a session, written once."""

from collections.abc import Callable, Sequence

from msgspec import json

from app.errors import RequestNotFound, RequestPinned
from app.model.actors import ChangedBy
from app.model.ids import Ids
from app.model.pinned_requests import SessionRequest
from app.model.sequences import session_digest
from app.model.times import rfc3339
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, check_reply, decoding_record, number_of
from app.redis_client.scripts import PIN_REQUEST
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace


class PinnedRequests:
    """The requests that are pinned for sessions of a workspace.

    macs: the MACs of a request by which it is pinned, the newest secret's first.
    """

    def __init__(self, client: Client, ids: Ids, macs: Callable[[str], Sequence[str]]) -> None:
        self._client = client
        self._ids = ids
        self._macs = macs

    async def pin(
        self, workspace_id: str, session: str, request: str, hmac: str, valid_seconds: int, by: ChangedBy
    ) -> SessionRequest:
        """Pin the request for the session, or return it as it was first pinned.

        hmac: of the request, as entries of the log have it. Raises RequestPinned if another one is pinned.
        """
        keyspace, now_ms = Keyspace(workspace_id), await store_time_ms(self._client)
        expires_ms = now_ms + valid_seconds * 1000
        record = " ".join(map(str, (now_ms, self._ids.new(now_ms), by.actor.id, len(request), hmac, expires_ms)))
        pinned = _pinned(session, record)
        keys = [*change_keys(keyspace, by.actor), keyspace.pinned(session_digest(session))]
        args: list[Value] = [by.actor.id, pinned.id, json.encode(pinned), record, expires_ms, by.reason]
        reply = await self._client.run(PIN_REQUEST, keys, [*args, *self._macs(request)])
        status, earlier = check_reply(PIN_REQUEST, reply)
        require_actor(status)
        if status == "other":
            raise RequestPinned("Another request was pinned for this session; a new request needs a new session")
        return _pinned(session, str(earlier))

    async def of(self, workspace_id: str, session: str) -> SessionRequest:
        """The request that is pinned for the session. Raises RequestNotFound."""
        keyspace = Keyspace(workspace_id)
        stored = as_record(await self._client.call("HGETALL", keyspace.pinned(session_digest(session))))
        if not stored:
            raise RequestNotFound("No request is pinned for this session, or not any more")
        return _pinned(session, next(iter(stored.values())))


def _pinned(session: str, record: str) -> SessionRequest:
    with decoding_record("A pinned request"):
        pinned_ms, id_, key_id, length, hmac, expires_ms = record.split(" ")
        times = rfc3339(number_of(pinned_ms)), rfc3339(number_of(expires_ms))
        return SessionRequest(
            id=id_,
            session=session,
            length=number_of(length),
            hmac=hmac,
            pinned_at=times[0],
            pinned_by=key_id,
            expires_at=times[1],
        )
