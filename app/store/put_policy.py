"""The typed face of `lua/put_policy.lua`, and its only caller."""

import secrets
from collections.abc import Sequence

from msgspec.structs import replace

from app.model.actors import ChangedBy
from app.model.counting import rate_limit_count
from app.model.marks import MAX_SHARED_MARKS, shared_marks
from app.model.policies import Policy
from app.model.snapshots import snapshots
from app.redis_client.client import Client, Value
from app.redis_client.replies import check_reply
from app.redis_client.scripts import PUT_POLICY
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.optimistic import overtaken, require_room
from app.store.policy_keys import UNCHANGED, token_without
from app.store.policy_owners import StoredOwner, stored_owner
from app.store.policy_records import record_of


def script_keys(keyspace: Keyspace, policy: Policy, owner: StoredOwner, by: ChangedBy) -> list[str]:
    """The keys that begin those of `put_policy` and `delete_policy`."""
    return [
        *change_keys(keyspace, by.actor),
        owner.record,
        owner.tokens,
        keyspace.policy(policy.id),
        owner.policies,
        keyspace.policies,
        keyspace.commits,
        keyspace.policy_versions(policy.id),
        keyspace.marks,
    ]


async def put_policy(
    client: Client,
    workspace_id: str,
    limits: WorkspaceLimits,
    held: Policy | None,
    policy: Policy,
    dropped: Sequence[str],
    by: ChangedBy,
) -> Policy | None:
    """Store the policy and return it; None if the stored one is no longer `held`."""
    keyspace = Keyspace(workspace_id)
    owner = stored_owner(policy.owner, keyspace, limits)
    keys = [*script_keys(keyspace, policy, owner, by), *dropped]
    before, after = snapshots(held, replace(policy, version=policy.version + 1))
    keys_token = UNCHANGED
    if policy.key is not None and (held is None or held.key != policy.key):
        keys_token = await token_without(client, keyspace, owner, policy.key, policy.id)
    record = record_of(policy)
    args: list[Value] = [
        by.actor.id,
        before,
        after,
        policy.version,
        owner.token_field,
        secrets.token_hex(16),
        policy.id,
        policy.agent_id or "",
        policy.group or "",
        policy.kind.value,
        policy.name,
        record["rules"],
        policy.priority,
        record["enabled"],
        rate_limit_count(policy.rules),
        0 if held is None else rate_limit_count(held.rules),
        owner.rate_limits_max,
        owner.rules_bytes_max,
        owner.policies_max,
        limits.policies,
        by.reason,
        limits.policy_versions,
        "\n".join(shared_marks(policy) - shared_marks(held)),
        "\n".join(shared_marks(held) - shared_marks(policy)),
        MAX_SHARED_MARKS,
        policy.key or "",
        policy.agent_message or "",
        keys_token,
        record["shadow"],
    ]
    reply = await client.run(PUT_POLICY, keys, args)
    status, created_ms, updated_ms, version = check_reply(PUT_POLICY, reply)
    require_actor(status)
    require_room(status, "workspace", "policies", limits.policies)
    owner.require_room(status)
    if await overtaken(status):
        return None
    return replace(policy, created_ms=created_ms, updated_ms=updated_ms, version=version)
