"""Policy reviews in the store: asked for, listed, ended, and approved, which writes the policies in the same step."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace

from app.errors import (
    AppError,
    LimitReached,
    OwnPolicyReview,
    PolicyReviewDecided,
    PolicyReviewNotFound,
    PolicyReviewStale,
    Unauthorized,
)
from app.model.actors import Actor, ActorKind, ChangedBy, Via
from app.model.agents import group_digest
from app.model.approvals import Person
from app.model.changes import ChangeKind
from app.model.ids import Ids, time_of_id
from app.model.policies import Owner, Policy
from app.model.policy_reviews import PolicyReview, ReviewedPolicy, ReviewQuery, ReviewStatus, id_of_waiting
from app.model.policy_sets import PolicyChange
from app.redis_client.client import Client, Value
from app.redis_client.clients import store_time_ms
from app.redis_client.replies import check_reply, decoding_record, number_of
from app.redis_client.scripts import ASK_POLICY_REVIEW, END_POLICY_REVIEW
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.agents import Agents
from app.store.changes import change_keys
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.optimistic import ATTEMPTS, contended, require_room
from app.store.policy_keys import NO_TOKEN
from app.store.policy_owners import WORKSPACE_TOKEN, group_token, stored_owner
from app.store.policy_records import policies_of, record_of
from app.store.policy_sets import PolicySets
from app.store.put_policies import ANY_TOKEN, Held, ReviewApproval, ReviewRefused, put_policies, room_for, status_json

WAITING_MAX = 200
"""Reviews of a workspace that may be pending; of one person, half of them."""
VALID_MS = 7 * 24 * 3600 * 1000
KEEP_MS = 30 * 24 * 3600 * 1000
"""How long a review waits, and how long its record is kept after its end."""
_READ_MAX = 1_000
_CHUNK = 100
_HEAD = (
    "status", "created_ms", "expires_ms", "ended_ms", "reason", "note", "decided_by", "asked_by", "asked_name",
    "asked_via", "asked_person", "agent_id", "group", "policies", "token", "others", "asker", "digest",
)  # fmt: skip
"""The fields of a record without the policies themselves."""

_Head = dict[str, str]
_policies = msgspec.json.Decoder(list[ReviewedPolicy])
_person = msgspec.json.Decoder(Person)
_Records = dict[str, str]


class _Stored(Struct):
    """One change in a record: the records of the policy, None = it does not exist. kept: it stays as it is before."""

    before: _Records | None = None
    after: _Records | None = None
    kept: bool = False

    def __post_init__(self) -> None:
        if self.before is None and (self.after is None or self.kept):
            raise ValueError("it has no policy, before or after")


class _Compared(NamedTuple):
    """What a review was compared with: its name for people, how its version token is read, and the token then."""

    called: str
    read: tuple[str, ...]
    token: str

    def moved(self, token: str | None) -> bool:
        """True if this is another token."""
        return (token or NO_TOKEN) != self.token


_changes = msgspec.json.Decoder(Annotated[list[_Stored], Meta(min_length=1)])
_REFUSALS: dict[str, tuple[type[AppError], str]] = {
    "revoked": (Unauthorized, "The API key is unknown or has been revoked"),
    "missing": (PolicyReviewNotFound, "No policy review has this id"),
    "decided": (PolicyReviewDecided, "The review is no longer pending"),
    "expired": (PolicyReviewDecided, "Nobody approved it in time: the review has expired; ask again"),
    "ended": (PolicyReviewDecided, "The key that asked has been revoked, so the review is cancelled"),
    "own": (
        OwnPolicyReview,
        "Nobody decides what they asked for: this key and the one that asked count as one person; use another's key",
    ),
    "not_own": (OwnPolicyReview, "Only the key that asked may cancel; to refuse, deny it"),
    "full": (
        LimitReached,
        f"{WAITING_MAX} changes of policies wait for a second person, as many as may: decide or cancel one first",
    ),
    "share": (
        LimitReached,
        f"{WAITING_MAX // 2} changes that you asked for wait for a second person, as many as may: cancel one first",
    ),
}


class PolicyReviews:
    """The changes of policies in a workspace that wait for a second person, and those that did."""

    def __init__(
        self, client: Client, ids: Ids, limits: WorkspaceLimits, pool: FairThreadPool, sets: PolicySets, agents: Agents
    ) -> None:
        self._client = client
        self._ids = ids
        self._limits = limits
        self._pool = pool
        self._sets = sets
        self._agents = agents

    async def ask(self, workspace_id: str, held: Held) -> PolicyReview | None:
        """The review that asks for these changes of one owner's policies; the same one if it waits already.

        None if the policies are no longer as they are before the changes. Raises AgentNotFound, LimitReached.
        """
        keyspace, owner, by = Keyspace(workspace_id), held.changes[0].policy.owner, held.by
        token, current = await self._sets.current(workspace_id, owner)
        whole = _among(current, held.changes)
        if whole is None or held.expected not in (ANY_TOKEN, token):
            return None
        changed = [each for each in whole if each.kind != "kept"]
        await self._require_room(keyspace, owner, whole)
        others = await self._others(workspace_id, owner)
        asker = await self._client.call("HMGET", keyspace.key(by.actor.id), "root", "key_id", "person")
        policies = [ReviewedPolicy(ChangeKind(each.kind), each.policy.id, each.policy.name) for each in changed]
        digest = _digest(asker[0] or by.actor.id, owner, token, others, changed)
        for waiting in await self._waiting(keyspace):
            if waiting[1]["digest"] == digest:
                return waiting[0]
        review_id = self._ids.new(now_ms := await store_time_ms(self._client))
        fields: dict[str, Value] = {
            "agent_id": owner.agent_id or "",
            "group": owner.group or "",
            "policies": msgspec.json.encode(policies),
            "changes": msgspec.json.encode(list(map(_as_stored, whole))),
            "token": token,
            "others": others,
            "asker": _ends_with(by.actor, *asker[1:]),
            "digest": digest,
        }
        shown = {"status": ReviewStatus.PENDING, "agentId": owner.agent_id, "group": owner.group, "policies": policies}
        args: list[Value] = [by.actor.id, review_id, msgspec.json.encode(shown), by.reason]
        args += [WAITING_MAX, VALID_MS, KEEP_MS, *(part for field in fields.items() for part in field)]
        keys = [*change_keys(keyspace, by.actor), keyspace.policy_review(review_id)]
        keys += [keyspace.policy_reviews, keyspace.policy_reviews_waiting]
        status = check_reply(ASK_POLICY_REVIEW, await self._client.run(ASK_POLICY_REVIEW, keys, args))[0]
        _refuse(status)
        oldest = time_of_id(max(0, now_ms - VALID_MS - KEEP_MS))
        await self._client.call("ZREMRANGEBYLEX", keyspace.policy_reviews, "-", f"({oldest}")
        return await self.get(workspace_id, review_id)

    async def get(self, workspace_id: str, review_id: str) -> PolicyReview:
        """The review as it stands. Raises PolicyReviewNotFound; records are deleted 30 days after their end."""
        found = await self._heads(Keyspace(workspace_id), [review_id])
        if not found:
            raise PolicyReviewNotFound("No policy review has this id")
        return found[0][0]

    async def changes(self, workspace_id: str, review_id: str) -> list[PolicyChange]:
        """What becomes of each policy of the owner, also of those that stay. Raises PolicyReviewNotFound."""
        text = await self._client.call("HGET", Keyspace(workspace_id).policy_review(review_id), "changes")
        if text is None:
            raise PolicyReviewNotFound("No policy review has this id")
        with decoding_record(f"The record of policy review {review_id}"):
            stored = _changes.decode(text)
        before = await self._decoded(workspace_id, [each.before for each in stored])
        after = await self._decoded(workspace_id, [each.after for each in stored])
        return [
            PolicyChange(was, was if each.kept else becomes)
            for each, was, becomes in zip(stored, before, after, strict=True)
        ]

    async def page(self, workspace_id: str, query: ReviewQuery) -> tuple[list[PolicyReview], str | None]:
        """The matching reviews, newest first, and the id from which the next page continues.

        At most 1,000 reviews are read for one page, which may then have fewer than the limit.
        """
        keyspace, before = Keyspace(workspace_id), query.before
        found: list[PolicyReview] = []
        for _ in range(0, _READ_MAX, _CHUNK):
            newest = "+" if before is None else f"({before}"
            ids = await self._client.call(
                "ZRANGE", keyspace.policy_reviews, newest, "-", "BYLEX", "REV", "LIMIT", 0, _CHUNK
            )
            found += [review for review, _ in await self._heads(keyspace, ids) if query.takes(review)]
            if len(found) > query.limit:
                return found[: query.limit], found[query.limit - 1].id
            if len(ids) < _CHUNK:
                return found, None
            before = ids[-1]
        return found, before

    async def end(
        self, workspace_id: str, review_id: str, verdict: ReviewStatus, by: Actor, note: str = ""
    ) -> PolicyReview:
        """The review, once it is denied or cancelled.

        Raises PolicyReviewNotFound, PolicyReviewDecided, OwnPolicyReview, Unauthorized if the key was revoked.
        """
        keyspace = Keyspace(workspace_id)
        _refuse(await self._end(keyspace, review_id, verdict, by, note))
        return await self.get(workspace_id, review_id)

    async def approve(self, workspace_id: str, review_id: str, by: Actor, note: str = "") -> list[PolicyChange]:
        """The changes, once they are made as one step with the approval.

        Raises PolicyReviewNotFound, PolicyReviewDecided, PolicyReviewStale, OwnPolicyReview, LimitReached, Unauthorized
        if the key was revoked meanwhile.
        """
        keyspace = Keyspace(workspace_id)
        changes = await self.changes(workspace_id, review_id)
        found = await self._heads(keyspace, [review_id])
        if not found:
            raise PolicyReviewNotFound("No policy review has this id")
        [(review, head)] = found
        approval = ReviewApproval(review_id, by, note, head["asker"], head["others"], KEEP_MS)
        asked = ChangedBy(Actor(review.asked_by.key_id, review.asked_by.name, ActorKind.KEY), review.reason)
        stored = stored_owner(review.owner, keyspace, self._limits)
        for _ in range(ATTEMPTS):
            try:
                done = await put_policies(
                    self._client, workspace_id, self._limits, stored, changes, asked, head["token"], approval
                )
            except ReviewRefused as refused:
                _refuse(refused.status)
                raise
            if done is not None:
                return done.changes
            if (await self.get(workspace_id, review_id)).status is not ReviewStatus.PENDING:
                moved = await self._moved(keyspace, review, head)
                what = " and ".join(moved) or "the policies that it changes"
                raise PolicyReviewStale(f"{what} changed after it was asked for, so nothing was written; ask again")
        return contended()

    async def _end(self, keyspace: Keyspace, review_id: str, verdict: ReviewStatus, by: Actor | None, note: str) -> str:
        actor_id = "" if by is None else by.id
        keys = [keyspace.key(actor_id), keyspace.changes, keyspace.policy_review(review_id)]
        args: list[Value] = [actor_id, review_id, verdict, note, status_json(ReviewStatus.PENDING)]
        args += [status_json(verdict), "" if by is None else msgspec.json.encode(Person.of(by)), KEEP_MS]
        reply = await self._client.run(END_POLICY_REVIEW, [*keys, keyspace.policy_reviews_waiting], args)
        return str(check_reply(END_POLICY_REVIEW, reply)[0])

    async def _waiting(self, keyspace: Keyspace) -> list[tuple[PolicyReview, _Head]]:
        """The reviews that can still be approved; the others that are thought to wait are ended."""
        now_ms, name = await store_time_ms(self._client), keyspace.policy_reviews_waiting
        found = await self._client.call_bytes("ZRANGE", name, f"({now_ms}", "+inf", "BYSCORE")
        waiting = []
        for review, head in await self._heads(keyspace, list(map(id_of_waiting, found))):
            if review.status is ReviewStatus.PENDING:
                waiting.append((review, head))
            elif review.status in (ReviewStatus.STALE, ReviewStatus.CANCELLED):
                await self._end(keyspace, review.id, review.status, None, "")
        return waiting

    async def _heads(self, keyspace: Keyspace, ids: Sequence[str]) -> list[tuple[PolicyReview, _Head]]:
        """The reviews of these ids as they stand, and their records without the policies; missing ones are left out."""
        replies = await self._client.read_pipelined([("HMGET", keyspace.policy_review(each), *_HEAD) for each in ids])
        found = []
        for review_id, reply in zip(ids, replies, strict=True):
            head = {name: value or "" for name, value in zip(_HEAD, reply, strict=True)}
            if head["status"]:
                found.append((_review_of(review_id, head), head))
        undecided = [(review, head) for review, head in found if review.status is ReviewStatus.PENDING]
        statuses = await self._statuses(keyspace, undecided)
        return [(replace(review, status=statuses.get(review.id, review.status)), head) for review, head in found]

    async def _statuses(
        self, keyspace: Keyspace, undecided: Sequence[tuple[PolicyReview, _Head]]
    ) -> dict[str, ReviewStatus]:
        """How reviews stand that nobody has decided: what the script would say of each now."""
        now_ms = await store_time_ms(self._client)
        compared = [self._compared(keyspace, review, head) for review, head in undecided]
        reads: list[tuple[str, ...]] = []
        for (review, head), basis in zip(undecided, compared, strict=True):
            # What no key ends stands as long as its own record.
            ends_with = keyspace.key(head["asker"]) if head["asker"] else keyspace.policy_review(review.id)
            reads += [("EXISTS", ends_with), *(each.read for each in basis)]
        replies = iter(await self._client.read_pipelined(reads))
        statuses = {}
        for (review, _), basis in zip(undecided, compared, strict=True):
            stands, moved = next(replies), [each for each in basis if each.moved(next(replies))]
            status = ReviewStatus.STALE if moved else ReviewStatus.PENDING
            status = status if stands else ReviewStatus.CANCELLED
            statuses[review.id] = status if now_ms < review.expires_ms else ReviewStatus.EXPIRED
        return statuses

    async def _moved(self, keyspace: Keyspace, review: PolicyReview, head: _Head) -> list[str]:
        """What has changed of that with which the review was compared, for people."""
        compared = self._compared(keyspace, review, head)
        now = await self._client.read_pipelined([each.read for each in compared])
        return [each.called for each, token in zip(compared, now, strict=True) if each.moved(token)]

    def _compared(self, keyspace: Keyspace, review: PolicyReview, head: _Head) -> list[_Compared]:
        """That with which the review was compared."""
        stored = stored_owner(review.owner, keyspace, self._limits)
        with decoding_record(f"The record of policy review {review.id}"):
            others = [(field, token) for field, token in map(str.split, head["others"].splitlines())]
        return [_Compared(_CALLED[stored.name], ("HGET", stored.tokens, stored.token_field), head["token"])] + [
            _Compared(
                _CALLED["workspace" if field == WORKSPACE_TOKEN else "group"], ("HGET", keyspace.commits, field), token
            )
            for field, token in others
        ]

    async def _require_room(self, keyspace: Keyspace, owner: Owner, whole: Sequence[PolicyChange]) -> None:
        """Raise LimitReached if these changes, which are of all the owner's policies, could not be made now."""
        stored = stored_owner(owner, keyspace, self._limits)
        stored.require_room(room_for(stored, whole))
        more = sum(each.before is None for each in whole) - sum(each.after is None for each in whole)
        held = int(await self._client.call("ZCARD", keyspace.policies))
        is_full = more > 0 and held + more > self._limits.policies
        require_room("full" if is_full else "", "workspace", "policies", self._limits.policies)

    async def _others(self, workspace_id: str, owner: Owner) -> str:
        """The version tokens of the policies that are judged with the owner's, a line each: field and token."""
        fields = [] if owner == Owner() else [WORKSPACE_TOKEN]
        if owner.agent_id is not None:
            agent = await self._agents.get(workspace_id, owner.agent_id)
            fields += [group_token(group_digest(each)) for each in agent.groups]
        if not fields:
            return ""
        tokens = await self._client.call("HMGET", Keyspace(workspace_id).commits, *fields)
        return "\n".join(f"{field} {token or NO_TOKEN}" for field, token in zip(fields, tokens, strict=True))

    async def _decoded(self, workspace_id: str, records: Sequence[_Records | None]) -> list[Policy | None]:
        there = iter(await policies_of([each for each in records if each is not None], self._pool, workspace_id))
        return [None if each is None else next(there) for each in records]


