"""Workspaces: the tenants, found by name, and the keys a deployment starts with."""

import hashlib
import logging
import uuid

from app.errors import Invalid
from app.model.actors import COMMAND_LINE, ChangedBy
from app.model.api_keys import PREFIX_LENGTH, ApiKey, Scope, digest_of
from app.model.ids import Ids
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import StoreAway
from app.store.api_keys import ApiKeys
from app.store.keyspace import Keyspace, key_pointer
from app.store.placement import IDS_TRIED, placed_id
from app.store.pointers import list_workspace, listed_workspaces, pointed

log = logging.getLogger(__name__)
DEFAULT = "default"
_BY = ChangedBy(COMMAND_LINE)


async def workspace_ids(client: Client) -> list[str]:
    """The ids of all workspaces, sorted."""
    return sorted((await listed_workspaces(client)).values())


class Workspaces:
    """Workspaces have unique names; `remit:workspaces` is the only place that maps names to ids."""

    def __init__(self, client: Client, ids: Ids, keys: ApiKeys) -> None:
        self._client = client
        self._ids = ids
        self._keys = keys

    async def by_name(self) -> dict[str, str]:
        """Workspace ids by name, sorted by name."""
        return dict(sorted((await listed_workspaces(self._client)).items()))

    async def find(self, name_or_id: str) -> str:
        """The id of the workspace with this name or id. Raises Invalid naming the existing ones."""
        ids = await self.by_name()
        if name_or_id in ids.values():
            return name_or_id
        if name_or_id in ids:
            return ids[name_or_id]
        raise Invalid(f'No workspace "{name_or_id}"; there are: {", ".join(ids) or "none"}')

    async def create(self, name: str, reason: str = "", master: str | None = None) -> tuple[str, str]:
        """The id of a new workspace and its first admin key, raw. Raises Invalid if the name is taken.

        reason: for the workspace's trail, which begins with the creation of the key. master: of a cluster, the one that
        shall hold it, as host:port; None = one with the fewest workspaces. Raises Invalid if there is no such master.
        """
        workspace_id, created = await self._claim(name, master)
        if not created:
            raise Invalid(f'There is a workspace "{name}" already, {workspace_id}')
        _, raw_key = await self._keys.create(
            workspace_id, "first admin key", (Scope.ADMIN,), by=ChangedBy(COMMAND_LINE, reason)
        )
        return workspace_id, raw_key

    async def ensure_default(self, raw_key: str) -> None:
        """Ensure that workspace `default` exists with `raw_key` as an admin key; replicas may call this concurrently.

        If the masters that have these are away from a cluster, nothing is ensured: the others need this replica.
        Raises Invalid if the key already belongs to another workspace or lacks the admin scope.
        """
        try:
            await self._ensure_default(raw_key)
        except StoreAway as error:
            if not self._client.is_cluster:
                raise
            log.warning("REMIT_BOOTSTRAP_KEY and its workspace are not ensured before the next start: %s", error)

    async def _ensure_default(self, raw_key: str) -> None:
        workspace_id, _ = await self._claim(DEFAULT)
        digest = digest_of(raw_key)
        # Derived from the key, so that replicas starting together write the same record.
        key_id = str(uuid.UUID(bytes=hashlib.sha256(digest.encode()).digest()[:16], version=4))
        pointer = await pointed(self._client, key_pointer(digest))
        if pointer is not None:
            owner, _, held_id = pointer.partition(" ")
            if owner != workspace_id:
                raise Invalid("REMIT_BOOTSTRAP_KEY already belongs to another workspace")
            scopes = await self._client.call("HGET", Keyspace(owner).key(held_id), "scopes")
            if scopes is not None:
                if Scope.ADMIN not in scopes.split(","):
                    raise Invalid("REMIT_BOOTSTRAP_KEY is a key that has no admin scope")
                return
        now_ms = await store_time_ms(self._client)
        key = ApiKey(
            id=key_id,
            name="REMIT_BOOTSTRAP_KEY",
            prefix=raw_key[:PREFIX_LENGTH],
            scopes=(Scope.ADMIN,),
            created_ms=now_ms,
        )
        await self._keys.put(workspace_id, key, raw_key, by=_BY)

    async def _claim(self, name: str, master: str | None = None) -> tuple[str, bool]:
        """The id of the workspace with the name, and whether this call claimed the name.

        master: of a cluster, where its keys shall be; None = where the fewest workspaces are.
        """
        listed = await listed_workspaces(self._client)
        created, workspace_id = False, listed.get(name)
        now_ms = await store_time_ms(self._client)
        if workspace_id is None:
            ids = [self._ids.new(now_ms) for _ in range(IDS_TRIED)]
            fresh = await placed_id(self._client, ids, listed.values(), master)
            created = await list_workspace(self._client, name, fresh)
            workspace_id = fresh if created else (await listed_workspaces(self._client))[name]
        record = Keyspace(workspace_id).workspace
        # Only missing fields are written (the replica that claimed the name may have died before this): a full store
        # would refuse more, and this replica may be the one that makes room.
        if not await self._client.call("HEXISTS", record, "created_ms"):
            await self._client.call("HSETNX", record, "name", name)
            await self._client.call("HSETNX", record, "created_ms", now_ms)
        return workspace_id, created
