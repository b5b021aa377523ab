"""Runs two concurrent acts on one approval, on three replicas, and records the history that answers and log tell.

An act is a sequence of operations. A race runs one act at a chosen place within the other: after that one has read, and
before its next script runs.
"""

import asyncio
import uuid
from contextlib import suppress

from approvals_world import TOOL, Clock, Clocked, InProcess

from app.approvals.reaper import ApprovalReaper
from app.errors import AppError
from app.model.actors import Actor, ActorKind, Via
from app.model.agents import AgentStatus
from app.model.api_keys import Scope
from app.model.approvals import ApprovalStatus, ApprovalTerms, Approvers
from app.model.ids import Ids
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.rules import ApprovalRequired, ToolAllowlist
from app.model.sign_ins import Identity, SignOut
from app.model.times import parse_time_ms
from app.redis_client.replies import as_record
from app.store.keyspace import Keyspace
from app.store.sign_ins import SignIns
from tests.support import parts
from tests.support.actors import BY, by_key, the_key

LASTS_S = 300
ASKER, ANN, BOB, PAT = range(4)
HOUSE = {"approval_expired", "approval_cancelled"}
AT_ANY_TIME = HOUSE | {"approval_mismatch"}


class Gated:
    """A client that stops before its script number `stop`, counted from 0, until `go` is set."""

    def __init__(self, client):
        self._client = client
        self.ran, self.stop = 0, None
        self.stopped, self.go = asyncio.Event(), asyncio.Event()

    async def step(self):
        """Stop here if this is the place."""
        number, self.ran = self.ran, self.ran + 1
        if number == self.stop:
            self.stopped.set()
            await self.go.wait()

    async def run(self, *given, **options):
        await self.step()
        return await self._client.run(*given, **options)

    def prepare(self, *given):
        call = self._client.prepare(*given)

        async def commit(*per_call):
            await self.step()
            return await call(*per_call)

        return commit

    def __getattr__(self, name):
        return getattr(self._client, name)


class Replica(InProcess):
    """A replica, and what people change through it."""

    def __init__(self, client):
        super().__init__(client)
        ids = Ids()
        self.gate = client
        self.agents, self.policies, self.keys = (
            make(client, ids) for make in (parts.agents, parts.policies, parts.api_keys)
        )
        self.approval_reaper = ApprovalReaper(client, ids, 1 << 30)
        self.sign_ins = SignIns(client, ids)

    async def signed_in(self, workspace_id, via=Via.CONSOLE):
        """The id of a new session of one and the same person."""
        return (await self.sign_ins.create(workspace_id, pat(), via))[0].id


class Scene:
    """An agent, a rule that asks, three keys, one call, and at most one approval of it when the race begins."""

    def __init__(self, clients, people=1, uses=1, valid_s=2 * LASTS_S, groups=()):
        self.clock, self.workspace_id = Clock(), Ids().new(1)
        self.replicas = [Replica(Gated(Clocked(each, self.clock))) for each in clients]
        who = {"approvers": Approvers(groups=list(groups))} if groups else {}
        self.terms = ApprovalTerms(
            expires_seconds=LASTS_S, approvals=people, valid_seconds=valid_s, max_uses=uses, **who
        )
        self.approval_id = ""

    async def enter(self, asked=True, approved=False, signed_in=False):
        """Make every replica know the agent; if `asked`, each asks once. approved: enough people approve.

        signed_in: Pat has signed in with the identity provider.
        """
        replica = self.replicas[2]
        made = [
            await replica.keys.create(self.workspace_id, name, (Scope.ADMIN,), by=BY)
            for name in ("asker", "ann", "bob")
        ]
        self.keys = [key.id for key, _ in made]
        self.keys += [await replica.signed_in(self.workspace_id)] if signed_in else []
        self.agent = (await replica.agents.create(self.workspace_id, "one", None, by=BY)).id
        free = (ToolAllowlist(tools=["refund.*"]),)
        await replica.policies.create(
            self.workspace_id, Owner(self.agent), PolicyFields(name="free", rules=free), by=BY
        )
        asks = await replica.policies.create(
            self.workspace_id, Owner(self.agent), PolicyFields(name="asks", rules=(self.rule(),)), by=BY
        )
        self.policy_id = asks.id
        for each in self.replicas if asked else ():
            _, self.approval_id = await each.asked(self.workspace_id, self.agent, self.keys[ASKER], 1)
        for key in (ANN, BOB)[: self.terms.approvals] if approved else ():
            await decide("approved", key)(self, replica)
        for each in self.replicas:
            each.gate.ran = 0
        return self

    def rule(self, **terms):
        """The rule that asks, with other terms if any are given."""
        held = {name: getattr(self.terms, name) for name in self.terms.__struct_fields__}
        return ApprovalRequired(tools=[TOOL], approval=ApprovalTerms(**held | terms))

    async def history(self, answers):
        """The answers, the answer to the same call afterwards, what the log says, and the approval's final state.

        Approvals are named by the order in which the log has them first. What housekeeping ends is only counted,
        because it answers nobody and may be logged a little later.
        """
        then = [await ask(self, self.replicas[2])]
        stream = await self.replicas[2].gate.call("XRANGE", Keyspace(self.workspace_id).audit_stream, "-", "+")
        log = [as_record(fields) for _, fields in stream]
        ids = dict.fromkeys(each["approvalId"] for each in log if each.get("approvalId"))
        names = {approval_id: f"approval {number}" for number, approval_id in enumerate(ids)} | {"": ""}
        told = [(each["result"] or each["code"], names[each.get("approvalId", "")], each["keyId"]) for each in log]
        kept = [is_kept_house(each) for each in log]
        require_lawful(told, self.terms.max_uses)
        became = []
        for approval_id in ids:
            shown = await self.replicas[2].approvals.get(self.workspace_id, approval_id)
            require_in_time([each for each in log if each.get("approvalId") == approval_id], shown)
            became.append((shown.status.value, shown.version, shown.requests, shown.uses_left))
        people = {key: number for number, key in enumerate(self.keys)}
        return (
            tuple(_named(answer, names) for answer in (*answers, *then)),
            tuple((said, name, people[key]) for (said, name, key), house in zip(told, kept, strict=True) if not house),
            tuple(sorted((said, name) for (said, name, _), house in zip(told, kept, strict=True) if house)),
            tuple(became),
        )


