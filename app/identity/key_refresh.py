"""The public keys of issuers, read by the compactor: no decision waits for an issuer."""

import asyncio
import logging
import random
from collections import Counter
from typing import Any

import msgspec

from app.errors import ProviderUnavailable
from app.model.ids import Ids
from app.model.issuers import version_of
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record
from app.runtime.fault_isolation import failures_logged
from app.settings import Settings
from app.store.issuers import Issuers, digest_in
from app.store.keyspace import Keyspace
from app.webhooks.destinations import CheckedBackend, Lookups, Refused, destination_of

log = logging.getLogger(__name__)

REFRESH_MS = 3_600_000
"""Keys are read again after this long."""

PAUSE_MS = 60_000
"""After any attempt, the issuer is left alone for this long, however often its keys are needed."""

KEYS_BYTES = 64 * 1024
_AT_ONCE, _OF_WORKSPACE = 256, 8
"""Issuers that are asked at once, and of one workspace in one round; its others come in the next rounds."""


class KeyRefresh:
    """Reads the keys of every issuer that has a `jwks_uri`, and completes changes of issuers that were interrupted."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._issuers = Issuers(client, Ids())
        self._seen: dict[str, str] = {}  # digest of an issuer → version of its record in the last round; "" = unused
        self._lookups = Lookups()
        self._networks, self._allow_http = settings.webhook_private_networks, settings.webhook_http

    async def run(self, _stopped: asyncio.Event) -> None:
        """Do what is due now. An issuer that fails stops no other; one that does not answer is given up after seconds.

        The order differs each time, so that issuers that never answer do not keep others of their workspace out.
        """
        seen, self._seen = self._seen, {}
        begun, room = Counter[str](), asyncio.Semaphore(_AT_ONCE)
        owners = [each async for each in self._issuers.owners()]
        random.shuffle(owners)
        async with asyncio.TaskGroup() as reading:
            for digest, workspace_id, name in owners:
                with failures_logged(log, f"look after issuer {name} of workspace {workspace_id}"):
                    url = await self._tidied(digest, workspace_id, name, seen.get(digest))
                    has_room = begun[workspace_id] < _OF_WORKSPACE
                    if url is not None and has_room and await self._begin(workspace_id, name, url):
                        begun[workspace_id] += 1
                        reading.create_task(self._read(workspace_id, name, url, room))

    async def _tidied(self, digest: str, workspace_id: str, name: str, seen: str | None) -> str | None:
        """Where the issuer's keys are, if it has an address; a change or deletion of it is completed first.

        seen: the version of its record in the last round.
        """
        record = await self._client.call("HGET", Keyspace(workspace_id).issuers, name)
        is_used = record is not None and digest_in(record) == digest
        version = version_of(record) if is_used else ""
        if version != seen:
            # Its change or deletion may have been interrupted.
            await self._issuers.drop_stale(workspace_id)
        elif not is_used:
            # Not in the first round, because its record may be about to be written.
            await self._issuers.release_unused(digest, workspace_id, name)
        self._seen[digest] = version
        url: str | None = msgspec.json.decode(record).get("jwksUri") if is_used else None
        return url

    async def _begin(self, workspace_id: str, name: str, url: str) -> bool:
        """True if the keys are due, and noted as being read."""
        kept = Keyspace(workspace_id).issuer_keys(name)
        stored = as_record(await self._client.call("HGETALL", kept))
        now_ms = await store_time_ms(self._client)
        if stored and stored.get("uri") != url:  # those of a former address
            await self._client.change("DEL", kept)
            stored = {}
        if "wanted" not in stored and now_ms - int(stored.get("read_ms", "0")) < REFRESH_MS:
            return False
        if now_ms - int(stored.get("tried_ms", "0")) < PAUSE_MS:
            return False
        await self._client.call("HSET", kept, "tried_ms", now_ms, "uri", url)
        return True

    async def _read(self, workspace_id: str, name: str, url: str, room: asyncio.Semaphore) -> None:
        """Keep the issuer's keys, as it publishes them now."""
        keyspace = Keyspace(workspace_id)
        kept = keyspace.issuer_keys(name)
        with failures_logged(log, f"keep the keys of issuer {name} of workspace {workspace_id}"):
            try:
                async with room:
                    now_ms = await store_time_ms(self._client)
                    keys = await self._published(workspace_id, url)
            except (ProviderUnavailable, Refused) as error:
                log.warning("issuer %s of workspace %s: its keys cannot be read: %s", name, workspace_id, error)
            else:
                await self._client.call("HDEL", kept, "wanted")
                await self._client.call("HSET", kept, "keys", msgspec.json.encode(keys), "read_ms", now_ms, "uri", url)
            if await self._client.call("HGET", keyspace.issuers, name) is None:  # deleted while it was asked
                await self._client.change("DEL", kept)

    async def _published(self, workspace_id: str, url: str) -> list[dict[str, Any]]:
        """The keys at the URL. Raises Refused, ProviderUnavailable."""
        from app.identity.fetching import fetch_json  # noqa: PLC0415 - only where there are issuers

        destination_of(url, allow_http=self._allow_http, networks=self._networks)
        backend = CheckedBackend(self._lookups, workspace_id, self._networks)
        answer = await fetch_json(url, backend=backend, most=KEYS_BYTES)
        keys = answer.get("keys")
        if not isinstance(keys, list):
            raise ProviderUnavailable("The answer has no list `keys`")
        return [each for each in keys if isinstance(each, dict) and not {"d", "k"} & each.keys()]
