"""Policy reviews in the store: nothing binds without a second person, however approvals, writes and ends interleave."""

import asyncio

import pytest

from app.errors import (
    LimitReached,
    OwnPolicyReview,
    PolicyReviewDecided,
    PolicyReviewNotFound,
    PolicyReviewStale,
    Unauthorized,
)
from app.model.actors import COMMAND_LINE, ChangedBy
from app.model.api_keys import Scope
from app.model.changes import ChangeQuery
from app.model.policies import WORKSPACE, Owner, PolicyChanges, PolicyFields, PolicyKind, PolicyMode
from app.model.policy_reviews import ReviewQuery, ReviewStatus
from app.model.policy_sets import PolicyEntry
from app.model.rules import ToolAllowlist, ToolDenylist
from app.redis_client.replies import ForeignData
from app.redis_client.scripts import DELETE_POLICIES, PUT_POLICIES
from app.store.changes import Changes
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.policy_reviews import KEEP_MS, VALID_MS, WAITING_MAX
from app.store.put_policies import Held
from tests.support import parts
from tests.support.actors import BY, by_key, the_key

REVIEWED = WorkspaceLimits(second_person=True)
RULES = (ToolAllowlist(tools=["file.*"]),)
GUARD = PolicyFields(name="g", kind=PolicyKind.GUARDRAIL, rules=(ToolDenylist(tools=["rm"]),))
SHADOW = PolicyFields(name="s", mode=PolicyMode.SHADOW, rules=RULES)


@pytest.fixture
def policies(client, ids):
    return parts.policies(client, ids, REVIEWED)


@pytest.fixture
def sets(client, ids):
    return parts.policy_sets(client, ids, REVIEWED)


@pytest.fixture
def reviews(client, ids):
    return parts.policy_reviews(client, ids, REVIEWED)


@pytest.fixture
def keys(client, ids):
    return parts.api_keys(client, ids)


@pytest.fixture
async def ann(keys, workspace_id):
    key, _ = await keys.create(workspace_id, "ann", (Scope.ADMIN,), by=BY)
    return key.id


@pytest.fixture
async def bob(keys, workspace_id):
    key, _ = await keys.create(workspace_id, "bob", (Scope.ADMIN,), by=BY)
    return key.id


@pytest.fixture
def ask(policies, reviews, workspace_id, agent, ann):
    """Asks, as Ann, for a grant of the agent; returns the review."""

    async def asked(owner=None, by=None, **fields):
        with pytest.raises(Held) as held:
            await policies.create(
                workspace_id,
                owner or Owner(agent.id),
                PolicyFields(**{"name": "p", "rules": RULES} | fields),
                by=by or by_key(ann, "they need it"),
            )
        return await reviews.ask(workspace_id, held.value)

    return asked


def before_script(client, act):
    """Run `act` once, right before the script that writes policies."""
    real, done = client.run, []

    async def run(script, keys, args, **options):
        if script in (PUT_POLICIES, DELETE_POLICIES) and not done:
            done.append(True)
            await act()
        return await real(script, keys, args, **options)

    client.run = run


async def written(client, ids, workspace_id):
    return [each.name async for each in parts.policies(client, ids).each(workspace_id)]


async def test_what_is_asked_for_binds_once_somebody_else_approves_it(
    client, ids, reviews, workspace_id, agent, ask, bob, ann
):
    """Asked by Ann, approved by Bob: the trail names both, and the review is applied in the same step."""
    review = await ask()
    assert (review.status, review.asked_by.name, review.reason) == (ReviewStatus.PENDING, "ann", "they need it")
    assert await written(client, ids, workspace_id) == []

    [change] = await reviews.approve(workspace_id, review.id, the_key(bob), "fine")

    assert await written(client, ids, workspace_id) == ["p"]
    applied = await reviews.get(workspace_id, review.id)
    assert (applied.status, applied.note, applied.ended_ms > 0) == (ReviewStatus.APPLIED, "fine", True)
    assert [each.policy_id for each in applied.policies] == [change.policy.id]
    page = await Changes(client).query(workspace_id, ChangeQuery(limit=3))
    policy, decided, asked = page.changes
    assert (policy.actor_id, policy.actor_name, policy.reason) == (ann, "ann", "they need it")
    assert policy.approved_by.key_id == bob
    assert (decided.actor_name, decided.resource_type, decided.reason) == ("bob", "policy_review", "fine")
    assert (bytes(decided.before), bytes(decided.after)) == (b'{"status":"pending"}', b'{"status":"applied"}')
    assert (asked.actor_name, asked.resource_id, asked.kind) == ("ann", review.id, "created")