def _named(answer, names):
    said, approval_id = answer
    return said, names.get(approval_id or "", "an approval that the log does not know")


def is_kept_house(entry):
    """Whether housekeeping did this: the approval ended because of the time or its basis."""
    return (
        entry["code"] == "approval_expired"
        or (entry["code"] == "approval_cancelled" and not entry["reason"].startswith("Cancelled by"))
        if "code" in entry
        else False
    )


def require_lawful(log, uses):
    """Fail if an approval was used before it was approved, after its end, or too often."""
    for name in {name for _, name, _ in log if name}:
        told = [said for said, each, _ in log if each == name]
        assert told.count("allowed") <= uses, told
        if "allowed" in told:
            assert "approval_approved" in told[: told.index("allowed")], told
        for ending in {"approval_denied", "approval_cancelled", "approval_expired"} & set(told):
            assert not {"allowed", "escalated", "approval_approved"} & set(told[told.index(ending) :]), told


def require_in_time(entries, approval):
    """Fail if, by the times in the log, it was joined, decided or used at a time when it could not be."""
    for each in entries:
        said = each["result"] or each["code"]
        ends = approval.usable_until if said == "allowed" else approval.expires_at
        assert said in AT_ANY_TIME or int(each["timeMs"]) < parse_time_ms(ends), (each, approval)


async def ask(scene, replica):
    """The call, as the agent's runtime sends it."""
    return await replica.asked(scene.workspace_id, scene.agent, scene.keys[ASKER], 1)


async def ask_by_name(scene, replica):
    """The call, which names its approval."""
    return await replica.asked(scene.workspace_id, scene.agent, scene.keys[ASKER], 1, scene.approval_id)


def pat(**others):
    """Who Pat is, according to the identity provider."""
    person = str(uuid.uuid5(uuid.NAMESPACE_URL, "pat"))
    return Identity(**{"name": "pat", "scopes": (Scope.ADMIN,), "person": person, "groups": ("finance",), **others})


def decide(verdict, key=ANN, by=None):
    """A person's word, or the asker's. by: who that is elsewhere."""

    async def said(scene, replica):
        try:
            await replica.approvals.decide(
                scene.workspace_id, scene.approval_id, ApprovalStatus(verdict), by=by or the_key(scene.keys[key])
            )
        except AppError as error:
            return type(error).__name__, None
        return "done", None

    return said


def decide_with_successor(verdict, key=ANN):
    """A person rotates their key, and says the word with its successor."""
    return _decide_with_new(verdict, lambda scene, replica: replica.keys.rotate(
        scene.workspace_id, scene.keys[key], 60_000, by=BY
    ))  # fmt: skip


def decide_with_child(verdict, key=ANN):
    """A person makes a second key with theirs, and says the word with that one."""
    return _decide_with_new(verdict, lambda scene, replica: replica.keys.create(
        scene.workspace_id, "second", (Scope.ADMIN,), by=by_key(scene.keys[key])
    ))  # fmt: skip


def _decide_with_new(verdict, make):
    async def said(scene, replica):
        made = (await make(scene, replica))[0]
        scene.keys.append(made.id)
        return await decide(verdict, len(scene.keys) - 1)(scene, replica)

    return said


