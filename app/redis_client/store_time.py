"""The store's clock, the only one that decides."""

from app.redis_client.client import Client


async def store_time_ms(client: Client) -> int:
    """The store's clock, ms since the epoch."""
    seconds, microseconds = await client.call("TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000
