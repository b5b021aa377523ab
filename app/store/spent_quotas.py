"""Deletes rate-limit buckets that no longer count anything, so that unused quotas do not fill the store."""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from app.model.rules import may_count
from app.redis_client.client import Client, Value
from app.redis_client.scripts import DROP_SPENT_QUOTAS
from app.store.keyspace import Keyspace
from app.store.paging import read_page, read_records
from app.store.policy_records import policy_of, quota_keys, shadow_quota_keys


async def drop_spent_quotas(client: Client, workspace_id: str) -> int:
    """Delete the workspace's buckets whose windows ended before its last commit's quota time; return how many.

    The store's own expiry would not do: it follows the server clock. If that jumped ahead for a moment, unseen by any
    commit, buckets that still count would be deleted.
    """
    keyspace = Keyspace(workspace_id)
    dropped = 0
    ids = await read_page(client, keyspace.policies, None, 0)
    async for records in read_records(client, keyspace.policy, ids):
        buckets = [bucket for record in records for bucket in _buckets_of(keyspace, record)]
        if buckets:
            keys, args = [keyspace.commits], list[Value]()
            for key, window_us in buckets:
                keys.append(key)
                args.append(window_us)
            dropped += int((await client.run(DROP_SPENT_QUOTAS, keys, args))[1])
    return dropped


def _buckets_of(keyspace: Keyspace, record: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The buckets of a policy's limits with their windows in us; empty if only a newer release can read the policy.

    Buckets per value are left out, as there may be very many; those expire in the store.
    """
    if not may_count(record["rules"]):
        return
    try:
        rules = policy_of(record).rules
    except msgspec.ValidationError:
        return
    limits = [limit for rule in rules if (limit := rule.limit) is not None]
    for names in (quota_keys, shadow_quota_keys):
        for key, limit in zip(names(keyspace, record["id"], rules), limits, strict=True):
            if limit.per is UNSET:
                yield key, limit.window_seconds * 1_000_000
