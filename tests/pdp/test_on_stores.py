"""The same cases end to end: policies are created and edited in a store, and the commit script closes the plans."""

import asyncio
from typing import Any

import msgspec
import pytest
from case_files import all_cases
from fake_store import FakeClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from pdp_and_mirror import DEFAULTS, REDACTOR, PdpAndMirror, owner_of
from profiles import examples
from test_differential import POLICIES, STARTS, edit_one, steps

from app.audit.entry_format import line_of
from app.authorize.agent_cache import CachedAgent
from app.authorize.authorizer import with_message
from app.authorize.commit import CommitDecision, CommitQuestion
from app.http.views.decisions import DecisionView
from app.model.agents import AgentStatus
from app.model.api_keys import Caller, Scope
from app.model.counting import quota_fingerprints
from app.model.decisions import AuthorizeRequest, Decision
from app.model.ids import Ids
from app.model.outcomes import CallStatus, decode_call
from app.model.policies import Owner, PolicyChanges, PolicyFields, PolicyKind, PolicyMode
from app.model.rules import Rules, recorded_code
from app.pdp import compile_agent, decide
from app.redis_client.replies import as_record
from app.runtime.clock import StoreClock
from app.store.keyspace import Keyspace
from app.store.outcomes import Outcomes
from tests.support import parts
from tests.support.actors import BY

SENT = DEFAULTS | {"agent_message": None}
CASES = [case for case in all_cases() if case.refused is None]


