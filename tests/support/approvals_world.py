"""A workspace on three replicas in which things happen at random, and the naive model that checks every answer."""

import asyncio
from collections import Counter

import msgspec
from approval_steps import SECRET
from approvals_model import CANCELLED, Model, Rule

from app.approvals.approvals import Approvals
from app.approvals.reaper import ApprovalReaper
from app.authorize.commit import CommitDecision
from app.authorize.escalation.request import Bounds
from app.errors import AppError, StoreUnavailable
from app.model.agents import AgentStatus
from app.model.api_keys import Caller, Scope
from app.model.approvals import ApprovalQuery, ApprovalStatus, ApprovalTerms
from app.model.decisions import AuthorizeRequest
from app.model.ids import Ids
from app.model.policies import Owner, PolicyChanges, PolicyFields
from app.model.rules import ApprovalRequired, ToolAllowlist
from app.pdp import compile_agent
from app.redaction.signer import Signer
from app.redis_client.replies import as_record
from app.redis_client.scripts import COMMIT_DECISION
from app.runtime.clock import StoreClock, monotonic_us
from app.runtime.metrics import Metrics
from app.store.keyspace import Keyspace
from tests.support import parts
from tests.support.actors import BY, the_key

START_MS = 1_800_000_000_000
TOOL = "refund.create"


class Clock:
    """The store's clock in a test: scripts that take a time get this one."""

    def __init__(self):
        self.now_ms = START_MS


