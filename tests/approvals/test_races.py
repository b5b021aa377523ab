"""What happens to an approval at the same moment on several replicas happened in one order or the other.

Each race is run at every place where one act can come between the reads and the writes of the other, and once without
control. Answers, log and approval must be as if the operations had run one after the other, in some order.
"""

import asyncio
import itertools
import random
from collections import Counter
from contextlib import AsyncExitStack, aclosing

import approvals_races as races
import pytest
from approvals_races import ANN, ASKER, BOB, LASTS_S, PAT, Scene, ask, ask_by_name, decide, expire, pass_time

from app.model.actors import Via
from app.redis_client.clients import open_client

FREELY = 10
APPROVE, DENY, CANCEL = decide("approved"), decide("denied"), decide("cancelled", ASKER)
SUSPEND, ACTIVATE = races.set_status("suspended"), races.set_status("active")
PENDING, APPROVED = {}, {"approved": True, "valid_s": LASTS_S}
RACES = {
    "two ask": ([ask], [ask], {"asked": False}),
    "use, withdraw": ([ask], [decide("cancelled", BOB)], APPROVED),
    "use, withdraw, of two uses": ([ask], [decide("cancelled", ANN)], {"approved": True, "uses": 2}),
    "approve, withdraw": ([APPROVE], [decide("cancelled", BOB)], PENDING),
    "withdraw, withdraw": ([decide("cancelled", ANN)], [decide("cancelled", BOB)], APPROVED),
    "use by name, withdraw": ([ask_by_name], [decide("cancelled", BOB)], APPROVED),
    "withdraw, suspend": ([decide("cancelled", BOB)], [SUSPEND], APPROVED),
    "withdraw, time passes": ([decide("cancelled", BOB)], [pass_time], APPROVED),
    "approve, approve": ([APPROVE], [decide("approved", BOB)], PENDING),
    "approve, approve, two needed": ([APPROVE], [decide("approved", BOB)], {"people": 2}),
    "the same person twice, two needed": ([APPROVE], [decide("approved", ANN)], {"people": 2}),
    "a person and their rotated key, two needed": ([APPROVE], [races.decide_with_successor("approved")], {"people": 2}),
    "a person and a key they made, two needed": ([APPROVE], [races.decide_with_child("approved")], {"people": 2}),
    "approve, rotate and approve one's own": ([APPROVE], [races.decide_with_successor("approved", ASKER)], PENDING),
    "deny, make a key and approve one's own": ([DENY], [races.decide_with_child("approved", ASKER)], PENDING),
    "a person in two sessions, two needed": (
        [decide("approved", PAT)],
        [races.decide_in_new_session("approved")],
        {"people": 2, "signed_in": True},
    ),
    "a person in the console and with a command, two needed": (
        [decide("approved", PAT)],
        [races.decide_in_new_session("approved", Via.CLI)],
        {"people": 2, "signed_in": True},
    ),
    "a person in Slack and in the console, two needed": (
        [races.decide_in_slack("approved")],
        [races.decide_in_new_session("approved")],
        {"people": 2, "signed_in": True},
    ),
    "a person in Slack and with a command, two needed": (
        [races.decide_in_slack("approved")],
        [races.decide_in_new_session("approved", Via.CLI)],
        {"people": 2, "signed_in": True},
    ),
    "a person in Slack and a key they made, two needed": (
        [races.decide_in_slack("approved")],
        [races.decide_with_child("approved", PAT)],
        {"people": 2, "signed_in": True},
    ),
    "approve in Slack, deny in the console": (
        [races.decide_in_slack("approved")],
        [races.decide_in_new_session("denied")],
        {"signed_in": True},
    ),
    "approve in Slack, end the session": (
        [races.decide_in_slack("approved")],
        [races.end_sessions],
        {"signed_in": True},
    ),
    "a person and the successor of a key they made, two needed": (
        [decide("approved", PAT)],
        [races.decide_with_rotated_child("approved", PAT)],
        {"people": 2, "signed_in": True},
    ),
    "a person and a key they made in a session, two needed": (
        [decide("approved", PAT)],
        [races.decide_with_child("approved", PAT)],
        {"people": 2, "signed_in": True},
    ),
    "approve in a session, end it": ([decide("approved", PAT)], [races.end_sessions], {"signed_in": True}),
    "approve in a session, name other approvers": (
        [decide("approved", PAT)],
        [races.name_approvers],
        {"signed_in": True, "groups": ["finance"]},
    ),
    "use, name approvers": ([ask], [races.name_approvers], APPROVED),
    "two persons, one of the group": ([APPROVE], [decide("approved", PAT)], {"signed_in": True, "groups": ["finance"]}),
    "use, rotate and cancel": ([ask], [races.decide_with_successor("cancelled", ASKER)], PENDING),
    "approve, deny": ([APPROVE], [decide("denied", BOB)], PENDING),
    "approve, cancel": ([APPROVE], [CANCEL], PENDING),
    "approve, expire": ([APPROVE], [expire], PENDING),
    "approve, time passes": ([APPROVE], [pass_time], PENDING),
    "approve, edit": ([APPROVE], [races.edit_policy], PENDING),
    "approve, delete": ([APPROVE], [races.delete_policy], PENDING),
    "approve, suspend": ([APPROVE], [SUSPEND], PENDING),
    "approve, suspend and activate": ([APPROVE], [SUSPEND, ACTIVATE], PENDING),
    "approve, revoke the asker": ([APPROVE], [races.revoke_asker], PENDING),
    "ask again, approve": ([ask], [APPROVE], PENDING),
    "ask again, deny": ([ask], [DENY], PENDING),
    "ask again, cancel": ([ask], [CANCEL], PENDING),
    "ask again, expire": ([ask], [expire], PENDING),
    "use, use": ([ask], [ask], APPROVED),
    "use, use, of two uses": ([ask], [ask], {"approved": True, "uses": 2}),
    "use, cancel": ([ask], [CANCEL], APPROVED),
    "use, expire": ([ask], [expire], APPROVED),
    "use, time passes": ([ask], [pass_time], APPROVED),
    "use, edit": ([ask], [races.edit_policy], APPROVED),
    "use, delete": ([ask], [races.delete_policy], APPROVED),
    "use, suspend": ([ask], [SUSPEND], APPROVED),
    "use, suspend and activate": ([ask], [SUSPEND, ACTIVATE], APPROVED),
    "use, revoke the asker": ([ask], [races.revoke_asker], APPROVED),
    "use by name, use": ([ask_by_name], [ask], APPROVED),
    "use by name, use by name": ([ask_by_name], [ask_by_name], APPROVED),
    "use by name, expire": ([ask_by_name], [expire], APPROVED),
    "use by name, time passes": ([ask_by_name], [pass_time], APPROVED),
    "use by name, edit": ([ask_by_name], [races.edit_policy], APPROVED),
    "use by name, delete": ([ask_by_name], [races.delete_policy], APPROVED),
    "use by name, suspend and activate": ([ask_by_name], [SUSPEND, ACTIVATE], APPROVED),
    "join by name, approve": ([ask_by_name], [APPROVE], PENDING),
    "join by name, deny": ([ask_by_name], [DENY], PENDING),
    "join by name, time passes": ([ask_by_name], [pass_time], PENDING),
    "join by name, expire": ([ask_by_name], [expire], PENDING),
}


