"""The random history of approvals goes on while masters are killed in the middle of calls and their replicas promoted.

Whatever was answered is there afterwards, whatever was not has happened as the log says or not at all, nothing is used
twice, and a webhook hears of every approval and of everything that became of it.
"""

import asyncio
import random
from collections import Counter

import msgspec
import pytest
import redis
from approvals_model import UNAUTHORIZED
from approvals_world import Clock, Clocked, World
from servers import Store
from topologies import until

from app.approvals.approvals import Approvals
from app.audit.log import AuditLog
from app.model.ids import Ids
from app.model.webhooks import WebhookEvent
from app.redaction.signer import Signer
from app.redis_client.clients import open_client
from app.store.keyspace import Keyspace
from app.webhooks.delivery import Attempt
from app.webhooks.outbox import Outbox
from app.webhooks.secrets import Secrets
from app.webhooks.webhooks import Webhooks
from tests.support.actors import BY

STEPS, FAILOVERS, MOST, AT_ONCE = 1_250, 3, 40, 6
HEARD = {
    "escalated": WebhookEvent.APPROVAL_REQUESTED,
    "approval_approved": WebhookEvent.APPROVAL_DECIDED,
    "approval_denied": WebhookEvent.APPROVAL_DECIDED,
    "approval_cancelled": WebhookEvent.APPROVAL_DECIDED,
    "approval_expired": WebhookEvent.APPROVAL_EXPIRED,
}


class Pair:
    """A master and its replica, and another replica whenever that has taken the master's place."""

    def __init__(self, binary, folder):
        self._binary, self._folder, self._made = binary, folder, 0
        self.master = self._start()
        self.replica = self._follower()

    def _start(self, *options):
        self._made += 1
        return Store(self._binary, self._folder / str(self._made), "--repl-diskless-sync-delay", "0", *options)

    def _follower(self):
        made = self._start("--replicaof", "127.0.0.1", str(self.master.port))
        with redis.Redis(port=made.port) as client:
            until(lambda: client.info("replication")["master_link_status"] == "up", "the replica has all there is")
        return made

    def fail_over(self):
        """Kill the master and promote its replica, which has received everything sent before."""
        with redis.Redis(port=self.master.port) as client:
            client.set("after all the others", 1)
            assert client.wait(1, 10_000) == 1
        self.master.kill()
        with redis.Redis(port=self.replica.port) as client:
            client.replicaof("NO", "ONE")
        self.master = self.replica
        self.replica = self._follower()

    def stop(self):
        for each in (self.master, self.replica):
            each.kill()


class Receiver:
    """Takes the place of a webhook's delivery: a fifth of the attempts fail."""

    def __init__(self, chance):
        self._chance = chance
        self.arrived = Counter()

    async def send(self, _workspace_id, _webhook, _event_id, body):
        if self._chance.random() < 0.2:
            return Attempt(delivered=False, status=500, error="500", milliseconds=1)
        event = msgspec.json.decode(body)
        entry = event["data"]["entry"]
        self.arrived[event["type"], entry["approvalId"], entry["id"]] += 1
        return Attempt(delivered=True, status=204, error="", milliseconds=1)


