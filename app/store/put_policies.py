"""The typed face of `lua/put_policies.lua`, and its only caller."""

import secrets
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.model.actors import Actor, ChangedBy
from app.model.approvals import Person
from app.model.counting import rate_limit_count
from app.model.marks import MAX_SHARED_MARKS, shared_marks
from app.model.memories import remembering_since
from app.model.policies import Policy
from app.model.policy_reviews import ReviewStatus, waits
from app.model.policy_sets import PolicyChange
from app.model.snapshots import snapshots
from app.redis_client.client import Client, Value
from app.redis_client.replies import check_reply
from app.redis_client.scripts import DELETE_POLICIES, PUT_POLICIES
from app.store.changes import change_keys, require_actor
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.optimistic import overtaken, require_room
from app.store.policy_owners import StoredOwner
from app.store.policy_records import bucket_keys, record_of, rules_json

_REVIEW_REFUSED = frozenset({"missing", "decided", "expired", "ended", "own"})
ANY_TOKEN = ""
"""Passed instead of the owner's version token if its other policies do not matter."""


class Held(Exception):
    """These changes wait for a second person; nothing was written. expected: as for `put_policies`."""

    def __init__(self, changes: Sequence[PolicyChange], by: ChangedBy, expected: str) -> None:
        super().__init__("the changes wait for a second person")
        self.changes = changes
        self.by = by
        self.expected = expected


class ReviewApproval(Struct, frozen=True):
    """The approval of a review, whose changes are made.

    asker: the key with whose end the review ends; "" = there is none. others: what else it has read, as the script
    takes it. keep_ms: how long its record stays.
    """

    review_id: str
    by: Actor
    note: str
    asker: str
    others: str
    keep_ms: int


class ReviewRefused(Exception):
    """The script did not approve the review. status: the script's."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


class WrittenPolicies(Struct, frozen=True):
    """The changes as they were made, with their times and versions, and the owner's new version token."""

    token: str
    changes: list[PolicyChange]


async def put_policies(
    client: Client,
    workspace_id: str,
    limits: WorkspaceLimits,
    owner: StoredOwner,
    changes: Sequence[PolicyChange],
    by: ChangedBy,
    expected: str,
    approval: ReviewApproval | None = None,
) -> WrittenPolicies | None:
    """Make all of these changes, or none; return None if a version or the token is no longer as expected.

    approval: of the review of these changes, if a second person approves them.
    Raises Held if they wait for one; ReviewRefused, LimitReached, AgentNotFound, Unauthorized.
    """
    keyspace, token = Keyspace(workspace_id), secrets.token_hex(16)
    changed = [change for change in changes if change.kind != "kept"]
    if approval is None and limits.second_person and waits(changed):
        raise Held(changes, by, expected)
    caller = by.actor if approval is None else approval.by
    keys = [*change_keys(keyspace, caller), owner.record, owner.tokens, owner.policies, keyspace.policies]
    keys += [keyspace.commits, keyspace.marks, *(keyspace.policy(change.policy.id) for change in changed)]
    keys += [keyspace.policy_versions(change.policy.id) for change in changed]
    keys += [name for change in changed for name in _dropped(keyspace, change)]
    args: list[Value] = [by.actor.id, by.reason, owner.token_field, expected, token]
    args += [_rate_limits(change.after for change in changed), _rate_limits(change.before for change in changed)]
    args += [_rules_bytes(change.after for change in changed), _rules_bytes(change.before for change in changed)]
    args += [owner.rate_limits_max, owner.rules_bytes_max, owner.policies_max, limits.policies, limits.policy_versions]
    args += [*_marks(changed), MAX_SHARED_MARKS, len(changed)]
    for change in changed:
        args += _parts(change)
    if approval is not None:
        review = keyspace.policy_review(approval.review_id)
        keys += [review, keyspace.policy_reviews_waiting, keyspace.key(approval.asker) if approval.asker else review]
        args += [approval.review_id, approval.by.id, msgspec.json.encode(Person.of(approval.by)), approval.note]
        args += [status_json(ReviewStatus.PENDING), status_json(ReviewStatus.APPLIED), approval.others]
        args.append(approval.keep_ms)
    if any(change.after for change in changed):
        reply = await client.run(PUT_POLICIES, keys, args)
    else:
        reply = await client.run(DELETE_POLICIES, keys, args)
    status, now_ms = check_reply(PUT_POLICIES, reply)
    require_actor(status)
    if status in _REVIEW_REFUSED:
        raise ReviewRefused(status)
    require_room(status, "workspace", "policies", limits.policies)
    owner.require_room(status)
    if await overtaken(status):
        return None
    return WrittenPolicies(token, [_made(change, now_ms) for change in changes])