@pytest.fixture
async def clients(valkey_store):
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(_closing(open_client(valkey_store.url, 5_000))) for _ in range(3)]


def _closing(client):
    client.aclose = client.close
    return aclosing(client)


def merges(one, two):
    """Every order in which the operations of two acts can happen."""
    whose = [0] * len(one) + [1] * len(two)
    for order in set(itertools.permutations(whose)):
        operations = (iter(one), iter(two))
        yield [(act, next(operations[act])) for act in order]


@pytest.mark.slow
@pytest.mark.parametrize("name", RACES)
async def test_a_race_ends_as_one_of_its_sequential_histories(clients, name):
    """If those histories differ, the places at which one act is stopped lead to more than one of them."""
    one, two, terms = RACES[name]
    made = {each: terms[each] for each in ("people", "uses", "valid_s", "groups") if each in terms}
    entered = {each: terms[each] for each in ("asked", "approved", "signed_in") if each in terms}

    async def scene():
        return await Scene(clients, **made).enter(**entered)

    lawful = set()
    for order in merges(one, two):
        fresh = await scene()
        lawful.add(await fresh.history(await races.in_turn(fresh, order)))

    seen = Counter()
    for outer in (0, 1):
        for stop in itertools.count():
            fresh = await scene()
            answers = await races.within(fresh, (one, two), outer, stop)
            if answers is None:
                break
            seen[await fresh.history(answers)] += 1
    chance = random.Random(name)
    for _ in range(FREELY):
        fresh = await scene()
        first, second = await asyncio.gather(
            races.all_of(fresh, 0, one, chance.randrange(12)), races.all_of(fresh, 1, two, chance.randrange(12))
        )
        seen[await fresh.history([*first, *second])] += 1

    assert seen.keys() <= lawful
    assert len(seen) >= min(2, len(lawful))


@pytest.mark.parametrize("named", [0, 50, 100])
async def test_of_a_hundred_concurrent_repeats_one_uses_the_approval(clients, named):
    """On three replicas at once. Of the others, those that name it are refused, and the rest share one new approval."""
    scene = await Scene(clients).enter(approved=True)
    calls = [
        (ask_by_name if number < named else ask)(scene, scene.replicas[number % 3])
        for number in random.Random(named).sample(range(100), 100)
    ]
    told = await asyncio.gather(*calls)
    said = Counter(result for result, _ in told)
    assert said["allowed"] == 1
    assert said["ApprovalMismatch"] in {named, named - 1}
    assert said.total() == said["allowed"] + said["ApprovalMismatch"] + said["escalated"]
    assert {each for result, each in told if result == "allowed"} == {scene.approval_id}
    asked = {each for result, each in told if result == "escalated"}
    assert len(asked) == (1 if said["escalated"] else 0)
    assert scene.approval_id not in asked
    await scene.history([])