async def test_shadow_policies_and_new_guardrails_never_wait(policies, sets, workspace_id, agent, ann):
    """But what they become does: a shadow policy that is enforced, a guardrail that is relaxed, disabled or deleted."""
    by, owner = by_key(ann), Owner(agent.id)
    shadow = await policies.create(workspace_id, owner, SHADOW, by=by)
    shadow = await policies.update(workspace_id, shadow.id, PolicyChanges(rules=GUARD.rules), by=by)
    guard = await policies.create(workspace_id, WORKSPACE, GUARD, by=by)
    off = await policies.create(
        workspace_id, owner, PolicyFields(name="o", kind=PolicyKind.GUARDRAIL, rules=GUARD.rules, enabled=False), by=by
    )
    await policies.update(workspace_id, off.id, PolicyChanges(enabled=True), by=by)

    for policy, changes in (
        (shadow, PolicyChanges(mode=PolicyMode.ENFORCE)),
        (guard, PolicyChanges(enabled=False)),
        (guard, PolicyChanges(mode=PolicyMode.SHADOW)),
        (guard, PolicyChanges(rules=(ToolDenylist(tools=["other"]),))),
        (guard, PolicyChanges(name="renamed")),
    ):
        with pytest.raises(Held):
            await policies.update(workspace_id, policy.id, changes, by=by)
    with pytest.raises(Held):
        await policies.delete(workspace_id, guard.id, by=by)
    both = [PolicyEntry(name="n", kind=PolicyKind.GUARDRAIL, rules=GUARD.rules), PolicyEntry(name="p", rules=RULES)]
    with pytest.raises(Held):
        await sets.put(workspace_id, owner, both, by=by)
    await sets.put(workspace_id, owner, both[:1], by=by)
    with pytest.raises(Held):
        await sets.put(workspace_id, owner, [], prune=True, by=by)
    await policies.delete(workspace_id, shadow.id, by=by)


async def test_a_policy_that_is_enforced_meanwhile_is_not_changed_as_a_shadow(
    client, ids, policies, workspace_id, agent, ann
):
    """What is judged is what is written: the second attempt of a write finds an enforced policy, and waits."""
    shadow = await policies.create(workspace_id, Owner(agent.id), SHADOW, by=by_key(ann))
    other = parts.policies(client, ids)  # of a replica without reviews, as an approval is

    async def enforce():
        await other.update(workspace_id, shadow.id, PolicyChanges(mode=PolicyMode.ENFORCE), by=BY)

    before_script(client, enforce)
    with pytest.raises(Held):
        await policies.update(workspace_id, shadow.id, PolicyChanges(rules=GUARD.rules), by=by_key(ann))
    assert [*(await policies.get(workspace_id, shadow.id)).rules] == [*RULES]