class Workspace:
    """One agent in a workspace of its own; `ids` maps what a case calls a policy to the id that the store gave it."""

    def __init__(self, client) -> None:
        self.client = client
        made = Ids()
        self.id = made.new(0)
        self.agents, self.policies, self.keys = (
            parts.agents(client, made),
            parts.policies(client, made),
            parts.api_keys(client, made),
        )
        self.commit = CommitDecision(client, StoreClock(), 100_000)
        self.made = made
        self.ids: dict[str, str] = {}

    async def enter(self, bodies, status="active", groups=()):
        """The agent and its policies exist, created in this order."""
        key, _ = await self.keys.create(self.id, "k", (Scope.READ,), None, by=BY)
        self.caller = Caller(self.id, key.id, frozenset({Scope.READ}))
        self.agent_id = (await self.agents.create(self.id, "a", None, groups, by=BY)).id
        if status != "active":
            await self.agents.update(self.id, self.agent_id, status=AgentStatus(status), by=BY)
        for body in bodies:
            rules = msgspec.convert(body["rules"], Rules)
            fields = {name: body.get(name, default) for name, default in SENT.items()}
            fields |= {"kind": PolicyKind(fields["kind"]), "mode": PolicyMode(fields["mode"])}
            owner = Owner(**owner_of(body, self.agent_id))
            policy = await self.policies.create(
                self.id, owner, PolicyFields(name=body["name"], rules=rules, **fields), by=BY
            )
            self.ids[body.get("id", body["name"])] = policy.id
        return self

    async def patch(self, called, fields):
        types = {"rules": Rules, "kind": PolicyKind, "mode": PolicyMode}
        converted = {name: msgspec.convert(value, types.get(name, Any)) for name, value in fields.items()}
        await self.policies.update(self.id, self.ids[called], PolicyChanges(**converted), by=BY)

    async def resume(self):
        """People make the agent active again."""
        await self.agents.update(self.id, self.agent_id, status=AgentStatus.ACTIVE, by=BY)

    async def report(self, call):
        """The runtime reports records of the call that was just decided."""
        [[_, entry]] = await self.client.call("XREVRANGE", Keyspace(self.id).audit_stream, "+", "-", "COUNT", 1)
        outcomes = Outcomes(self.client, self.made, 100_000)
        await outcomes.record(
            self.id,
            decode_call(line_of({name.encode(): value.encode() for name, value in as_record(entry).items()})),
            CallStatus.EXECUTED,
            call.reported,
            now_us=call.now_us,
        )

    async def fill(self, called, index, now_us):
        policy = await self.policies.get(self.id, self.ids[called])
        bucket = Keyspace(self.id).quota(policy.id, quota_fingerprints(policy.rules)[index])
        for _ in range(policy.rules[index].rate_limit.max_calls):
            await self.client.call("LPUSH", bucket, now_us)

    def called(self, policy_id):
        """The policy's name in the case."""
        return {each: name for name, each in self.ids.items()}.get(policy_id)

    async def judge(self, tool_name, parameters, now_us, action="authorize", context=None):
        """The committed answer: result, what the deciding policy is called, rule index, wait, and the reason.

        `told` is what the caller is told then.
        """
        governed = await self.agents.load(self.id, self.agent_id)
        recorded = b"" if context is None else msgspec.json.encode(context)
        request = AuthorizeRequest(
            self.agent_id, tool_name, action, parameters, b"{}", context=context, recorded_context=recorded
        )
        compiled = compile_agent(governed.agent, governed.policies, REDACTOR.is_secret, governed.shared_marks)
        plan = decide(compiled, request, now_us, self.caller.key_id)
        decision_id = self.made.new(now_us // 1000)
        cached = CachedAgent(governed.agent, compiled, governed.tokens, 0, lambda _entry, _more: None)
        decision = await self.commit(
            CommitQuestion(
                self.caller, request, governed.tokens, plan, decision_id, now_us, cached=cached, now_us=now_us
            )
        )
        assert isinstance(decision, Decision)
        self.told = DecisionView.of(with_message(decision, compiled))
        outcome, self.together = decision.outcome, decision.shadow
        [[_, entry]] = await self.client.call("XREVRANGE", Keyspace(self.id).audit_stream, "+", "-", "COUNT", 1)
        said = as_record(entry).get("code")
        assert outcome.code is recorded_code(outcome.result, outcome.rule and outcome.rule.type, said)
        called = self.called(outcome.policy_id)
        index = None if outcome.rule is None else outcome.rule.index
        return (outcome.result.value, called, index, decision.retry_after_us), outcome.reason


async def test_every_case_is_decided_alike_on_a_store(valkey_client):
    """Through the scripts that create, edit and commit policies and decisions. tests/lua runs these on every store."""
    for case in CASES:
        workspace = await Workspace(valkey_client).enter(
            case.policies, case.agent.get("status", "active"), case.agent.get("groups", ())
        )
        for number, call in enumerate(case.calls):
            for edit in call.edits:
                await workspace.patch(edit.policy, edit.patch)
            if call.resumed:
                await workspace.resume()
            for full in call.full:
                await workspace.fill(full.policy, full.rule, call.now_us)

            answer, reason = await workspace.judge(
                call.tool_name, call.parameters, call.now_us, call.action, call.context
            )

            wanted, where = call.wanted, f"{case.name}, call {number}"
            index = None if wanted.rule is None else wanted.rule.index
            assert answer[:3] == (wanted.result, wanted.policy, index), where
            if wanted.reason:
                assert reason == wanted.reason, where
            together = workspace.together
            if wanted.shadow is None:
                assert together is None or together.result == wanted.result, where
            else:
                would = (together.result, workspace.called(together.policy_id), together.rule.type)
                assert would == (wanted.shadow.result, wanted.shadow.policy, wanted.shadow.rule.type), where
            if wanted.retry_after_seconds is not UNSET:
                assert answer[3] == wanted.retry_us, where
            if call.reported:
                await workspace.report(call)


@pytest.fixture(scope="module")
def fake():
    """An in-process store on an event loop of its own, since Hypothesis runs a test many times in one call of it."""
    with asyncio.Runner() as runner:
        yield FakeClient(), runner


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(bodies=POLICIES, calls=steps, start=st.sampled_from(STARTS))
def test_the_whole_path_and_the_mirror_agree(fake, bodies, calls, start):
    """Create, edit, compile, decide, commit: the answers are those of the mirror."""
    client, runner = fake

    async def history():
        oldest_first = sorted(bodies, key=lambda body: (body["createdAt"], body["id"]))
        workspace, sides = await Workspace(client).enter(oldest_first), PdpAndMirror(bodies)
        now_us = start
        for tool, parameters, later_us, edit, _, context in calls:
            now_us += later_us
            if edit is not None:
                changed = edit_one(sides, bodies, *edit)
                await workspace.patch(changed["id"], {"rules": changed["rules"]})
                if sides.mirror_status != "active":
                    sides.resume()
                    await workspace.resume()

            answer, _ = await workspace.judge(tool, parameters, now_us, context=context)

            assert answer == tuple(sides.judge_by_mirror(tool, parameters, now_us, context))

    runner.run(history())