_CALLED = {
    "agent": "the agent, its groups or its policies",
    "group": "the policies of a group",
    "workspace": "the policies of the workspace",
}


def _among(current: Sequence[Policy], changes: Sequence[PolicyChange]) -> list[PolicyChange] | None:
    """The changes, and the policies that stay; None if a policy is no longer as it is before its change."""
    changed, held = [each for each in changes if each.kind != "kept"], {policy.id: policy for policy in current}
    for each in changed:
        now = held.pop(each.policy.id, None)
        if (now and now.version) != (each.before and each.before.version):
            return None
    return [*changed, *(PolicyChange(policy, policy) for policy in held.values())]


def _as_stored(change: PolicyChange) -> _Stored:
    if change.kind == "kept":
        return _Stored(_as_record(change.policy), None, kept=True)
    before, after = (None if each is None else _as_record(each) for each in (change.before, change.after))
    return _Stored(before, after)


def _as_record(policy: Policy) -> _Records:
    fields = record_of(policy) | {"created_ms": policy.created_ms, "updated_ms": policy.updated_ms}
    fields["remembers"] = msgspec.json.encode(policy.remembers)
    return {name: value.decode() if isinstance(value, bytes) else str(value) for name, value in fields.items()}


def _digest(root: str, owner: Owner, token: str, others: str, changed: Sequence[PolicyChange]) -> str:
    """The same for the same changes of the same policies, asked for by the same person."""
    after: list[Any] = [
        None if each.after is None else each.after if each.before else replace(each.after, id="") for each in changed
    ]
    ids = [each.before and each.before.id for each in changed]
    return hashlib.sha256(msgspec.json.encode([root, owner, token, others, ids, after])).hexdigest()


