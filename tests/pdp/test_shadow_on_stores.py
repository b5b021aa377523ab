"""Shadow policies through the scripts that create, edit and commit: entries and counters are what the mirror says."""

import asyncio
from collections import Counter

import pytest
from fake_store import FakeClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mirror import naive
from msgspec import UNSET
from pdp_and_mirror import PdpAndMirror
from profiles import examples
from test_differential import POLICIES, STARTS, edit_one, steps
from test_on_stores import Workspace
from test_shadow import MODES, in_modes

from app.audit.entry_format import line_of
from app.model.agents import AgentStatus, Trip
from app.model.audit import decode_entry
from app.model.changes import ChangeQuery
from app.model.counting import quota_fingerprints
from app.model.decisions import Result, RuleRef, ShadowOutcome
from app.model.policies import SHADOW_BUCKET
from app.redis_client.replies import as_record
from app.store.changes import Changes
from app.store.keyspace import Keyspace
from tests.support import parts


@pytest.fixture(scope="module")
def fake():
    """An in-process store on an event loop of its own, since Hypothesis runs a test many times in one call of it."""
    with asyncio.Runner() as runner:
        yield FakeClient(), runner


async def newest_entry(workspace):
    [(_, fields)] = await workspace.client.call("XREVRANGE", Keyspace(workspace.id).audit_stream, "+", "-", "COUNT", 1)
    return decode_entry(line_of({name.encode(): value.encode() for name, value in as_record(fields).items()}))


async def counted(workspace, called):
    """How often the policy as it is now diverged, by what was decided and what would have been."""
    found = await parts.divergences(workspace.client).get(workspace.id, workspace.ids[called])
    return {f"{each.result} {each.shadow_result}": each.count for each in found.counts}


async def taken(workspace, called, index):
    """The times that the limit of a shadow policy holds, newest first."""
    policy = await workspace.policies.get(workspace.id, workspace.ids[called])
    name = quota_fingerprints(policy.rules)[index] + SHADOW_BUCKET
    times = await workspace.client.call("LRANGE", Keyspace(workspace.id).quota(policy.id, name), 0, -1)
    return [int(time) for time in times]


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(bodies=POLICIES, modes=MODES, calls=steps, start=st.sampled_from(STARTS))
def test_entries_and_counters_are_what_the_mirror_says(fake, bodies, modes, calls, start):
    """At every call of a history, with edits that reset the counts."""
    client, runner = fake

    async def history():
        oldest_first = in_modes(sorted(bodies, key=lambda body: (body["createdAt"], body["id"])), modes)
        workspace, sides = await Workspace(client).enter(oldest_first), PdpAndMirror(oldest_first)
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


async def test_a_denial_may_suspend_the_agent_and_be_what_a_shadow_policy_would_have_allowed(client):
    """One decision can be both: its entry has both, the divergence is counted, and the shadow limit counts the call."""
    terms = {"maxDenials": 2, "windowSeconds": 60, "action": "suspend"}
    breaker = {"type": "denial_breaker", "tools": ["*"], "denialBreaker": terms}
    allow = {"type": "tool_allowlist", "tools": ["file.*"]}
    limit = {"type": "rate_limit", "tools": ["file.*"], "rateLimit": {"maxCalls": 2, "windowSeconds": 60}}
    bodies = [
        {"id": "storms", "name": "storms", "kind": "guardrail", "rules": [breaker]},
        {"id": "tried", "name": "tried", "mode": "shadow", "rules": [allow, limit]},
    ]
    workspace = await Workspace(client).enter(bodies)

    seen = []
    for number in range(3):
        answer, _ = await workspace.judge("file.read", {}, STARTS[0] + number)
        assert answer[0] == "denied"
        seen.append(await newest_entry(workspace))

    storms, tried = workspace.ids["storms"], workspace.ids["tried"]
    assert [entry.suspended_by for entry in seen] == [UNSET, storms, UNSET]
    allowed = ShadowOutcome(tried, Result.ALLOWED, RuleRef(0, "tool_allowlist"))
    assert [entry.shadow for entry in seen] == [allowed, allowed, UNSET]
    assert await counted(workspace, "tried") == {"denied allowed": 2}
    assert await taken(workspace, "tried", 1) == [STARTS[0] + 1, STARTS[0]]
    agent = await workspace.agents.get(workspace.id, workspace.agent_id)
    assert (agent.status, agent.tripped) == (AgentStatus.SUSPENDED, Trip(storms, seen[1].id))
    [change] = (await Changes(client).query(workspace.id, ChangeQuery(actor_id="breaker"))).changes
    assert change.tripped == agent.tripped