async def test_whoever_asked_counts_as_one_person_with_all_their_keys(
    client, reviews, keys, workspace_id, ask, ann, bob, agent
):
    """Their own key, its successor, a key that they made, and the key that made theirs; cancelling is only theirs."""
    made, _ = await keys.create(workspace_id, "made by ann", (Scope.ADMIN,), by=by_key(ann))
    rotated, *_ = await keys.rotate(workspace_id, ann, overlap_ms=60_000, by=BY)
    review = await ask()
    for own in (ann, made.id, rotated.id):
        with pytest.raises(OwnPolicyReview):
            await reviews.approve(workspace_id, review.id, the_key(own))
        with pytest.raises(OwnPolicyReview):
            await reviews.end(workspace_id, review.id, ReviewStatus.DENIED, the_key(own))
    for other in (made.id, bob):
        with pytest.raises(OwnPolicyReview):
            await reviews.end(workspace_id, review.id, ReviewStatus.CANCELLED, the_key(other))
    by_made = await ask(by=by_key(made.id), name="q")
    with pytest.raises(OwnPolicyReview):
        await reviews.approve(workspace_id, by_made.id, the_key(ann))
    by_hand = await ask(by=BY, name="r")
    with pytest.raises(OwnPolicyReview):
        await reviews.approve(workspace_id, by_hand.id, COMMAND_LINE)

    cancelled = await reviews.end(workspace_id, review.id, ReviewStatus.CANCELLED, the_key(rotated.id), "not needed")
    assert (cancelled.status, cancelled.decided_by.key_id) == (ReviewStatus.CANCELLED, rotated.id)
    with pytest.raises(PolicyReviewDecided):
        await reviews.approve(workspace_id, review.id, the_key(bob))


async def test_of_two_people_who_approve_at_once_one_does(client, ids, reviews, keys, workspace_id, ask, bob):
    """The change is made once."""
    cleo, _ = await keys.create(workspace_id, "cleo", (Scope.ADMIN,), by=BY)
    for round_ in range(10):
        review = await ask(name=f"p{round_}")
        said = await asyncio.gather(
            *(reviews.approve(workspace_id, review.id, the_key(each)) for each in (bob, cleo.id, bob)),
            return_exceptions=True,
        )
        assert sorted(type(each).__name__ for each in said) == ["PolicyReviewDecided"] * 2 + ["list"]
        assert len(await written(client, ids, workspace_id)) == round_ + 1
        page = await Changes(client).query(workspace_id, ChangeQuery(limit=100))
        assert sum(bytes(each.after) == b'{"status":"applied"}' for each in page.changes) == round_ + 1


async def test_approval_and_end_at_once_never_both(client, ids, reviews, workspace_id, ask, bob, ann):
    """Either it is applied and written, or ended and not."""
    for round_ in range(10):
        before = len(await written(client, ids, workspace_id))
        review = await ask(name=f"p{round_}")
        end = (ReviewStatus.CANCELLED, the_key(ann)) if round_ % 2 else (ReviewStatus.DENIED, the_key(bob))
        acts = [
            reviews.approve(workspace_id, review.id, the_key(bob)),
            reviews.end(workspace_id, review.id, *end),
        ]
        said = await asyncio.gather(*(acts if round_ % 4 < 2 else acts[::-1]), return_exceptions=True)
        assert sum(isinstance(each, PolicyReviewDecided) for each in said) == 1
        status = (await reviews.get(workspace_id, review.id)).status
        is_written = len(await written(client, ids, workspace_id)) > before
        assert status is (ReviewStatus.APPLIED if is_written else end[0])


MOVES = {
    "another policy of the agent": lambda of: of.plain.create(of.workspace_id, Owner(of.agent.id), SHADOW, by=BY),
    "a policy of its group": lambda of: of.plain.create(of.workspace_id, Owner(group="crew"), SHADOW, by=BY),
    "a guardrail of the workspace": lambda of: of.plain.create(of.workspace_id, WORKSPACE, GUARD, by=BY),
    "the agent's groups": lambda of: of.agents.update(of.workspace_id, of.agent.id, groups=["night"], by=BY),
    "the agent's end": lambda of: of.agents.delete(of.workspace_id, of.agent.id, by=BY),
}


class World:
    def __init__(self, **parts_):
        self.__dict__.update(parts_)


@pytest.fixture
async def world(client, ids, agents, workspace_id):
    agent = await agents.create(workspace_id, "in crew", None, ["crew"], by=BY)
    return World(plain=parts.policies(client, ids), agents=agents, agent=agent, workspace_id=workspace_id)


