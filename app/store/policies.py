"""Create, read, update and delete policies; each change applies to every later decision."""

from collections.abc import AsyncIterator, Callable

from app.errors import Invalid, PolicyNotFound
from app.model.actors import ChangedBy
from app.model.ids import Ids
from app.model.policies import (
    WORKSPACE,
    Owner,
    Policy,
    PolicyChanges,
    PolicyFields,
    PolicyKind,
    is_empty,
    new_policy,
    require_kind,
    require_owner,
    with_changes,
)
from app.model.policy_sets import PolicyChange
from app.model.text import FieldError
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.optimistic import ATTEMPTS, Versions, contended, require_version
from app.store.paging import matching_records, read_page
from app.store.policy_keys import policy_called, token_without
from app.store.policy_owners import stored_owner
from app.store.policy_records import policies_of, wanted_values
from app.store.put_policies import ANY_TOKEN, put_policies


class Policies:
    """The policies of a workspace. Every change replaces its owner's version token in the same script."""

    def __init__(self, client: Client, ids: Ids, limits: WorkspaceLimits, pool: FairThreadPool) -> None:
        self._client = client
        self._ids = ids
        self._limits = limits
        self._pool = pool

    async def create(self, workspace_id: str, owner: Owner, fields: PolicyFields, *, by: ChangedBy) -> Policy:
        """Create a policy. One of the whole workspace is a guardrail.

        Raises AgentNotFound if the workspace has no such agent, LimitReached, PolicyKeyTaken.
        """
        policy = new_policy(owner, fields, self._ids.new(await store_time_ms(self._client)))
        for _ in range(ATTEMPTS):
            made = await self._put(workspace_id, PolicyChange(None, policy), by)
            if made is not None:
                return made.policy
        return contended()

    async def id_of(self, workspace_id: str, key: str, owner: Owner = WORKSPACE) -> str:
        """The id of the owner's policy with this key. Raises PolicyNotFound."""
        keyspace = Keyspace(workspace_id)
        return await policy_called(self._client, keyspace, stored_owner(owner, keyspace, self._limits), key)

    async def get(self, workspace_id: str, policy_id: str) -> Policy:
        """The policy as it is now. Raises PolicyNotFound."""
        record = as_record(await self._client.call("HGETALL", Keyspace(workspace_id).policy(policy_id)))
        if not record:
            raise PolicyNotFound("No policy has this id or key")
        return (await policies_of([record], self._pool, workspace_id))[0]

    async def each(
        self,
        workspace_id: str,
        owner: Owner | None = None,
        limit: int | None = None,
        offset: int = 0,
        *,
        kind: PolicyKind | None = None,
        key: str | None = None,
    ) -> AsyncIterator[Policy]:
        """Yield the policies of the owner, or all of the workspace's, in evaluation order.

        No policy is owned by both an agent and a group.
        """
        if owner is not None and None not in (owner.agent_id, owner.group):
            return
        keyspace = Keyspace(workspace_id)
        index = keyspace.policies if owner is None else stored_owner(owner, keyspace, self._limits).policies
        wanted = wanted_values(kind, key)
        ids = await read_page(self._client, index, None if wanted else limit, 0 if wanted else offset)
        skipped, left = offset if wanted else 0, limit
        # Only the records have kind and key. Of one that is not wanted, nothing else is read.
        async for records in matching_records(self._client, keyspace.policy, ids, wanted):
            skipped, matches = max(0, skipped - len(records)), records[skipped:]
            for policy in await policies_of(matches[:left], self._pool, workspace_id):
                yield policy
            left = None if left is None else left - len(matches)
            if left is not None and left <= 0:
                return

    async def update(
        self,
        workspace_id: str,
        policy_id: str,
        changes: PolicyChanges,
        *,
        if_match: Versions = None,
        by: ChangedBy,
    ) -> Policy:
        """The policy with the given fields changed; with no fields given, the policy unchanged.

        Raises PolicyNotFound, VersionConflict, LimitReached, PolicyKeyTaken; Invalid if no policy of its owner can have
        this kind.
        """
        if is_empty(changes):
            policy = await self.get(workspace_id, policy_id)
            require_version(policy.version, if_match)
            return policy
        return await self.change(
            workspace_id, policy_id, lambda held: with_changes(held, changes), if_match=if_match, by=by
        )

    async def change(
        self,
        workspace_id: str,
        policy_id: str,
        make: Callable[[Policy], Policy],
        *,
        if_match: Versions = None,
        by: ChangedBy,
    ) -> Policy:
        """The policy as `make` derives it from the current one; `make` may be called again. Raises as `update` does."""
        for _ in range(ATTEMPTS):
            policy = await self.get(workspace_id, policy_id)
            # The script relies on this check: it writes only while the version is still the one read here.
            require_version(policy.version, if_match)
            changed = make(policy)
            try:
                require_owner(changed.kind, changed.owner)
            except FieldError:
                message = "a policy for the whole workspace is a guardrail; a grant names an agent or a group"
                raise Invalid.at("$.kind", message) from None
            try:
                require_kind(changed.kind, changed.mode, changed.rules)
            except FieldError as error:
                raise Invalid.at(f"$.{error.field}", error.message) from None
            made = await self._put(workspace_id, PolicyChange(policy, changed), by)
            if made is not None:
                return made.policy
        return contended()

    async def delete(self, workspace_id: str, policy_id: str, *, if_match: Versions = None, by: ChangedBy) -> Policy:
        """Delete the policy and its quotas; return it. Raises PolicyNotFound, VersionConflict."""
        for _ in range(ATTEMPTS):
            policy = await self.get(workspace_id, policy_id)
            require_version(policy.version, if_match)
            if await self._put(workspace_id, PolicyChange(policy, None), by) is not None:
                return policy
        return contended()

    async def _put(self, workspace_id: str, change: PolicyChange, by: ChangedBy) -> PolicyChange | None:
        """The change as it was made; None if the stored policy is no longer the one before it."""
        keyspace, policy = Keyspace(workspace_id), change.policy
        owner = stored_owner(policy.owner, keyspace, self._limits)
        expected = ANY_TOKEN
        if change.after and policy.key is not None and policy.key != (change.before and change.before.key):
            expected = await token_without(self._client, keyspace, owner, policy.key, policy.id)
        done = await put_policies(
            self._client, workspace_id, self._limits, owner, changes=[change], by=by, expected=expected
        )
        return None if done is None else done.changes[0]
