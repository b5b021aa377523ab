"""Shadow policies through the scripts that create, edit and commit: entries and counters are what the mirror says."""

import asyncio
from collections import Counter

import pytest
from both_sides import BothSides
from fake_store import FakeClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mirror import naive
from profiles import examples
from test_differential import STARTS, edit_one, policies, steps
from test_on_stores import Workspace
from test_shadow import MODES, in_modes

from app.audit.entry_format import line_of
from app.model.audit import decode_entry
from app.redis_client.replies import as_record
from app.store.keyspace import Keyspace


@pytest.fixture(scope="module")
def fake():
    """An in-process store on an event loop of its own, since Hypothesis runs a test many times in one call of it."""
    with asyncio.Runner() as runner:
        yield FakeClient(), runner


async def newest_entry(workspace):
    [(_, fields)] = await workspace.client.call("XREVRANGE", Keyspace(workspace.id).audit_stream, "+", "-", "COUNT", 1)
    return decode_entry(line_of({name.encode(): value.encode() for name, value in as_record(fields).items()}))


async def counted(workspace, called):
    """How often the policy diverged, by what was decided and what would have been."""
    key = Keyspace(workspace.id).divergence(workspace.ids[called])
    record = as_record(await workspace.client.call("HGETALL", key))
    return {name: int(count) for name, count in record.items() if name != "version"}


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(bodies=policies(), modes=MODES, calls=steps, start=st.sampled_from(STARTS))
def test_entries_and_counters_are_what_the_mirror_says(fake, bodies, modes, calls, start):
    """At every call of a history, with edits that begin the counts anew."""
    client, runner = fake

    async def history():
        oldest_first = in_modes(sorted(bodies, key=lambda body: (body["createdAt"], body["id"])), modes)
        workspace, sides = await Workspace(client).enter(oldest_first), BothSides(oldest_first)
        names = {policy_id: called for called, policy_id in workspace.ids.items()}
        counts = {called: Counter() for called in workspace.ids}
        now_us = start
        for tool, parameters, later_us, edit, _, context in calls:
            now_us += later_us
            if edit is not None:
                changed = edit_one(sides, oldest_first, *edit)
                await workspace.patch(changed["id"], {"rules": changed["rules"]})
                counts[changed["id"]].clear()

            answer, _ = await workspace.judge(tool, parameters, now_us, context=context)

            assert answer == tuple(sides.judge_by_mirror(tool, parameters, now_us, context))
            wanted, shadow = sides.mirror_divergence, (await newest_entry(workspace)).shadow
            said = shadow and naive.Divergence(shadow.result.value, names[shadow.policy_id], shadow.rule.index)
            assert (said or None) == wanted
            if wanted is not None:
                counts[wanted.policy][f"{answer[0]} {wanted.result}"] += 1
        assert {called: await counted(workspace, called) for called in counts} == counts

    runner.run(history())