@pytest.mark.parametrize("when", ["before it is read", "before the script"])
@pytest.mark.parametrize("move", MOVES)
async def test_what_was_compared_has_not_moved(client, ids, reviews, world, workspace_id, ask, bob, move, when):
    """Otherwise the review is stale, for good, and nothing is written, whenever the other change came."""
    review = await ask(Owner(world.agent.id))

    async def act():
        await MOVES[move](world)

    if when == "before it is read":
        await act()
        assert (await reviews.get(workspace_id, review.id)).status is ReviewStatus.STALE
    else:
        before_script(client, act)
    with pytest.raises(PolicyReviewStale, match="ask again"):
        await reviews.approve(workspace_id, review.id, the_key(bob))
    assert "p" not in await written(client, ids, workspace_id)
    record = await client.call("HGET", Keyspace(workspace_id).policy_review(review.id), "status")
    assert record == "stale"
    with pytest.raises(PolicyReviewDecided):
        await reviews.approve(workspace_id, review.id, the_key(bob))


async def test_policies_of_other_agents_do_not_matter(reviews, world, workspace_id, ask, bob):
    """Nor does another review that waits."""
    other = await world.agents.create(workspace_id, "other", None, ["night"], by=BY)
    review, second = await ask(Owner(world.agent.id)), await ask(Owner(other.id))
    for owner in (Owner(other.id), Owner(group="night")):
        await world.plain.create(workspace_id, owner, SHADOW, by=BY)
    await reviews.approve(workspace_id, review.id, the_key(bob))
    with pytest.raises(PolicyReviewStale):
        await reviews.approve(workspace_id, second.id, the_key(bob))


async def test_a_review_ends_with_the_key_that_asked(client, ids, reviews, keys, workspace_id, ask, ann, bob):
    """Whether it is revoked before the approval is read or after; a revoked approver is nobody."""
    first, second = await ask(name="a"), await ask(name="b")
    await keys.revoke(workspace_id, bob, by=BY)
    with pytest.raises(Unauthorized):
        await reviews.approve(workspace_id, first.id, the_key(bob))
    assert (await reviews.get(workspace_id, first.id)).status is ReviewStatus.PENDING
    cleo, _ = await keys.create(workspace_id, "cleo", (Scope.ADMIN,), by=BY)

    before_script(client, lambda: keys.revoke(workspace_id, ann, by=BY))
    with pytest.raises(PolicyReviewDecided, match="revoked"):
        await reviews.approve(workspace_id, first.id, the_key(cleo.id))
    assert (await reviews.get(workspace_id, second.id)).status is ReviewStatus.CANCELLED
    with pytest.raises(PolicyReviewDecided, match="revoked"):
        await reviews.approve(workspace_id, second.id, the_key(cleo.id))
    assert await written(client, ids, workspace_id) == []


@pytest.mark.parametrize(
    "changes", ["{", "[]", "[7]", "[{}]", '[{"kept": true}]', '[{"before": {}}]', '[{"after": {}}]']
)
async def test_a_record_that_remit_did_not_write_is_approved_by_nobody(
    client, ids, reviews, workspace_id, ask, bob, changes
):
    """It is said to be foreign, whatever it lacks, and the review waits as before."""
    review = await ask()
    await client.call("HSET", Keyspace(workspace_id).policy_review(review.id), "changes", changes)
    with pytest.raises(ForeignData):
        await reviews.changes(workspace_id, review.id)
    with pytest.raises(ForeignData):
        await reviews.approve(workspace_id, review.id, the_key(bob))
    assert (await reviews.get(workspace_id, review.id)).status is ReviewStatus.PENDING
    assert await written(client, ids, workspace_id) == []