def room_for(owner: StoredOwner, changes: Sequence[PolicyChange]) -> str:
    """What the script would say if the owner had no room for these changes, which are of all its policies; or ""."""
    before = [change.before for change in changes if change.before is not None]
    after = [change.after for change in changes if change.after is not None]
    if len(before) < len(after) > owner.policies_max:
        return "owner_full"
    if _rate_limits(before) < _rate_limits(after) > owner.rate_limits_max:
        return "rate_full"
    return "rules_full" if _rules_bytes(before) < _rules_bytes(after) > owner.rules_bytes_max else ""


def status_json(status: ReviewStatus) -> bytes:
    """What the trail says of a review's status."""
    return msgspec.json.encode({"status": status})


def _rate_limits(policies: Iterable[Policy | None]) -> int:
    return sum(rate_limit_count(policy.rules) for policy in policies if policy is not None)


def _rules_bytes(policies: Iterable[Policy | None]) -> int:
    return sum(len(rules_json(policy)) for policy in policies if policy is not None)


def _marks(changes: Sequence[PolicyChange]) -> tuple[str, str]:
    """The shared marks that the changes add, and those that they remove."""
    pairs = [(shared_marks(change.before), shared_marks(change.after)) for change in changes]
    new = "\n".join(mark for before, after in pairs for mark in after - before)
    return new, "\n".join(mark for before, after in pairs for mark in before - after)


def _dropped(keyspace: Keyspace, change: PolicyChange) -> list[str]:
    """The buckets of rate limits that the change removes, and the counts of divergences of a policy it deletes."""
    if change.before is None:
        return []
    before = bucket_keys(keyspace, change.before)
    if change.after is None:
        return [keyspace.divergence(change.before.id), *sorted(before)]
    return sorted(before - bucket_keys(keyspace, change.after))


def _parts(change: PolicyChange) -> list[Value]:
    """The arguments of the script about one policy."""
    before, written = change.before, _written(change)
    after = change.after
    fields = {} if written is None else record_of(written)
    if written is not None and (written.remembers or (before is not None and before.remembers)):
        fields["remembers"] = msgspec.json.encode(written.remembers)
    head: list[Value] = [change.policy.id, 0 if before is None else before.version, *snapshots(before, written)]
    head += [0 if after is None else after.priority, 2 * len(fields)]
    return head + [part for field in fields.items() for part in field]


def _written(change: PolicyChange) -> Policy | None:
    """The policy as it is after the change, without its times."""
    if change.after is None:
        return None
    written = replace(change.after, version=change.after.version + 1)
    return replace(written, remembers=remembering_since(change.before, written))


def _made(change: PolicyChange, now_ms: int) -> PolicyChange:
    """The change with the times and the version from the record."""
    before, written = change.before, _written(change)
    if written is None or change.kind == "kept":
        return change
    created_ms, updated_ms = (now_ms, now_ms) if before is None else (before.created_ms, before.updated_ms + 1)
    times = {"created_ms": created_ms, "updated_ms": max(now_ms, updated_ms)}
    return PolicyChange(before, replace(written, **times))