def _ends_with(actor: Actor, key_id: str | None, person: str | None) -> str:
    """The id of the key with whose end the review ends; "" if somebody asked without one.

    A session ends by itself, within a day: what counts is the key from which it was made, if there is one.
    """
    return "" if actor.kind is not ActorKind.KEY or person else key_id or actor.id


def _review_of(review_id: str, head: _Head) -> PolicyReview:
    with decoding_record(f"The record of policy review {review_id}"):
        via, person = head["asked_via"], head["asked_person"]
        return PolicyReview(
            id=review_id,
            status=ReviewStatus(head["status"]),
            owner=Owner(head["agent_id"] or None, head["group"] or None),
            policies=_policies.decode(head["policies"]),
            reason=head["reason"],
            asked_by=Person(head["asked_by"], head["asked_name"], Via(via) if via else UNSET, person or UNSET),
            created_ms=number_of(head["created_ms"]),
            expires_ms=number_of(head["expires_ms"]),
            ended_ms=number_of(head["ended_ms"] or "0"),
            decided_by=_person.decode(head["decided_by"]) if head["decided_by"] else None,
            note=head["note"],
        )


def _refuse(status: str) -> None:
    """Raise what the script reports, unless it is done."""
    if status in _REFUSALS:
        error, message = _REFUSALS[status]
        raise error(message)
