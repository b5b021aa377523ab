"""Read the versions of a policy, and make one current again."""

from collections.abc import AsyncIterator, Sequence

from msgspec.structs import replace

from app.errors import PolicyNotFound, PolicyVersionNotFound, VersionNotKept
from app.model.actors import ChangedBy
from app.model.changes import Change, ChangeKind
from app.model.past_states import PastState, past_policy
from app.model.policies import Policy
from app.model.snapshots import PolicyVersion
from app.redis_client.client import Client
from app.redis_client.replies import as_record
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.changes import change_of, change_time_ms
from app.store.keyspace import Keyspace
from app.store.optimistic import Versions
from app.store.policies import Policies
from app.store.policy_records import policies_of

_TOGETHER = 8


class PolicyVersions:
    """A policy's versions. They are in the trail of changes; a list has the id of each one there.

    kept: the greatest number of versions kept for a policy, including the current one.
    """

    def __init__(self, client: Client, policies: Policies, kept: int, pool: FairThreadPool) -> None:
        self._client = client
        self._policies = policies
        self._kept = kept
        self._pool = pool

    async def each(self, workspace_id: str, policy_id: str, limit: int | None = None) -> AsyncIterator[PolicyVersion]:
        """Yield the kept versions, newest first. Raises PolicyNotFound."""
        keyspace = Keyspace(workspace_id)
        most = self._kept if limit is None else min(limit, self._kept)
        policy_fields, ids = await self._client.read_snapshot(
            ("HGETALL", keyspace.policy(policy_id)), ("LRANGE", keyspace.policy_versions(policy_id), 0, most - 1)
        )
        record = as_record(policy_fields)
        if not record:
            raise PolicyNotFound("No policy has this id or key")
        (policy,) = await policies_of([record], self._pool, workspace_id)
        past = past_policy(policy)
        for start in range(0, len(ids), _TOGETHER):
            for change in await self._read(keyspace, ids[start : start + _TOGETHER]):
                if change.id != ids[0]:
                    policy = replace(policy, updated_ms=change_time_ms(change.id))
                yield PolicyVersion(policy, change)
                if change.kind is ChangeKind.CREATED:
                    return
                past.undo(change.before)
                policy = replace(await self._decoded(workspace_id, past), updated_ms=policy.updated_ms)
        if len(ids) < most:
            yield PolicyVersion(policy, None)

    async def get(self, workspace_id: str, policy_id: str, version: int) -> Policy:
        """The policy at that version. Raises PolicyNotFound, PolicyVersionNotFound, VersionNotKept."""
        newest = 0
        async for each in self.each(workspace_id, policy_id):
            newest = newest or each.policy.version
            if each.policy.version == version:
                return each.policy
        if version > newest:
            raise PolicyVersionNotFound(f"The policy is at version {newest}; there was no version {version} yet")
        raise _not_kept(version)

    async def roll_back(
        self,
        workspace_id: str,
        policy_id: str,
        version: int,
        *,
        if_match: Versions = None,
        by: ChangedBy,
    ) -> Policy:
        """Restore the policy to that version, as a new version. Raises as `get` and `Policies.update` do.

        Rate limits whose tools and window are the same in both keep their counted calls. `managed_by` stays.
        """
        past = await self.get(workspace_id, policy_id, version)

        def back(held: Policy) -> Policy:
            if held.version - version >= self._kept:  # other changes since it was read
                raise _not_kept(version)
            kept = {"created_ms": held.created_ms, "updated_ms": held.updated_ms, "managed_by": held.managed_by}
            return replace(past, version=held.version, **kept)

        return await self._policies.change(
            workspace_id,
            policy_id,
            back,
            if_match=if_match,
            by=replace(by, reason=by.reason or f"back to version {version}"),
        )

    async def _read(self, keyspace: Keyspace, ids: Sequence[str]) -> list[Change]:
        replies = await self._client.read_pipelined(("XRANGE", keyspace.changes, each, each) for each in ids)
        return [change_of(change_id, as_record(fields)) for reply in replies for change_id, fields in reply]

    async def _decoded(self, workspace_id: str, past: PastState[Policy]) -> Policy:
        if past.compiles_much():
            return await self._pool.run(workspace_id, past.get)
        return past.get()


def _not_kept(version: int) -> VersionNotKept:
    return VersionNotKept(f"Version {version} of the policy is no longer kept")