class Clocked:
    """A client of a store whose clock is a test's."""

    def __init__(self, client, clock):
        self._client, self._clock = client, clock

    async def call(self, *args):
        if args == ("TIME",):
            return [str(self._clock.now_ms // 1000), str(self._clock.now_ms % 1000 * 1000)]
        return await self._client.call(*args)

    async def run(self, script, keys, args, **options):
        if script.args[:1] == ("now_us",) and args[0] == "":
            args = [self._clock.now_ms * 1000, *args[1:]]
        return await self._client.run(script, keys, args, **options)

    def prepare(self, script, keys, per_call, fixed):
        at = COMMIT_DECISION.args.index("waited_us")

        def call(*given):
            given = (*given[:at], f"{given[at]} {self._clock.now_ms * 1000}", *given[at + 1 :])
            return self._client.prepare(script, keys, per_call, fixed)(*given)

        return call

    def follow(self, client):
        """Use this client's store from now on."""
        self._client = client

    def __getattr__(self, name):
        return getattr(self._client, name)


class InProcess:
    """The parts of a replica that decide calls and approvals."""

    def __init__(self, client):
        ids, clock = Ids(), StoreClock()
        cache = parts.agent_cache(parts.agents(client, ids), lambda *given: compile_agent(*_in_order(given)), 1 << 20)
        commit = CommitDecision(client, clock, 1 << 30)
        escalated = parts.escalated_commit(client.call, Signer([SECRET.encode()]), Bounds(1 << 20, 1 << 20))
        self.authorizer = parts.authorizer(cache, commit, escalated, clock, ids, Metrics(), client)
        self.approvals = Approvals(client, ids, 1 << 30)

    async def asked(self, workspace_id, agent, key, what, approval_id=""):
        """The answer to the call, and the approval that it names."""
        body = msgspec.json.encode({"agent_id": agent, "tool_name": TOOL, "parameters": {"amount": what}})
        parameters = {"amount": what}
        request = AuthorizeRequest(
            agent, TOOL, "authorize", parameters, msgspec.json.encode(parameters), size=len(body), written=body,
            approval_id=approval_id,
        )  # fmt: skip
        caller = Caller(workspace_id, key, frozenset({Scope.ADMIN}))
        try:
            decision = await self.authorizer.authorize(caller, request, monotonic_us())
        except AppError as error:
            kind = StoreUnavailable if isinstance(error, StoreUnavailable) else type(error)
            return kind.__name__, None
        return decision.outcome.result.value, decision.approval.id if decision.approval else None


def _in_order(given):
    agent, policies, *marks = given
    return agent, policies, lambda _name: False, *marks


class World:
    """A workspace, three replicas, and the model of them."""

    def __init__(self, client, clock, chance, workspace_id):
        self.client, self.clock, self.chance, self.workspace_id = client, clock, chance, workspace_id
        self.replicas = [InProcess(client) for _ in range(3)]
        self.agents, self.policies, self.keys = (
            make(client, Ids()) for make in (parts.agents, parts.policies, parts.api_keys)
        )
        self.approval_reaper = ApprovalReaper(client, Ids(), 1 << 30)
        self.model = Model()
        self.seen = Counter()
        self.recent, self.revoked = [], []
        self.stored = {}

    async def enter(self):
        """Create two agents that may use the tool, one of them with approval, and five keys."""
        for name in ("one", "two"):
            agent = await self.agents.create(self.workspace_id, name, None, by=BY)
            self.model.active[agent.id], self.model.rules[agent.id] = True, []
            rules = (ToolAllowlist(tools=["refund.*"]),)
            await self.policies.create(
                self.workspace_id, Owner(agent.id), PolicyFields(name="free", rules=rules), by=BY
            )
        for _ in range(5):
            await self.new_key()
        await self.add_policy()
        return self

    async def new_key(self):
        key, _ = await self.keys.create(self.workspace_id, "k", (Scope.ADMIN,), by=BY)
        self.model.keys.add(key.id)

    def _rule(self):
        choose = self.chance.choice
        terms = ApprovalTerms(
            expires_seconds=choose([60, 90, 300]),
            approvals=choose([1, 1, 2]),
            valid_seconds=choose([60, 120, 300]),
            max_uses=choose([1, 1, 2, 3]),
        )
        return ApprovalRequired(tools=[TOOL], approval=terms)

    async def ask(self, agent=None, what=None, key=None):
        """One call, on any replica."""
        model, chance = self.model, self.chance
        agent = agent or chance.choice(sorted(model.active))
        # Mostly the same key, so that calls are often asked about again.
        usual = min(model.keys) if chance.random() < 0.7 else self.some_key()
        key = key or (chance.choice(self.revoked) if self.revoked and chance.random() < 0.03 else usual)
        what = chance.randrange(4) if what is None else what
        wanted, approval_id, is_new = model.ask(agent, key, what, self.clock.now_ms)
        replica = chance.choice(self.replicas)
        result, real_id = await self.asked(replica, agent, key, what)
        if is_new:
            assert real_id not in model.approvals, "a question that was ended or used came back"
            assert real_id is not None, (wanted, result)
            model.named(approval_id, real_id)
            self.recent.append(real_id)
            approval_id = real_id
        assert (result, real_id) == (wanted, approval_id)
        self.seen[f"{result} {'with' if approval_id else 'without'}"] += 1

    async def asked(self, replica, agent, key, what):
        """What the replica answers to the call, and the approval that it names."""
        return await replica.asked(self.workspace_id, agent, key, what)

    def some_key(self):
        """A valid key."""
        return self.chance.choice(sorted(self.model.keys))

    async def decide(self):
        """A person, or the asker, decides; often on the newest approval, sometimes on one that has ended."""
        chance, model = self.chance, self.model
        if not self.recent:
            return
        approval_id = chance.choice(self.recent[-6:] if chance.random() < 0.9 else self.recent)
        held = model.approvals[approval_id]
        verdict = chance.choices(["approved", "denied", "cancelled"], [8, 1, 1])[0]
        key = held.asker if verdict == CANCELLED and chance.random() < 0.8 else self.some_key()
        if self.revoked and chance.random() < 0.03:
            key = chance.choice(self.revoked)
        version = chance.choice([None, None, held.version, held.version - 1])
        wanted = model.decide(approval_id, key, verdict, version, self.clock.now_ms)
        if_match = None if version is None else frozenset({version})
        try:
            made = await chance.choice(self.replicas).approvals.decide(
                self.workspace_id, approval_id, ApprovalStatus(verdict), by=the_key(key), if_match=if_match
            )
            got = made.status.value
        except AppError as error:
            got = type(error).__name__
        assert got == wanted, (verdict, held)
        self.seen[f"{verdict}: {got}"] += 1

    async def pass_time(self):
        """Move the clock on a little, far ahead, or back."""
        self.clock.now_ms += self.chance.choices([10, 5_000, 61_000, 301_000, -2_000], [8, 8, 3, 1, 1])[0]

    async def add_policy(self):
        agent = self.chance.choice(sorted(self.model.active))
        if len(self.stored) >= 6:
            return
        rule = self._rule()
        made = await self.policies.create(
            self.workspace_id, Owner(agent), PolicyFields(name="ask", rules=(rule,)), by=BY
        )
        self.stored[made.id] = (agent, rule)
        self._govern(made.id, agent, rule)

    def _govern(self, policy_id, agent, rule):
        terms = rule.approval
        made = Rule(policy_id, terms.expires_seconds, terms.approvals, terms.valid_seconds, terms.max_uses)
        self.model.rules[agent] = [each for each in self.model.rules[agent] if each.policy != policy_id] + [made]

    async def edit_policy(self):
        """Change its terms, which makes it another rule, or switch it off or on."""
        if not self.stored:
            return
        policy_id = self.chance.choice(sorted(self.stored))
        agent, rule = self.stored[policy_id]
        if self.chance.random() < 0.4:
            is_on = any(each.policy == policy_id for each in self.model.rules[agent])
            await self.policies.update(self.workspace_id, policy_id, PolicyChanges(enabled=not is_on), by=BY)
            if is_on:
                self.model.rules[agent] = [each for each in self.model.rules[agent] if each.policy != policy_id]
            else:
                self._govern(policy_id, agent, rule)
            return
        rule = self._rule()
        is_on = any(each.policy == policy_id for each in self.model.rules[agent])
        await self.policies.update(self.workspace_id, policy_id, PolicyChanges(rules=(rule,)), by=BY)
        self.stored[policy_id] = (agent, rule)
        if is_on:
            self._govern(policy_id, agent, rule)

    async def delete_policy(self):
        if not self.stored:
            return
        policy_id = self.chance.choice(sorted(self.stored))
        agent, _ = self.stored.pop(policy_id)
        await self.policies.delete(self.workspace_id, policy_id, by=BY)
        self.model.delete_policy(agent, policy_id)

    async def suspend_or_activate(self):
        agent = self.chance.choice(sorted(self.model.active))
        is_active = self.model.active[agent]
        status = AgentStatus.SUSPENDED if is_active else AgentStatus.ACTIVE
        await self.agents.update(self.workspace_id, agent, status=status, by=BY)
        if is_active:
            self.model.suspend(agent)
        else:
            self.model.active[agent] = True

    async def revoke_key(self):
        key = self.some_key()
        await self.keys.revoke(self.workspace_id, key, force=True, by=BY)
        self.model.revoke(key)
        self.revoked.append(key)
        await self.new_key()

    async def end_approvals(self):
        """End approvals once, as a compactor does."""
        wanted = self.model.end_approvals(self.clock.now_ms)
        await self.approval_reaper.end_approvals([self.workspace_id])
        self.model.log.extend(sorted(wanted))
        self.seen["ended"] += len(wanted)

    async def race(self):
        """Make the same call many times at once, on all replicas; as many are allowed as the approval has uses."""
        agent = self.chance.choice(sorted(self.model.active))
        what, key = self.chance.randrange(4), min(self.model.keys)
        answers = await asyncio.gather(*(self.asked(self.replicas[n % 3], agent, key, what) for n in range(6)))
        names = {}
        for _ in answers:
            wanted, approval_id, is_new = self.model.ask(agent, key, what, self.clock.now_ms)
            names.setdefault((wanted, approval_id), is_new)
        real = [each for each in answers if each[1] is not None and each[1] not in self.model.approvals]
        made = [approval_id for (_, approval_id), is_new in names.items() if is_new]
        assert len({each for _, each in real}) == len(made), "one question, however many ask it at once"
        for approval_id in made:
            held = self.model.approvals.pop(approval_id)
            held.id = real[0][1]
            self.model.approvals[held.id] = held
            self.model.of_call[held.call] = held.id
            self.model.log = [(told, held.id if each == approval_id else each) for told, each in self.model.log]
            held.asker = (await self.replicas[0].approvals.get(self.workspace_id, held.id)).requested_by.key_id
            self.recent.append(held.id)
        assert Counter(answers) == Counter(self.model.log_of(len(answers)))
        self.seen["races"] += 1

    async def check(self):
        """Every approval is as the model has it, and the log holds what happened, in order, and nothing else."""
        found, before = {}, None
        while True:
            page, before = await self.replicas[0].approvals.page(
                self.workspace_id, ApprovalQuery(limit=1000, before=before)
            )
            found |= {each.id: each for each in page}
            if before is None:
                break
        model = self.model.approvals
        assert found.keys() == model.keys()
        for approval_id, held in model.items():
            shown = found[approval_id]
            assert (shown.status.value, shown.version, shown.requests) == (
                held.shown(self.clock.now_ms), held.version, held.requests,
            ), held  # fmt: skip
        logged = [(said, approval_id) for said, approval_id, _ in await self.logged()]
        assert Counter(logged) == Counter(self.model.log)
        assert [each for each in logged if "expired" not in each[0] and "cancelled" not in each[0]] == [
            each for each in self.model.log if "expired" not in each[0] and "cancelled" not in each[0]
        ]

    async def logged(self):
        """Every entry of the log, oldest first: what it says, about which approval, and whose call it was."""
        stream = await self.client.call("XRANGE", Keyspace(self.workspace_id).audit_stream, "-", "+")
        entries = [as_record(fields) for _, fields in stream]
        return [(each["result"] or each["code"], each.get("approvalId", ""), each["keyId"]) for each in entries]

    def acts(self):
        """The steps that can come next, and their weights."""
        return {
            self.ask: 50, self.decide: 28, self.pass_time: 6, self.add_policy: 1, self.edit_policy: 1.5,
            self.delete_policy: 0.5, self.suspend_or_activate: 2, self.revoke_key: 0.5, self.end_approvals: 2,
            self.race: 1,
        }  # fmt: skip
