"""Whether decisions can be made now."""

from app.store.client import Client
from app.store.keyspace import READINESS_PROBE
from app.store.scripts import SCRIPTS


async def require_ready(client: Client) -> None:
    """The store takes writes and knows every script; those that it has lost are loaded again.

    Raises StoreUnavailable with the code of the store's refusal: READONLY, OOM, MISCONF, NOREPLICAS, LOADING.
    """
    # A write command that writes nothing, since the key never exists: the store refuses it whenever it would
    # refuse a commit, and neither memory nor disk notices.
    await client.call("SET", READINESS_PROBE, "", "XX")
    replies = await client.call_each("SCRIPT", "EXISTS", *(script.sha for script in SCRIPTS))
    for script, *known in zip(SCRIPTS, *replies, strict=True):
        if not all(known):
            await client.call_each("SCRIPT", "LOAD", script.text)
