"""Scripts do not roll back, so they detect a wrong key before they write."""

from itertools import count

import pytest
from commit_scene import ALLOWED, DENIED, MINUTE, POLICY, Scene, quota
from wrong_type_client import WrongTypeClient

from app.audit.notes import accept_fork
from app.authorize.authenticator import Authenticator
from app.errors import StoreUnavailable
from app.model.api_keys import Scope
from app.model.checkpoints import SignedTree
from app.model.plans import DenialCount, HistoryCheck, Mark, Plan
from app.model.policies import WORKSPACE, Owner, PolicyChanges, PolicyFields, PolicyKind
from app.model.policy_reviews import ReviewStatus
from app.model.policy_sets import PolicyEntry
from app.model.quotas import RateLimit
from app.model.rules import RateLimited
from app.redis_client.scripts import FREEZE_AGENT
from app.store.keyspace import Keyspace
from app.store.limits import WorkspaceLimits
from app.store.put_policies import Held
from tests.support import parts
from tests.support.actors import BY, by_key, the_key

LIMITED = (RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=5, window_seconds=60)),)
REVIEWED = WorkspaceLimits(second_person=True)
OTHERWISE = (RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=5, window_seconds=120)),)


async def commit(scene, _):
    await scene.commit(quota("one", 5, MINUTE), quota("two", 5, MINUTE))


async def commit_with_marks(scene, _):
    check = HistoryCheck(POLICY, True, ("aa",), MINUTE, DENIED, "5e")
    await scene.commit(plan=Plan(ALLOWED, (check,), session="5e", marks=(Mark("aa", MINUTE, MINUTE),)))


async def commit_with_breakers(scene, _):
    asks, ends = (DenialCount(POLICY, name, 1, MINUTE, DENIED, name == "ends", 0) for name in ("asks", "ends"))
    await scene.commit(plan=Plan(DENIED, (quota("one", 5, MINUTE),), breakers=(asks, ends)))


async def check_key(scene, _):
    await Authenticator(scene.client, 10).authenticate(scene.raw_key)


async def create_agent(scene, _):
    await scene.agents.create(scene.workspace_id, "b", None, by=by_key(scene.key.id))


async def update_agent(scene, _):
    await scene.agents.update(scene.workspace_id, scene.agent.id, name="c", by=by_key(scene.key.id))


async def delete_agent(scene, _):
    await scene.agents.delete(scene.workspace_id, scene.agent.id, by=by_key(scene.key.id))


async def create_policy(scene, _):
    policies = parts.policies(scene.client, scene.ids)
    await policies.create(
        scene.workspace_id, Owner(scene.agent.id), PolicyFields(name="q", rules=LIMITED), by=by_key(scene.key.id)
    )


async def update_policy(scene, policy):
    policies = parts.policies(scene.client, scene.ids)
    await policies.update(scene.workspace_id, policy.id, PolicyChanges(rules=OTHERWISE), by=by_key(scene.key.id))


async def delete_policy(scene, policy):
    await parts.policies(scene.client, scene.ids).delete(scene.workspace_id, policy.id, by=by_key(scene.key.id))


async def create_key(scene, _):
    await scene.keys.create(scene.workspace_id, "k", (Scope.READ,), by=by_key(scene.key.id))


async def revoke_key(scene, _):
    await scene.keys.revoke(scene.workspace_id, scene.key.id, by=by_key(scene.key.id))


async def rotate_key(scene, _):
    await scene.keys.rotate(scene.workspace_id, scene.key.id, 0, by=by_key(scene.key.id))


async def create_guardrail(scene, _):
    policies = parts.policies(scene.client, scene.ids)
    fields = PolicyFields(kind=PolicyKind.GUARDRAIL, name="g", rules=LIMITED)
    await policies.create(scene.workspace_id, WORKSPACE, fields, by=by_key(scene.key.id))


async def put_policies(scene, policy):
    entries = [PolicyEntry(id=policy.id, name="p", rules=OTHERWISE), PolicyEntry(name="q", rules=LIMITED)]
    await parts.policy_sets(scene.client, scene.ids).put(
        scene.workspace_id, Owner(scene.agent.id), entries, prune=True, by=by_key(scene.key.id)
    )


async def accept_a_fork(scene, _):
    await accept_fork(scene.client, scene.workspace_id, SignedTree.LOG, by_key(scene.key.id))


async def ask_for_a_policy(scene, _, name="r"):
    policies = parts.policies(scene.client, scene.ids, REVIEWED)
    fields, by = PolicyFields(name=name, rules=LIMITED), by_key(scene.asker.id)
    try:
        await policies.create(scene.workspace_id, Owner(scene.agent.id), fields, by=by)
    except Held as held:
        return await reviews(scene).ask(scene.workspace_id, held)


async def approve_a_policy(scene, _):
    await reviews(scene).approve(scene.workspace_id, scene.review.id, the_key(scene.key.id))


async def deny_a_policy(scene, _):
    await reviews(scene).end(scene.workspace_id, scene.review.id, ReviewStatus.DENIED, the_key(scene.key.id))


def reviews(scene):
    return parts.policy_reviews(scene.client, scene.ids, REVIEWED)


AGENTS, POLICIES, KEYS = (
    (create_agent, update_agent, delete_agent),
    (create_policy, create_guardrail, update_policy, delete_policy, put_policies),
    (create_key, revoke_key, rotate_key),
)
REVIEWS = (ask_for_a_policy, approve_a_policy, deny_a_policy)
ACTS = (commit, commit_with_marks, commit_with_breakers, check_key, accept_a_fork, *AGENTS, *POLICIES, *KEYS, *REVIEWS)


async def entered(client, workspace_id):
    wrong_types = WrongTypeClient(client, [FREEZE_AGENT])
    scene = wrong_types.scene = await Scene(wrong_types, wrong_types, workspace_id).enter()
    policy = await parts.policies(client, scene.ids).create(
        workspace_id, Owner(scene.agent.id), PolicyFields(name="p", rules=LIMITED), by=BY
    )
    scene.agent = await scene.agents.get(workspace_id, scene.agent.id)
    scene.asker, _ = await scene.keys.create(workspace_id, "asker", (Scope.POLICIES,), by=BY)
    scene.review = await ask_for_a_policy(scene, policy, "asked before")
    await client.call("HSET", Keyspace(workspace_id).audit_checkpoint, "fork", "7 at 2 leaves")
    return wrong_types, scene, policy


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_a_key_of_another_type_leaves_nothing_half_written(client, ids, act):
    """I6: whichever key it is, it is an error, and every key is as it was; unless the key was to be deleted anyway."""
    wrong_types, scene, policy = await entered(client, ids.new(0))
    for nth in count():
        wrong_types.nth = nth
        try:
            await act(scene, policy)
        except StoreUnavailable:
            assert await scene.everything() == wrong_types.before, nth
            await wrong_types.put_back()
        except IndexError:
            assert nth >= 1, "every script has a key"
            return
        else:
            assert nth >= 8, "only what comes after the named keys may be deleted whatever it is"
            assert act in {delete_agent, update_policy, delete_policy, put_policies, approve_a_policy}
            wrong_types, scene, policy = await entered(client, ids.new(0))
