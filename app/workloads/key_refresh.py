"""The public keys of issuers, read by the compactor: no decision waits for an issuer."""

import asyncio
import logging
from typing import Any

import msgspec

from app.errors import ProviderUnavailable
from app.fault_isolation import failures_logged
from app.model.ids import Ids
from app.model.issuers import version_of
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record
from app.settings import Settings
from app.store.issuers import Issuers, digest_in
from app.store.keyspace import Keyspace
from app.webhooks.destinations import CheckedBackend, Lookups, Refused, destination_of

log = logging.getLogger(__name__)

REFRESH_MS = 3_600_000
"""Keys are read again after this long."""

PAUSE_MS = 60_000
"""After any attempt, the issuer is left alone for this long, whoever asks and however often."""

KEYS_BYTES = 64 * 1024


class KeyRefresh:
    """Reads the keys of every issuer that has a `jwks_uri`, and completes changes of issuers that were interrupted."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._issuers = Issuers(client, Ids())
        self._seen: dict[str, str] = {}  # digest of an issuer → version of its record in the last round; "" = unused
        self._lookups = Lookups()
        self._networks, self._allow_http = settings.webhook_private_networks, settings.webhook_http

    async def run(self, _stopped: asyncio.Event) -> None:
        """Do what is due now; a failure with one issuer stops no other."""
        seen, self._seen = self._seen, {}
        async for digest, workspace_id, name in self._issuers.owners():
            with failures_logged(log, f"look after issuer {name} of workspace {workspace_id}"):
                record = await self._client.call("HGET", Keyspace(workspace_id).issuers, name)
                is_used = record is not None and digest_in(record) == digest
                version = version_of(record) if is_used else ""
                if version != seen.get(digest):
                    # Its change or deletion may have been interrupted.
                    await self._issuers.drop_stale(workspace_id)
                elif not is_used:
                    # Not in the first round, because its record may be about to be written.
                    await self._issuers.release_unused(digest, workspace_id, name)
                self._seen[digest] = version
                if is_used:
                    await self._read_if_due(workspace_id, name, record)

    async def _read_if_due(self, workspace_id: str, name: str, record: str) -> None:
        keyspace = Keyspace(workspace_id)
        issuer = msgspec.json.decode(record)
        url = issuer.get("jwksUri")
        if url is None:
            return
        stored = as_record(await self._client.call("HGETALL", keyspace.issuer_keys(name)))
        now_ms = await store_time_ms(self._client)
        if stored and stored.get("uri") != url:  # those of a former address
            await self._client.change("DEL", keyspace.issuer_keys(name))
            stored = {}
        if "wanted" not in stored and now_ms - int(stored.get("read_ms", "0")) < REFRESH_MS:
            return
        if now_ms - int(stored.get("tried_ms", "0")) < PAUSE_MS:
            return
        await self._client.call("HSET", keyspace.issuer_keys(name), "tried_ms", now_ms, "uri", url)
        try:
            keys = await self._read(workspace_id, url)
        except (ProviderUnavailable, Refused) as error:
            log.warning("issuer %s of workspace %s: its keys cannot be read: %s", name, workspace_id, error)
            return
        await self._client.call("HDEL", keyspace.issuer_keys(name), "wanted")
        await self._client.call(
            "HSET", keyspace.issuer_keys(name), "keys", msgspec.json.encode(keys), "read_ms", now_ms, "uri", url
        )

    async def _read(self, workspace_id: str, url: str) -> list[dict[str, Any]]:
        """The keys at the URL. Raises Refused, ProviderUnavailable."""
        from app.oidc.fetching import fetch_json  # noqa: PLC0415 - only where there are issuers

        destination_of(url, allow_http=self._allow_http, networks=self._networks)
        backend = CheckedBackend(self._lookups, workspace_id, self._networks)
        answer = await fetch_json(url, backend=backend, most=KEYS_BYTES)
        keys = answer.get("keys")
        if not isinstance(keys, list):
            raise ProviderUnavailable("The answer has no list `keys`")
        return [each for each in keys if isinstance(each, dict) and not {"d", "k"} & each.keys()]
