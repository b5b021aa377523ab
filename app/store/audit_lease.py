"""Leases: a compactor leaves alone what another is sealing."""

from app.store.client import Client
from app.store.keyspace import Keyspace
from app.store.scripts import TAKE_LEASE

LEASE_MS = 5_000


async def take_lease(client: Client, workspace_id: str, holder: str) -> bool:
    """Whether `holder` has the workspace's lease, for five seconds from now.

    It saves work and makes nothing right: what keeps two from sealing the same is seal_segment.
    """
    status = (await client.run(TAKE_LEASE, [Keyspace(workspace_id).audit_lease], [holder, LEASE_MS]))[0]
    return bool(status == "held")
