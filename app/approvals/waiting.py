"""What waits for people: approvals, and policy reviews; how many in all workspaces together, and for how long."""

import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from app.model.approvals import ApprovalStatus
from app.model.ids import time_ms_of, uuid_of
from app.model.policy_reviews import id_of_waiting
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.runtime.fairness.loop_turns import take_turn
from app.runtime.kept_reading import KeptReading
from app.store.keyspace import Keyspace, keyspace_of
from app.store.workspaces import workspace_ids

FRESH_SECONDS = 15.0
_AT_ONCE = 64


class Waiting(Struct, frozen=True):
    """How many approvals and policy reviews wait, and the seconds since the oldest of each was asked for; 0 = none.

    A review that is stale counts until somebody looks at the list of reviews.
    """

    approvals: int = 0
    oldest_seconds: float = 0.0
    reviews: int = 0
    oldest_review_seconds: float = 0.0


class WaitingWatch:
    """Looks through what waits in all workspaces, every few seconds at most."""

    def __init__(self, client: Client, now: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self.look = KeptReading(self._count, FRESH_SECONDS, now)
        """What waits, as it was at most FRESH_SECONDS ago. Raises StoreUnavailable."""

    async def _count(self) -> Waiting:
        now_ms = await store_time_ms(self._client)
        approvals, reviews = list[str](), list[str]()
        keyspaces = [keyspace_of(each) for each in await workspace_ids(self._client)]
        found = await self._client.read_each(_open(each.approvals_open, now_ms) for each in keyspaces)
        for keyspace, ids in zip(keyspaces, found, strict=True):
            approvals += await _pending(self._client, keyspace, ids or ())
        found = await self._client.read_each(_open(each.policy_reviews_waiting, now_ms) for each in keyspaces)
        for ids in found:
            reviews += filter(uuid_of, map(id_of_waiting, ids or ()))
        oldest_ms, oldest_review_ms = (min([now_ms, *map(time_ms_of, ids)]) for ids in (approvals, reviews))
        return Waiting(len(approvals), (now_ms - oldest_ms) / 1000, len(reviews), (now_ms - oldest_review_ms) / 1000)


async def pending_ids(client: Client, keyspace: Keyspace, opened: str, now_ms: int) -> list[str]:
    """Ids of those that wait, of the approvals in the key `opened`, the oldest first."""
    return sorted(await _pending(client, keyspace, await client.call_bytes(*_open(opened, now_ms))))


def _open(name: str, now_ms: int) -> tuple[str, ...]:
    """The command that finds those that have not expired; approvals that were approved and not used are among them."""
    return "ZRANGE", name, f"({now_ms}", "+inf", "BYSCORE"


async def _pending(client: Client, keyspace: Keyspace, opened: Sequence[bytes]) -> list[str]:
    """Those that wait, of the open ones."""
    pending: list[str] = []
    for start in range(0, len(opened), _AT_ONCE):
        some = [each.decode(errors="replace") for each in opened[start : start + _AT_ONCE]]
        statuses = await client.read_pipelined([("HGET", keyspace.approval(each), "status") for each in some])
        pending += [each for each, status in zip(some, statuses, strict=True) if status == ApprovalStatus.PENDING]
        await take_turn()
    return pending
