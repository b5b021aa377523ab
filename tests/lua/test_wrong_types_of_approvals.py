"""Scripts of approvals and webhooks: a key of the wrong type is detected before anything is written."""

from itertools import count

import pytest
from commit_scene import ALLOWED, ESCALATED, Scene
from wrong_type_client import WrongTypeClient

from app.approvals.access_requests import AccessRequests, Submission, shown_request
from app.approvals.approvals import Approvals
from app.approvals.reaper import ApprovalReaper
from app.authorize.commit import ApprovalStep, CommitQuestion, Overtaken
from app.errors import DuplicateRequest, StoreUnavailable
from app.model.api_keys import Scope
from app.model.approvals import ApprovalStatus
from app.model.checkpoints import Fault, Finding
from app.model.decisions import AuthorizeRequest, Decision
from app.model.plans import Plan, Tokens
from app.model.policies import Owner, PolicyFields
from app.model.rules import ToolAllowlist
from app.model.webhooks import WebhookEvent
from app.redaction.signer import Signer
from app.redis_client.scripts import ADVANCE_OUTBOX
from app.runtime.clock import monotonic_us
from app.webhooks.records import note_finding, sending_keys
from app.webhooks.secrets import Secrets
from app.webhooks.webhooks import Webhooks
from tests.support import parts
from tests.support.actors import BY, by_key, the_key


class Waiting:
    """A call that waits for a person, a key that may approve, and a webhook with a waiting event."""

    def __init__(self, scene):
        self.scene, self.workspace_id = scene, scene.workspace_id
        self.approvals = Approvals(scene.client, scene.ids, 1_000)
        self.policies = parts.policies(scene.client, scene.ids)
        self.webhooks = Webhooks(scene.client, scene.ids, Secrets(Signer([])), 20)

    async def enter(self):
        scene = self.scene
        self.person, _ = await scene.keys.create(self.workspace_id, "ann", (Scope.ADMIN,), by=BY)
        rules = (ToolAllowlist(tools=["*"]),)
        self.policy = await self.policies.create(
            self.workspace_id, Owner(scene.agent.id), PolicyFields(name="p", rules=rules), by=BY
        )
        scene.agent = await scene.agents.get(self.workspace_id, scene.agent.id)
        self.held = scene.ids.new(0)
        assert isinstance(await self.commit("ask", self.held, digest="1" * 64), Decision)
        self.webhook, _ = await self.webhooks.create(self.workspace_id, "https://a.example/", [*WebhookEvent], by=BY)
        self.started = await scene.client.call("HGET", scene.keyspace.webhook_outbox(self.webhook.id), "log")
        assert await self.advance("waits") == ["done"]
        return self

    async def commit(self, step, approval_id, digest, **held):
        scene = self.scene
        request = AuthorizeRequest(scene.agent.id, "file.read", "authorize", {}, b"{}")
        approval = ApprovalStep(
            step=step, approval_id=approval_id, digest=digest, rules=("r",), policies=(self.policy.id,),
            asker_id=scene.key.id, **held,
        )  # fmt: skip
        plan, tokens = Plan(ALLOWED if step == "use" else ESCALATED), Tokens(scene.agent.version)
        decision_id = approval_id if step == "ask" else scene.ids.new(0)
        return await scene.committing(
            CommitQuestion(scene.caller, request, tokens, plan, decision_id, monotonic_us(), approval=approval)
        )

    async def approve(self):
        await self.approvals.decide(self.workspace_id, self.held, ApprovalStatus.APPROVED, by=the_key(self.person.id))

    async def advance(self, outcome, event="msg_1"):
        keyspace, webhook_id = self.scene.keyspace, self.webhook.id
        keys = sending_keys(keyspace, webhook_id)
        args = ["log", self.started, self.started, event, outcome, 5, b"{}", "1 1 no", "no", "", 10, b"{}", 50]
        return await self.scene.client.run(ADVANCE_OUTBOX, keys, args)


async def nothing(_):
    pass