async def test_a_review_expires_by_the_stores_clock(client, reviews, workspace_id, ask, bob):
    """After seven days; its record goes 30 days later."""
    review = await ask()
    assert review.expires_ms - review.created_ms == VALID_MS
    key = Keyspace(workspace_id).policy_review(review.id)
    assert await client.call("PEXPIRETIME", key) == review.expires_ms + KEEP_MS
    await client.call("HSET", key, "expires_ms", review.created_ms - 1)
    assert (await reviews.get(workspace_id, review.id)).status is ReviewStatus.EXPIRED
    for verdict in (
        reviews.approve(workspace_id, review.id, the_key(bob)),
        reviews.end(workspace_id, review.id, ReviewStatus.DENIED, the_key(bob)),
    ):
        with pytest.raises(PolicyReviewDecided, match="expired"):
            await verdict


async def test_the_same_change_is_asked_for_once(reviews, workspace_id, ask, bob):
    """Applying the same files again finds the review that waits; what has lost its basis makes room."""
    first = await ask()
    assert (await ask()).id == first.id
    assert (await ask(name="q")).id != first.id
    assert (await ask(by=by_key(bob))).id != first.id
    await reviews.end(workspace_id, first.id, ReviewStatus.DENIED, the_key(bob))
    assert (await ask()).id != first.id


async def test_a_workspace_has_at_most_so_many_that_wait(client, reviews, world, workspace_id, ask):
    """Those that are stale do not count."""
    keyspace = Keyspace(workspace_id)
    first = await ask(Owner(world.agent.id))
    waiting = [part for number in range(WAITING_MAX - 1) for part in (first.expires_ms, f"other{number} {number}")]
    await client.call("ZADD", keyspace.policy_reviews_waiting, *waiting)
    with pytest.raises(LimitReached, match=r"^200 changes of policies wait"):
        await ask(Owner(world.agent.id), name="q")
    await world.plain.create(workspace_id, WORKSPACE, GUARD, by=BY)
    await ask(Owner(world.agent.id), name="q")
    assert await client.call("HGET", keyspace.policy_review(first.id), "status") == "stale"


