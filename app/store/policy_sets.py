"""Policy sets in the store: all policies of one owner, read at one moment and replaced in one step."""

from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.errors import AgentNotFound, PolicyKeyTaken, PolicyNotFound, VersionConflict
from app.model.actors import ChangedBy
from app.model.ids import Ids
from app.model.policies import WORKSPACE, Owner, Policy, evaluation_order
from app.model.policy_sets import (
    NO_VERSION,
    AppliedSet,
    KeyTaken,
    PolicyChange,
    PolicyEntry,
    PolicySet,
    UnknownPolicy,
    settle,
)
from app.redis_client.client import Client
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.optimistic import ATTEMPTS, contended
from app.store.policy_keys import NO_TOKEN
from app.store.policy_owners import StoredOwner, stored_owner
from app.store.policy_records import policies_of
from app.store.put_policies import put_policies

_encode = msgspec.json.encode


class _Stored(Struct, frozen=True):
    """The stored policies of an owner. token: None = the owner has none. version: identifies exactly these policies."""

    token: str | None
    version: str
    policies: list[Policy]


class PolicySets:
    """Whole sets of policies. Each decision sees either the previous set or the new one, never a mixture."""

    def __init__(self, client: Client, ids: Ids, limits: WorkspaceLimits, pool: FairThreadPool) -> None:
        self._client = client
        self._ids = ids
        self._limits = limits
        self._pool = pool

    async def get(self, workspace_id: str, owner: Owner = WORKSPACE) -> PolicySet:
        """The owner's policies. Raises AgentNotFound."""
        current = await self._read(workspace_id, stored_owner(owner, Keyspace(workspace_id), self._limits))
        return PolicySet(current.version, current.policies)

    async def current(self, workspace_id: str, owner: Owner) -> tuple[str, list[Policy]]:
        """The owner's version token, or NO_TOKEN, and its policies, read at one moment. Raises AgentNotFound."""
        stored = await self._read(workspace_id, stored_owner(owner, Keyspace(workspace_id), self._limits))
        return stored.token or NO_TOKEN, stored.policies

    async def put(
        self,
        workspace_id: str,
        owner: Owner,
        entries: Sequence[PolicyEntry],
        *,
        prune: bool = False,
        if_match: frozenset[str] | None = None,
        by: ChangedBy,
    ) -> AppliedSet:
        """Replace the owner's policies with the entries', all of them or none, from one decision to the next.

        Policies without an entry stay, or are deleted with `prune`. Rate limits whose tools and window stay keep their
        buckets.
        Raises AgentNotFound, PolicyNotFound (no policy of the owner has an entry's id), PolicyKeyTaken,
        VersionConflict, LimitReached.
        """
        stored = stored_owner(owner, Keyspace(workspace_id), self._limits)
        for _ in range(ATTEMPTS):
            current = await self._read(workspace_id, stored)
            version = current.version
            if if_match is not None and version not in if_match:
                message = f"The version of these policies is {version} now, and If-Match does not name it"
                raise VersionConflict(f"{message}; read them again")
            try:
                settled = partial(settle, current.policies, entries, owner, prune=prune)
                changes = await self._pool.run(workspace_id, settled)
            except UnknownPolicy as error:
                raise PolicyNotFound(f"{error.field} {error.message}") from None
            except KeyTaken as error:
                raise PolicyKeyTaken(f"{error.field}: {error.message}") from None
            if all(change.kind == "kept" for change in changes):
                return AppliedSet(PolicySet(version, current.policies), changes)
            done = await self._apply(workspace_id, stored, current, changes, by)
            if done is not None:
                return done
        return contended()

    async def _read(self, workspace_id: str, owner: StoredOwner) -> _Stored:
        keyspace = Keyspace(workspace_id)
        expected: list[str] = []
        for _ in range(ATTEMPTS):
            # Everything is read at one moment, so if these are the expected policies, the token is theirs.
            token, ids, *records = await self._client.read_snapshot(
                ("HGET", owner.tokens, owner.token_field),
                ("ZRANGE", owner.policies, 0, -1),
                *(("HGETALL", keyspace.policy(policy_id)) for policy_id in expected),
            )
            if owner.tokens == owner.record and not token:
                raise AgentNotFound("No agent has this id or alias")
            if sorted(ids) == sorted(expected):
                policies = await policies_of(map(as_record, records), self._pool, workspace_id)
                return _Stored(token, _version(owner, token, policies), evaluation_order(policies))
            expected = ids
        return contended()

    async def _apply(
        self,
        workspace_id: str,
        owner: StoredOwner,
        current: _Stored,
        changes: Sequence[PolicyChange],
        by: ChangedBy,
    ) -> AppliedSet | None:
        """Store the set and return it; None if the stored one is no longer `current`."""
        now_ms = await store_time_ms(self._client)
        named = [self._with_id(change, now_ms) for change in changes]
        expected = current.token or NO_TOKEN
        done = await put_policies(
            self._client, workspace_id, self._limits, owner, changes=named, by=by, expected=expected
        )
        if done is None:
            return None
        policies = evaluation_order(change.after for change in done.changes if change.after is not None)
        return AppliedSet(PolicySet(_version(owner, done.token, policies), policies), done.changes)

    def _with_id(self, change: PolicyChange, now_ms: int) -> PolicyChange:
        if change.before is not None or change.after is None:
            return change
        return PolicyChange(None, replace(change.after, id=self._ids.new(now_ms)))


def _version(owner: StoredOwner, token: str | None, policies: Sequence[Policy]) -> str:
    """The set's version; NO_VERSION without policies, even if shared marks give the workspace a token."""
    return token if token and (policies or owner.tokens == owner.record) else NO_VERSION
