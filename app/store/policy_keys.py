"""Policy keys: each is unique among the policies of one owner.

There is no index: the keys are in the policies' records, which do not change while their owner's version token stays.
"""

from app.errors import PolicyKeyTaken, PolicyNotFound
from app.redis_client.client import Client
from app.store.keyspace import Keyspace
from app.store.optimistic import ATTEMPTS, contended
from app.store.policy_owners import StoredOwner

NO_TOKEN = "0"  # noqa: S105 - in place of the token of an owner without policies


async def token_without(client: Client, keyspace: Keyspace, owner: StoredOwner, key: str, policy_id: str) -> str:
    """The owner's version token, read when no other policy of the owner has the key. Raises PolicyKeyTaken."""
    token, keys = await _read(client, keyspace, owner)
    if any(other_key == key and other_id != policy_id for other_id, other_key in keys.items()):
        raise PolicyKeyTaken(f'Another policy of the {owner.name} has the key "{key}"; choose another')
    return token


async def policy_called(client: Client, keyspace: Keyspace, owner: StoredOwner, key: str) -> str:
    """The id of the owner's policy with this key. Raises PolicyNotFound."""
    _, keys = await _read(client, keyspace, owner)
    for policy_id, policy_key in keys.items():
        if policy_key == key:
            return policy_id
    raise PolicyNotFound("No policy has this id or key")


async def _read(client: Client, keyspace: Keyspace, owner: StoredOwner) -> tuple[str, dict[str, str | None]]:
    """The owner's version token and the key of each of its policies, read at one moment."""
    expected: list[str] = []
    for _ in range(ATTEMPTS):
        token, ids, *keys = await client.read_snapshot(
            ("HGET", owner.tokens, owner.token_field),
            ("ZRANGE", owner.policies, 0, -1),
            *(("HGET", keyspace.policy(policy_id), "key") for policy_id in expected),
        )
        if sorted(ids) == sorted(expected):
            return token or NO_TOKEN, dict(zip(expected, keys, strict=True))
        expected = ids
    return contended()