class Failing:
    """A world whose store fails, and the sender of its webhook."""

    def __init__(self, pair, client, world):
        self.pair, self.client, self.world = pair, client, world
        self.clients = []
        self.receiver = Receiver(world.chance)

    async def enter(self):
        """Create the webhook, which gets events from now on."""
        hears = sorted(set(HEARD.values()))
        webhooks = Webhooks(self.client, Ids(), Secrets(Signer([])), 20)
        self.webhook, _ = await webhooks.create(self.world.workspace_id, "https://a.example/", hears, by=BY)
        return self

    async def send(self):
        """Send as the background process does: first retries that are due, then new events."""
        approvals = Approvals(self.client, Ids(), 1 << 30)
        outbox = Outbox(
            self.client, AuditLog(self.client), approvals, self.receiver, self.world.workspace_id, self.webhook
        )
        if await outbox.retry_due():
            await outbox.send_new()

    async def fail_over(self):
        """The same call is asked about by many at once, the master dies at some moment of that, and some go away."""
        world, chance = self.world, self.world.chance
        agent, what = chance.choice(sorted(world.model.active)), chance.randrange(4)
        known = len(world.model.log)
        calls = [
            asyncio.create_task(world.asked(world.replicas[number % 3], agent, world.some_key(), what))
            for number in range(AT_ONCE)
        ]
        for _ in range(chance.randrange(2, 80)):
            await asyncio.sleep(0)
        for call in chance.sample(calls, 3):
            call.cancel()
        await asyncio.sleep(0)
        self.pair.fail_over()
        self.clients.append(open_client(self.pair.master.url, 10_000))
        self.client.follow(self.clients[-1])
        answers = await asyncio.gather(*calls, return_exceptions=True)
        told = [each for each in answers if not isinstance(each, BaseException) and each[0] != "StoreUnavailable"]
        happened = (await world.logged())[known:]
        for said, approval_id, key_id in happened:
            wanted, model_id, is_new = world.model.ask(agent, key_id, what, world.clock.now_ms)
            if is_new:
                world.model.named(model_id, approval_id)
                world.recent.append(approval_id)
                model_id = approval_id
            assert (said, approval_id) == (wanted, model_id or "")
        logged = Counter((said, approval_id or None) for said, approval_id, _ in happened)
        assert Counter(told) <= logged, "what was answered is lost"
        assert len(happened) <= AT_ONCE
        assert UNAUTHORIZED not in {said for said, _ in told}
        world.seen["unanswered and logged"] += len(happened) - len(told)
        world.seen["failovers"] += 1
        world.seen["unanswered"] += AT_ONCE - len(told)
        await world.check()

    async def check_all_was_heard_of(self):
        """Everything that happened to approvals has arrived."""
        keyspace = Keyspace(self.world.workspace_id)
        newest = str(len(self.world.model.log))
        waiting = keyspace.webhook_waiting(self.webhook.id)
        while (
            await self.client.call("HGET", keyspace.webhook_outbox(self.webhook.id), "log") != newest
            or await self.client.call("ZCARD", waiting) > 0
        ):
            self.world.clock.now_ms += 60_000
            await self.send()
        wanted, asked = Counter(), set()
        for said, approval_id, _ in await self.world.logged():
            if said in HEARD and (said != "escalated" or approval_id not in asked):
                wanted[HEARD[said], approval_id] += 1
            asked.add(approval_id)
        arrived = Counter((kind, approval_id) for kind, approval_id, _ in self.receiver.arrived)
        assert arrived == wanted


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize(("kind", "seed"), [("redis", 2), ("valkey", 3)])
async def test_thousands_of_steps_and_some_failovers_are_answered_as_the_model_says(
    kind, seed, server, own, tmp_path, workspace_id
):
    """I14, I2: a promoted replica continues exactly where the master stopped, and every client hears what it should.

    Half of them on each kind of store.
    """
    chance, clock = random.Random(seed), Clock()
    pair = own(Pair(server(kind), tmp_path))
    first = open_client(pair.master.url, 10_000)
    client = Clocked(first, clock)
    world = await World(client, clock, chance, workspace_id).enter()
    failing = await Failing(pair, client, world).enter()
    failing.clients.append(first)
    acts = world.acts() | {failing.send: 4}
    steps = chance.choices(list(acts), list(acts.values()), k=STEPS)
    for number in range(FAILOVERS):
        steps[(number + 1) * STEPS // (FAILOVERS + 1)] = failing.fail_over
    try:
        for act in steps:
            await act()
        while world.seen["unanswered and logged"] == 0 and world.seen["failovers"] < MOST:
            await failing.fail_over()  # which calls have been sent when some are given up depends on the machine
        await world.check()
        await failing.check_all_was_heard_of()
    finally:
        for each in failing.clients:
            await each.close()
    for seen in ("allowed with", "escalated with", "approved: approved", "races", "ended"):
        assert world.seen[seen] > 3, world.seen
    assert world.seen["unanswered and logged"] > 0, world.seen
