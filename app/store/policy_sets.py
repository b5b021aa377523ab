"""Policy sets in the store: all policies of one owner, read at one moment and replaced in one step."""

import secrets
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.errors import AgentNotFound, PolicyKeyTaken, PolicyNotFound, VersionConflict
from app.fairness.thread_pool import FairThreadPool
from app.model.actors import ChangedBy
from app.model.counting import rate_limit_count
from app.model.ids import Ids
from app.model.marks import MAX_SHARED_MARKS, shared_marks
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
from app.model.snapshots import snapshots
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import as_record, check_reply
from app.redis_client.scripts import PUT_POLICIES
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.optimistic import ATTEMPTS, contended, overtaken, require_room
from app.store.policy_owners import StoredOwner, stored_owner
from app.store.policy_records import bucket_keys, policies_of, record_of, totals_of

_encode = msgspec.json.encode


class _Stored(Struct, frozen=True):
    """The stored policies of an owner.

    token: "" = there is none. version: identifies exactly these policies.
    counted: the rate limits and bytes of each, from its record.
    """

    token: str
    version: str
    policies: list[Policy]
    counted: Mapping[str, tuple[int, int]]


class PolicySets:
    """Whole sets of policies. Each decision sees either the previous set or the new one, never a mixture."""

    def __init__(self, client: Client, ids: Ids, limits: WorkspaceLimits, pool: FairThreadPool) -> None:
        self._client = client
        self._ids = ids
        self._limits = limits
        self._pool = pool

    async def get(self, workspace_id: str, owner: Owner = WORKSPACE) -> PolicySet:
        """The owner's policies. Raises AgentNotFound."""
        held = await self._read(workspace_id, stored_owner(owner, Keyspace(workspace_id), self._limits))
        return PolicySet(held.version, held.policies)

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
            held = await self._read(workspace_id, stored)
            version = held.version
            if if_match is not None and version not in if_match:
                message = f"The version of these policies is {version} now, and If-Match does not name it"
                raise VersionConflict(f"{message}; read them again")
            try:
                settled = partial(settle, held.policies, entries, owner, prune=prune)
                changes = await self._pool.run(workspace_id, settled)
            except UnknownPolicy as error:
                raise PolicyNotFound(f"{error.field} {error.message}") from None
            except KeyTaken as error:
                raise PolicyKeyTaken(f"{error.field}: {error.message}") from None
            if all(change.kind == "kept" for change in changes):
                return AppliedSet(PolicySet(version, held.policies), changes)
            done = await self._apply(workspace_id, stored, held, changes, by)
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
                found = list(map(as_record, records))
                policies = await policies_of(found, self._pool, workspace_id)
                counted = {each["id"]: totals_of(each) for each in found}
                return _Stored(token or "", _version(owner, token, policies), evaluation_order(policies), counted)
            expected = ids
        return contended()

    async def _apply(
        self,
        workspace_id: str,
        owner: StoredOwner,
        held: _Stored,
        changes: Sequence[PolicyChange],
        by: ChangedBy,
    ) -> AppliedSet | None:
        """Store the set and return it; None if the stored one is no longer `held`."""
        keyspace = Keyspace(workspace_id)
        now_ms = await store_time_ms(self._client)
        named = [self._with_id(change, now_ms) for change in changes]
        changed = [change for change in named if change.kind != "kept"]
        rate_limits, rules_bytes = self._require_room(owner, held, named)
        token = secrets.token_hex(16)
        keys = [*change_keys(keyspace, by.actor), owner.record, owner.tokens, owner.policies, keyspace.policies]
        keys += [keyspace.commits, keyspace.marks, *(keyspace.policy(change.policy.id) for change in changed)]
        keys += [keyspace.policy_versions(change.policy.id) for change in changed]
        keys += [name for change in changed for name in _dropped(keyspace, change)]
        args: list[Value] = [by.actor.id, owner.token_field, held.token, token, rate_limits, rules_bytes]
        args += [self._limits.policies, len(changed), by.reason, self._limits.policy_versions]
        args += [*_marks(changed), MAX_SHARED_MARKS]
        for change in changed:
            args += _parts(change)
        status, done_ms = check_reply(PUT_POLICIES, await self._client.run(PUT_POLICIES, keys, args))
        require_actor(status)
        require_room(status, "workspace", "policies", self._limits.policies)
        owner.require_room(status)
        if await overtaken(status):
            return None
        made = [_timed(change, done_ms) for change in named]
        policies = evaluation_order(change.after for change in made if change.after is not None)
        return AppliedSet(PolicySet(_version(owner, token, policies), policies), made)

    def _with_id(self, change: PolicyChange, now_ms: int) -> PolicyChange:
        if change.before is not None or change.after is None:
            return change
        return PolicyChange(None, replace(change.after, id=self._ids.new(now_ms)))

    def _require_room(self, owner: StoredOwner, held: _Stored, changes: Sequence[PolicyChange]) -> tuple[int, int]:
        """The owner's counts after the change. Raises LimitReached if a count grows beyond its limit.

        The script relies on this check: while the version token has not changed, the counts have not, either.
        """
        after = [_count_after(change, held.counted) for change in changes if change.after is not None]
        limits, size = (sum(column) for column in zip(*after, strict=True)) if after else (0, 0)
        limits_held, size_held = (sum(column) for column in zip((0, 0), *held.counted.values(), strict=True))
        for status, count, count_held, most in (
            ("owner_full", len(after), len(held.policies), owner.policies_max),
            ("rate_full", limits, limits_held, owner.rate_limits_max),
            ("rules_full", size, size_held, owner.rules_bytes_max),
        ):
            if count > max(count_held, most):
                owner.require_room(status)
        return limits, size


