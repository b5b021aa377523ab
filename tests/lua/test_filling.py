"""Open approvals of a rule, an agent and the workspace: each has room of its own, and says when little is left."""

import pytest
from commit_scene import ALLOWED, ESCALATED, START

from app.audit.entry_format import line_of
from app.authorize.commit import ApprovalStep, CommitDecision
from app.model.decision_codes import DecisionCode
from app.model.plans import Plan
from app.model.webhooks import Webhook, WebhookEvent
from app.webhooks.events import event_of_line

RULE, OTHER = "a" * 32, "b" * 32


class Asking:
    """Calls that ask people, each of its own, and what the metrics are told."""

    def __init__(self, scene, **most):
        self.scene, self.most, self.told = scene, most, []
        scene.committing = CommitDecision(scene.runner, scene.clock, 1_000, filling=self.told.append)
        self.asked = 0

    async def ask(self, rule=RULE):
        self.asked += 1
        step = ApprovalStep(
            step="ask", approval_id=self.scene.ids.new(self.asked), digest=f"{self.asked:064}", rules=(rule,),
            asker_id=self.scene.key.id, **self.most,
        )  # fmt: skip
        plan = Plan(ESCALATED, may_escalate=True)
        decision = await self.scene.commit(plan=plan, approval=step, decision_id=step.approval_id)
        return step.approval_id, decision.outcome.code

    async def entry(self):
        return (await self.scene.entries())[-1]


async def test_a_rule_that_asks_all_night_leaves_room_for_others(scene):
    """Its own room is full; the agent's other rules, and other agents, can still ask."""
    asking = Asking(scene, rule_max=5, agent_max=8, workspace_max=100)
    codes = [(await asking.ask())[1] for _ in range(6)]
    assert codes == [DecisionCode.APPROVAL_REQUIRED] * 5 + [DecisionCode.APPROVALS_FULL]
    assert [(await asking.ask(OTHER))[1] for _ in range(4)] == codes[:3] + codes[5:]


async def test_the_call_with_which_four_fifths_are_open_says_so_once(scene):
    """In its entry, and to the metrics: of a rule, of the agent, and of nothing else."""
    asking = Asking(scene, rule_max=5, agent_max=10, workspace_max=1_000)
    told = []
    for rule in (*[RULE] * 5, *[OTHER] * 4):
        await asking.ask(rule)
        told.append((await asking.entry()).get("filling"))
    assert told == [None, None, None, "rule", None, None, None, "agent", "rule"]
    assert asking.told == ["rule", "agent", "rule"]


async def test_what_was_used_leaves_the_room_of_its_rule(scene):
    """Whichever rule asks later."""
    asking = Asking(scene, rule_max=2)
    first, _ = await asking.ask()
    await asking.ask()
    record = scene.keyspace.approval(first)
    granted = ("status", "approved", "usable_until_ms", START // 1000 + 10**9, "granted_ms", 1)
    values = (*granted, "uses_left", 1, "version", 1)
    await scene.client.call("HSET", record, *values)
    step = ApprovalStep(
        step="use", approval_id=first, digest=f"{1:064}", current_id=first, current_version="1", rules=(RULE,),
        asker_id=scene.key.id,
    )  # fmt: skip
    used = await scene.commit(plan=Plan(ALLOWED, may_escalate=True), approval=step)
    assert used.outcome == ALLOWED
    assert (await asking.ask())[1] is DecisionCode.APPROVAL_REQUIRED
    assert (await asking.ask())[1] is DecisionCode.APPROVALS_FULL


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (["approvals.filling"], "approvals.filling"),
        (["approvals.filling", "approval.requested"], "approval.requested"),
        (["approval.decided"], None),
    ],
)
async def test_webhooks_are_told_that_approvals_pile_up(scene, events, told):
    """Once: who gets every request reads it there."""
    asking = Asking(scene, rule_max=1)
    await asking.ask()
    fields = {name.encode(): value.encode() for name, value in (await asking.entry()).items()}
    webhook = Webhook(id="w", url="https://r.example", events=tuple(map(WebhookEvent, events)))
    event = event_of_line(line_of(fields), webhook)
    assert (event and event.type) == told
