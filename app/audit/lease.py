"""Leases: a compactor leaves alone what another is sealing."""

from app.redis_client.client import Client
from app.redis_client.scripts import TAKE_LEASE
from app.store.keyspace import Keyspace

LEASE_MS = 5_000


async def take_lease(client: Client, workspace_id: str, holder: str) -> bool:
    """Whether `holder` has the workspace's lease, for five seconds from now.

    It saves work and makes nothing right: what keeps two from sealing the same is seal_segment.
    """
    status = (await client.run(TAKE_LEASE, [Keyspace(workspace_id).audit_lease], [holder, LEASE_MS]))[0]
    return bool(status == "held")