def _version(owner: StoredOwner, token: str | None, policies: Sequence[Policy]) -> str:
    """The set's version; NO_VERSION without policies, even if shared marks give the workspace a token."""
    return token if token and (policies or owner.tokens == owner.record) else NO_VERSION


def _marks(changes: Sequence[PolicyChange]) -> tuple[str, str]:
    """The shared marks that the change adds, and those that it removes."""
    pairs = [(shared_marks(change.before), shared_marks(change.after)) for change in changes]
    new = "\n".join(mark for before, after in pairs for mark in after - before)
    return new, "\n".join(mark for before, after in pairs for mark in before - after)


def _count_after(change: PolicyChange, counted: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """What a policy counts for. An unchanged one counts as its record says; older records may have no counts."""
    if change.after is None or change.kind == "kept":
        return counted[change.policy.id]
    return rate_limit_count(change.after.rules), len(_encode(change.after.rules))


def _dropped(keyspace: Keyspace, change: PolicyChange) -> list[str]:
    """The buckets of rate limits that the change removes, with the shadow buckets of policies it deletes."""
    if change.before is None:
        return []
    held = bucket_keys(keyspace, change.before)
    if change.after is None:
        return [keyspace.divergence(change.before.id), *sorted(held)]
    return sorted(held - bucket_keys(keyspace, change.after))


def _parts(change: PolicyChange) -> list[Value]:
    """What the script reads about one policy."""
    before, after = change.before, change.after
    written = None if after is None else replace(after, version=after.version + 1)
    was, now = snapshots(before, written)
    times: list[Value] = [0, 0] if before is None else [before.created_ms, before.updated_ms]
    fields: list[Value] = [] if written is None else [part for field in record_of(written).items() for part in field]
    return [change.policy.id, was, now, 0 if after is None else after.priority, *times, len(fields), *fields]


def _timed(change: PolicyChange, done_ms: int) -> PolicyChange:
    """The change as made, with the times and version from the record."""
    before, after = change.before, change.after
    if after is None or change.kind == "kept":
        return change
    created_ms, updated_ms = (done_ms, done_ms) if before is None else (before.created_ms, before.updated_ms + 1)
    times = {"created_ms": created_ms, "updated_ms": max(done_ms, updated_ms)}
    return PolicyChange(before, replace(after, version=after.version + 1, **times))