async def test_one_person_takes_half_of_the_places_that_wait(client, keys, reviews, workspace_id, ask, ann, bob):
    """With all keys that have their root, also if they ask at once; whoever ends one makes room for another."""
    rotated, *_ = await keys.rotate(workspace_id, ann, overlap_ms=60_000, by=BY)
    first, waiting = await ask(), Keyspace(workspace_id).policy_reviews_waiting
    others = [part for number in range(WAITING_MAX // 2 - 2) for part in (first.expires_ms, f"{ann} {number}")]
    await client.call("ZADD", waiting, *others)
    asking = [ask(by=by_key(each), name=f"q {each} {n}") for each in (ann, rotated.id) for n in range(3)]
    said = await asyncio.gather(*asking, return_exceptions=True)
    refused = [each for each in said if isinstance(each, LimitReached)]
    assert (len(refused), str(refused[0]).startswith("100 changes that you asked for wait")) == (5, True)
    await ask(by=by_key(bob), name="of bob")
    await reviews.end(workspace_id, first.id, ReviewStatus.DENIED, the_key(bob))
    [fits] = [each for each in said if each not in refused]
    assert (await reviews.approve(workspace_id, fits.id, the_key(bob)))[0].kind == "created"
    assert await client.call("ZCARD", waiting) == WAITING_MAX // 2 - 1
    await ask(name="once more")


async def test_what_cannot_be_written_is_refused_when_it_is_asked_for(client, ids, workspace_id, agent, ann):
    """So nobody approves in vain."""
    limits = WorkspaceLimits(policies_per_agent=1, rules_bytes_per_agent=200, policies=2, second_person=True)
    policies, reviews = parts.policies(client, ids, limits), parts.policy_reviews(client, ids, limits)

    async def asked(**fields):
        with pytest.raises(Held) as held:
            await policies.create(
                workspace_id, Owner(agent.id), PolicyFields(**{"name": "p", "rules": RULES} | fields), by=by_key(ann)
            )
        return await reviews.ask(workspace_id, held.value)

    with pytest.raises(LimitReached, match="200 bytes"):
        await asked(rules=(ToolAllowlist(tools=["x" * 200]),))
    await policies.create(workspace_id, Owner(agent.id), SHADOW, by=by_key(ann))
    with pytest.raises(LimitReached, match=r"agent .*\(1\)"):
        await asked()
    assert await client.call("EXISTS", Keyspace(workspace_id).policy_reviews) == 0


async def test_pages_neither_repeat_nor_skip(reviews, workspace_id, ask, agent, bob):
    """Newest first, by status and owner."""
    made = [(await ask(name=f"p{number}")).id for number in range(5)]
    made.append((await ask(Owner(group="crew"))).id)
    await reviews.end(workspace_id, made[0], ReviewStatus.DENIED, the_key(bob))
    found, cursor = [], None
    while True:
        page, cursor = await reviews.page(workspace_id, ReviewQuery(limit=2, before=cursor))
        found += [each.id for each in page]
        if cursor is None:
            break
    assert found == made[::-1]
    denied, _ = await reviews.page(workspace_id, ReviewQuery(status=(ReviewStatus.DENIED,)))
    crew, _ = await reviews.page(workspace_id, ReviewQuery(group="crew"))
    mine, _ = await reviews.page(workspace_id, ReviewQuery(agent_id=agent.id))
    assert ([each.id for each in denied], [each.id for each in crew]) == (made[:1], made[5:])
    assert [each.id for each in mine] == made[4::-1]
    with pytest.raises(PolicyReviewNotFound):
        await reviews.get(workspace_id, agent.id)


async def test_many_that_wait_are_read_as_often_as_one(client, monkeypatch, reviews, workspace_id, ask, agent):
    """Whoever fills the places makes neither lists nor requests wait for a round trip each."""
    read = []
    for name in ("call", "read_pipelined"):
        monkeypatch.setattr(client, name, counted(getattr(client, name), read))

    async def trips(act):
        read.clear()
        await act
        return len(read)

    await ask()
    alone = [await trips(reviews.page(workspace_id, ReviewQuery())), await trips(ask(name="q"))]
    for number in range(5):
        await ask(name=f"p{number}")
    assert [await trips(reviews.page(workspace_id, ReviewQuery())), await trips(ask(name="r"))] == alone


def counted(real, calls):
    async def run(*args, **options):
        calls.append(args)
        return await real(*args, **options)

    return run


async def test_a_whole_set_is_replaced_as_it_was_shown(client, ids, sets, reviews, workspace_id, agent, ann, bob):
    """Created, changed, deleted and kept, in one step, with values that only look alike told apart."""
    owner = Owner(agent.id)
    before = [PolicyEntry(name=name, rules=RULES, key=name) for name in ("changed", "deleted", "kept")]
    await parts.policy_sets(client, ids).put(workspace_id, owner, before, by=BY)
    wanted = [
        PolicyEntry(name="changed", key="changed", rules=RULES, priority=7, agent_message="ask ann"),
        PolicyEntry(name="kept", key="kept", rules=RULES),
        PolicyEntry(name="new", rules=RULES),
    ]
    with pytest.raises(Held) as held:
        await sets.put(workspace_id, owner, wanted, prune=True, by=ChangedBy(the_key(ann)))
    review = await reviews.ask(workspace_id, held.value)
    assert {each.name: each.kind for each in review.policies} == {
        "changed": "updated", "new": "created", "deleted": "deleted",
    }  # fmt: skip
    planned = await reviews.changes(workspace_id, review.id)
    assert [each.kind for each in planned] == ["updated", "created", "deleted", "kept"]

    await reviews.approve(workspace_id, review.id, the_key(bob))

    now = (await sets.get(workspace_id, owner)).policies
    assert [(each.name, each.priority, each.version) for each in now] == [
        ("changed", 7, 2),
        ("kept", 0, 1),
        ("new", 0, 1),
    ]
    assert now[0].agent_message == "ask ann"