def decide_with_rotated_child(verdict, key=ANN):
    """A person makes a second key with theirs, somebody rotates it, and they say the word with its successor."""

    async def make(scene, replica):
        by = by_key(scene.keys[key])
        child = (await replica.keys.create(scene.workspace_id, "second", (Scope.ADMIN,), by=by))[0]
        return await replica.keys.rotate(scene.workspace_id, child.id, 60_000, by=BY)

    return _decide_with_new(verdict, make)


def decide_in_new_session(verdict, via=Via.CONSOLE):
    """Pat signs in once more, in the console or with `remit login`, and says the word in that session."""

    async def said(scene, replica):
        scene.keys.append(await replica.signed_in(scene.workspace_id, via))
        return await decide(verdict, len(scene.keys) - 1)(scene, replica)

    return said


def decide_in_slack(verdict, key=PAT):
    """Pat says the word in Slack, by a session that has become idle meanwhile."""

    async def said(scene, replica):
        session = await replica.sign_ins.get(scene.workspace_id, scene.keys[key])
        if session is None:
            return "Unauthorized", None  # as `of_address` answers
        by = Actor(session.id, session.name, ActorKind.KEY, Via.SLACK, session.person)
        return await decide(verdict, key, by)(scene, replica)

    return said


async def end_sessions(scene, replica):
    """The identity provider says that Pat has signed out."""
    who = SignOut(person=pat().person, at_s=-1, token=scene.workspace_id, remembered_s=60)
    await replica.sign_ins.sign_out_once([scene.workspace_id], who)
    return "", None


async def pass_time(scene, replica):
    """Let the time to decide pass, by the store's clock, before any compactor notices."""
    await replica.gate.step()
    scene.clock.now_ms += (LASTS_S + 1) * 1000
    return "", None


async def expire(scene, replica):
    """The same, and a compactor notices."""
    await pass_time(scene, replica)
    await replica.approval_reaper.end_approvals([scene.workspace_id])
    return "", None


async def edit_policy(scene, replica):
    """Change its terms, which makes it a different rule."""
    rules = (scene.rule(expires_seconds=LASTS_S - 1),)
    await replica.policies.update(scene.workspace_id, scene.policy_id, PolicyChanges(rules=rules), by=BY)
    return "", None


async def name_approvers(scene, replica):
    """Let the rule name a group in which nobody of the scene is."""
    rules = (scene.rule(approvers=Approvers(groups=["board"])),)
    await replica.policies.update(scene.workspace_id, scene.policy_id, PolicyChanges(rules=rules), by=BY)
    return "", None


async def delete_policy(scene, replica):
    """Delete the policy, so that nobody needs to be asked."""
    await replica.policies.delete(scene.workspace_id, scene.policy_id, by=BY)
    await replica.approval_reaper.end_soon(scene.workspace_id)
    return "", None


async def revoke_asker(scene, replica):
    """Revoke the key that asked."""
    await replica.keys.revoke(scene.workspace_id, scene.keys[ASKER], force=True, by=BY)
    await replica.approval_reaper.end_soon(scene.workspace_id)
    return "", None


def set_status(status):
    """Suspend the agent, or make it active again."""

    async def put(scene, replica):
        await replica.agents.update(scene.workspace_id, scene.agent, status=AgentStatus(status), by=BY)
        if status != "active":
            await replica.approval_reaper.end_soon(scene.workspace_id, scene.agent)
        return "", None

    return put


async def in_turn(scene, order):
    """Run the operations one after the other, each on the replica of its act; return their answers, by act."""
    answers = {act: [] for act, _ in order}
    for act, operation in order:
        answers[act].append(await operation(scene, scene.replicas[act]))
    return [answer for _, given in sorted(answers.items()) for answer in given]


async def all_of(scene, act, operations, pauses=0):
    """Run an act after so many turns of the loop; return its answers."""
    for _ in range(pauses):
        await asyncio.sleep(0)
    return [await operation(scene, scene.replicas[act]) for operation in operations]


async def within(scene, acts, outer, stop):
    """The answers if the other act runs before script number `stop` of `outer`; None if it has fewer scripts."""
    gate, inner = scene.replicas[outer].gate, 1 - outer
    gate.stop = stop
    running = asyncio.create_task(all_of(scene, outer, acts[outer]))
    stopped = asyncio.create_task(gate.stopped.wait())
    await asyncio.wait({running, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    with suppress(asyncio.CancelledError):
        await stopped
    if not gate.stopped.is_set():
        await running
        return None
    told = await all_of(scene, inner, acts[inner])
    gate.go.set()
    answers = {outer: await running, inner: told}
    return [*answers[0], *answers[1]]
