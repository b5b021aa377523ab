"""Leases: a compactor leaves alone what another one is sealing."""

from app.redis_client.client import Client
from app.redis_client.scripts import TAKE_LEASE

LEASE_MS = 5_000


async def take_lease(client: Client, lease: str, holder: str, lease_ms: int = LEASE_MS) -> bool:
    """Whether `holder` has the lease from now for the given time. lease: its key.

    It only saves work; what keeps two compactors from sealing the same entries is the script seal_segment.
    """
    status = (await client.run(TAKE_LEASE, [lease], [holder, lease_ms]))[0]
    return bool(status == "held")
