"""Leases: a compactor does not touch what another one is sealing."""

from app.redis_client.client import Client
from app.redis_client.scripts import TAKE_LEASE

LEASE_MS = 5_000


async def take_lease(client: Client, lease: str, holder: str, lease_ms: int = LEASE_MS) -> bool:
    """Take or renew the lease for the given time; False if another holder has it. lease: its key.

    A lease only saves work: the script seal_segment keeps two compactors from sealing the same entries.
    """
    status = (await client.run(TAKE_LEASE, [lease], [holder, lease_ms]))[0]
    return bool(status == "held")
