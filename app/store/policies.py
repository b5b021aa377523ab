"""Policies: created, read, changed, deleted; each change binds every later decision."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from app.errors import Invalid, PolicyNotFound
from app.fair_pool import FairPool
from app.model.agents import group_digest
from app.model.changes import CONSOLE, snapshots
from app.model.ids import Ids
from app.model.limits import Limits
from app.model.policies import (
    MANY_PATTERNS,
    Policy,
    PolicyKind,
    PolicyRule,
    quota_fingerprints,
    rate_limit_count,
    require_owner,
)
from app.model.text import FieldError
from app.model.versions import Versions
from app.redis_client.client import Client, Value, check_reply
from app.redis_client.replies import as_record
from app.redis_client.scripts import DELETE_POLICY, PUT_POLICY
from app.redis_client.store_time import store_time_ms
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace
from app.store.optimistic import ATTEMPTS, contended, overtaken, require_room, require_version
from app.store.paging import read_page, read_records
from app.store.policy_owners import Owner, owner_of

_STEP_BYTES = 64 * 1024
_PATTERN_BYTES = 8 * 1024
"""What is decoded in one step of the loop, and what a pattern counts for: about 10 ms of the worst there can be."""

_rules_from_json = msgspec.json.Decoder(tuple[PolicyRule, ...])


class Policies:
    """The policies of a workspace. Every change replaces the version token of whom it governs in the same script."""

    def __init__(self, client: Client, ids: Ids, limits: Limits | None = None, pool: FairPool | None = None) -> None:
        self._client = client
        self._ids = ids
        self._limits = limits or Limits()
        self._pool = pool or FairPool()

    async def create(
        self,
        workspace_id: str,
        agent_id: str | None = None,
        *,
        group: str | None = None,
        kind: PolicyKind = PolicyKind.GRANT,
        name: str,
        rules: Sequence[PolicyRule],
        priority: int = 0,
        enabled: bool = True,
        actor_id: str = CONSOLE,
    ) -> Policy:
        """A new policy of an agent, of a group or, a guardrail with neither, of the whole workspace.

        Raises AgentNotFound if the workspace has no such agent, LimitReached.
        """
        policy = Policy(
            id=self._ids.new(await store_time_ms(self._client)),
            agent_id=agent_id,
            group=group,
            kind=kind,
            name=name,
            rules=tuple(rules),
            priority=priority,
            enabled=enabled,
            created_ms=0,
            updated_ms=0,
            version=0,
        )
        for _ in range(ATTEMPTS):
            made = await self._put(workspace_id, None, policy, (), actor_id)
            if made is not None:
                return made
        return contended()

    async def get(self, workspace_id: str, policy_id: str) -> Policy:
        """The policy as it is now. Raises PolicyNotFound."""
        record = as_record(await self._client.call("HGETALL", Keyspace(workspace_id).policy(policy_id)))
        if not record:
            raise PolicyNotFound("No policy has this id")
        return (await policies_of([record], self._pool, workspace_id))[0]

    async def each(
        self,
        workspace_id: str,
        agent_id: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        *,
        group: str | None = None,
        kind: PolicyKind | None = None,
    ) -> AsyncIterator[Policy]:
        """The workspace's policies, or an agent's or a group's own, in the order of evaluation, as they are read.

        No policy is both an agent's and a group's.
        """
        if agent_id is not None and group is not None:
            return
        keyspace = Keyspace(workspace_id)
        index = keyspace.policies if group is None else keyspace.group_policies(group_digest(group))
        if agent_id is not None:
            index = keyspace.agent_policies(agent_id)
        if kind is None:
            ids, skipped, left = await read_page(self._client, index, limit, offset), 0, limit
        else:  # which of them are of this kind stands in the records alone
            ids, skipped, left = await read_page(self._client, index, None, 0), offset, limit
        async for records in read_records(self._client, keyspace.policy, ids):
            wanted = [each for each in records if kind is None or _kind_of(each) is kind]
            skipped, wanted = max(0, skipped - len(wanted)), wanted[skipped:]
            for policy in await policies_of(wanted[:left], self._pool, workspace_id):
                yield policy
            left = None if left is None else left - len(wanted)
            if left is not None and left <= 0:
                return

    async def list_page(
        self, workspace_id: str, agent_id: str | None = None, limit: int | None = None, offset: int = 0
    ) -> list[Policy]:
        """The policies of the workspace, or of one agent, in the order in which they are evaluated."""
        return [policy async for policy in self.each(workspace_id, agent_id, limit, offset)]

    async def update(
        self,
        workspace_id: str,
        policy_id: str,
        *,
        kind: PolicyKind | UnsetType = UNSET,
        name: str | UnsetType = UNSET,
        rules: Sequence[PolicyRule] | UnsetType = UNSET,
        priority: int | UnsetType = UNSET,
        enabled: bool | UnsetType = UNSET,
        if_match: Versions = None,
        actor_id: str = CONSOLE,
    ) -> Policy:
        """The policy with the given fields changed; with none given, as it is.

        Raises PolicyNotFound, VersionConflict, LimitReached; Invalid if no policy of its owner can be of this kind.
        """
        for _ in range(ATTEMPTS):
            policy = await self.get(workspace_id, policy_id)
            # Good for the script too: it writes only while the version is the one that was read here.
            require_version(policy.version, if_match)
            if kind is UNSET and name is UNSET and rules is UNSET and priority is UNSET and enabled is UNSET:
                return policy
            wanted = replace(
                policy,
                kind=policy.kind if kind is UNSET else kind,
                name=policy.name if name is UNSET else name,
                rules=policy.rules if rules is UNSET else tuple(rules),
                priority=policy.priority if priority is UNSET else priority,
                enabled=policy.enabled if enabled is UNSET else enabled,
            )
            try:
                require_owner(wanted.kind, wanted.agent_id, wanted.group)
            except FieldError:
                message = "a policy for the whole workspace is a guardrail; a grant names an agent or a group"
                raise Invalid.at("$.kind", message) from None
            keyspace = Keyspace(workspace_id)
            kept = set(quota_keys(keyspace, policy_id, wanted.rules))
            dropped = [key for key in quota_keys(keyspace, policy_id, policy.rules) if key not in kept]
            changed = await self._put(workspace_id, policy, wanted, dropped, actor_id)
            if changed is not None:
                return changed
        return contended()

    async def delete(
        self, workspace_id: str, policy_id: str, *, if_match: Versions = None, actor_id: str = CONSOLE
    ) -> None:
        """The policy and its quotas are gone. Raises PolicyNotFound, VersionConflict."""
        keyspace = Keyspace(workspace_id)
        for _ in range(ATTEMPTS):
            policy = await self.get(workspace_id, policy_id)
            require_version(policy.version, if_match)
            owner = owner_of(policy, keyspace, self._limits)
            keys = [*_keys_of(keyspace, policy, owner, actor_id), *quota_keys(keyspace, policy_id, policy.rules)]
            before, _ = snapshots(policy, None)
            args: list[Value] = [actor_id, before, policy.version, owner.token_field, secrets.token_hex(16), policy_id]
            status = check_reply(DELETE_POLICY, await self._client.run(DELETE_POLICY, keys, args))[0]
            require_actor(status)
            if not await overtaken(status):
                return
        contended()

    async def _put(
        self, workspace_id: str, held: Policy | None, policy: Policy, dropped: Sequence[str], actor_id: str
    ) -> Policy | None:
        """The policy as it is stored now; None if what is stored was no longer `held`."""
        keyspace = Keyspace(workspace_id)
        owner = owner_of(policy, keyspace, self._limits)
        keys = [*_keys_of(keyspace, policy, owner, actor_id), *dropped]
        before, after = snapshots(held, replace(policy, version=policy.version + 1))
        args: list[Value] = [
            actor_id,
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
            msgspec.json.encode(policy.rules),
            policy.priority,
            int(policy.enabled),
            rate_limit_count(policy.rules),
            0 if held is None else rate_limit_count(held.rules),
            owner.rate_limits_max,
            owner.rules_bytes_max,
            owner.policies_max,
            self._limits.policies,
        ]
        reply = await self._client.run(PUT_POLICY, keys, args)
        status, created_ms, updated_ms, version = check_reply(PUT_POLICY, reply)
        require_actor(status)
        require_room(status, "workspace", "policies", self._limits.policies)
        owner.require_room(status)
        if await overtaken(status):
            return None
        return replace(policy, created_ms=created_ms, updated_ms=updated_ms, version=version)


def _kind_of(record: dict[str, str]) -> PolicyKind:
    return PolicyKind(record.get("policy_kind", PolicyKind.GRANT))


def policy_of(record: dict[str, str]) -> Policy:
    """The policy that a record holds. What was stored was valid, so this does not fail."""
    return Policy(
        id=record["id"],
        agent_id=record["agent_id"] or None,
        group=record.get("group") or None,
        kind=_kind_of(record),
        name=record["name"],
        rules=_rules_from_json.decode(record["rules"]),
        priority=int(record["priority"]),
        enabled=record["enabled"] == "1",
        created_ms=int(record["created_ms"]),
        updated_ms=int(record["updated_ms"]),
        version=int(record["version"]),
    )


async def policies_of(records: Iterable[dict[str, str]], pool: FairPool, workspace_id: str) -> list[Policy]:
    """The policies that records hold. The loop goes on meanwhile, however many patterns are to be compiled."""
    policies: list[Policy] = []
    bytes_read = 0
    for record in records:
        rules = record["rules"]
        if rules.count('"regex"') > MANY_PATTERNS:
            policies.append(await pool.run(workspace_id, policy_of, record))
            continue
        policies.append(policy_of(record))
        bytes_read += len(rules) + rules.count('"regex"') * _PATTERN_BYTES
        if bytes_read > _STEP_BYTES:
            bytes_read = 0
            await asyncio.sleep(0)
    return policies


def quota_keys(keyspace: Keyspace, policy_id: str, rules: Iterable[PolicyRule]) -> list[str]:
    """The buckets of a policy's rate limits."""
    return [keyspace.quota(policy_id, name) for name in quota_fingerprints(rules) if name is not None]


def _keys_of(keyspace: Keyspace, policy: Policy, owner: Owner, actor_id: str) -> list[str]:
    return [
        *change_keys(keyspace, actor_id),
        owner.record,
        owner.tokens,
        keyspace.policy(policy.id),
        owner.policies,
        keyspace.policies,
    ]
