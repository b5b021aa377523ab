"""Deletes what rules counted once it counts no more, so that it does not fill the store."""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence

from app.redis_client.client import Client
from app.redis_client.scripts import DROP_SPENT_COUNTS
from app.store.keyspace import Keyspace, counting_workspace

_AT_ONCE = 500
"""Keys that one command looks at; it blocks the store for a fraction of a millisecond."""
_TWO_CENTURIES_MS = 6_307_200_000_000


async def counted_keys(client: Client) -> AsyncIterator[tuple[str, Sequence[str]]]:
    """The keys in which rules count: a workspace and some of its keys, again and again until it was all of the store's.

    A key that is there from beginning to end is found at least once.
    """
    for master in (await client.masters()).values():
        cursor = -1
        while cursor:
            reply = await master.call("SCAN", max(cursor, 0), "COUNT", _AT_ONCE)
            cursor = int(reply[0])
            found = defaultdict[str, list[str]](list)
            for name in reply[1]:
                if (workspace_id := counting_workspace(name)) is not None:
                    found[workspace_id].append(name)
            for each in found.items():
                yield each


async def drop_spent_counts(client: Client, workspace_id: str, counted: Sequence[str]) -> int:
    """Delete those of the workspace's keys that counted no more at its last commit's quota time; return how many.

    The store's own expiry would not do, because it follows the server clock: if that jumped ahead for a moment, unseen
    by any commit, what still counts would be deleted.
    """
    keys = [Keyspace(workspace_id).commits, *counted]
    return int((await client.run(DROP_SPENT_COUNTS, keys, [_TWO_CENTURIES_MS]))[1])