async def ask(waiting):
    return await waiting.commit("ask", waiting.scene.ids.new(0), "2" * 64)


async def attach(waiting):
    await waiting.commit("attach", waiting.held, "1" * 64, current_id=waiting.held, current_version="1")


async def approve(waiting):
    await waiting.approve()


async def submit(waiting):
    """An access request."""
    scene = waiting.scene
    requests = AccessRequests(scene.client, scene.ids, waiting.approvals, 1_000)
    approval = await waiting.approvals.get(waiting.workspace_id, waiting.held)
    shown = shown_request(b"{}", b"{}", b"{}")
    submission = Submission(task_id=waiting.held, shown=shown, key="k", bodies=("b",))
    try:
        await requests.submit(scene.caller, approval, submission)
    except DuplicateRequest as refusal:  # whatever is there, it is not the MAC of this body
        raise StoreUnavailable(refusal.message) from None


async def use(waiting):
    await waiting.commit("use", waiting.held, "1" * 64, current_id=waiting.held, current_version="2")


async def delete_policy(waiting):
    await waiting.policies.delete(waiting.workspace_id, waiting.policy.id, by=BY)


async def end(waiting):
    await ApprovalReaper(waiting.scene.client, waiting.scene.ids, 1_000).end_without_basis(waiting.workspace_id)


async def create_webhook(waiting):
    await waiting.webhooks.create(
        waiting.workspace_id, "https://b.example/", [*WebhookEvent], by=by_key(waiting.scene.key.id)
    )


async def update_webhook(waiting):
    await waiting.webhooks.update(
        waiting.workspace_id, waiting.webhook.id, url="https://b.example/", by=by_key(waiting.scene.key.id)
    )


async def delete_webhook(waiting):
    await waiting.webhooks.delete(waiting.workspace_id, waiting.webhook.id, by=by_key(waiting.scene.key.id))


async def deliver(waiting):
    await waiting.advance("delivered")


async def park(waiting):
    await waiting.advance("parked")


async def retry(waiting):
    await waiting.webhooks.retry(waiting.workspace_id, waiting.webhook.id, "msg_1")


async def note(waiting):
    finding = Finding(Fault.CHANGED, 1, "Segment 1 is not what was sealed")
    await note_finding(waiting.scene.client, waiting.workspace_id, finding)


ACTS = [
    (nothing, ask),
    (nothing, attach),
    (nothing, approve),
    (nothing, submit),
    (approve, use),
    (delete_policy, end),
    (nothing, create_webhook),
    (nothing, update_webhook),
    (nothing, delete_webhook),
    (nothing, deliver),
    (nothing, park),
    (nothing, retry),
    (nothing, note),
]


async def entered(client, workspace_id, before):
    wrong_types = WrongTypeClient(client)
    scene = wrong_types.scene = await Scene(wrong_types, wrong_types, workspace_id).enter()
    waiting = await Waiting(scene).enter()
    await before(waiting)
    return wrong_types, waiting


@pytest.mark.parametrize(("before", "act"), ACTS, ids=lambda act: act.__name__)
async def test_a_key_of_another_type_leaves_nothing_half_written(client, ids, before, act):
    """I6: whichever key it is, it is an error, and every key is as it was; unless the key was to be deleted anyway."""
    wrong_types, waiting = await entered(client, ids.new(0), before)
    for nth in count():
        wrong_types.nth = nth
        try:
            answer = await act(waiting)
        except StoreUnavailable:
            assert await waiting.scene.everything() == wrong_types.before, nth
        except IndexError:
            assert nth >= 1, "every script has a key"
            return
        else:
            if not isinstance(answer, Overtaken):  # whatever is there, it is in the way of something new
                assert act is delete_webhook, "only what is deleted may be deleted whatever it is"
                assert nth >= 4
                wrong_types, waiting = await entered(client, ids.new(0), before)
                continue
            assert await waiting.scene.everything() == wrong_types.before, nth
        await wrong_types.put_back()
