"""Script calls that are packed once: every call has the words that it would have had otherwise."""

from deciding import ALLOWED, POLICY, quota
from msgspec.structs import replace

from app.authorize import commit as commits
from app.authorize.commit import CommitDecision
from app.authorize.store_clock import StoreClock
from app.model.decisions import AuthorizeRequest, Idempotency, Outcome, Plan, Result
from app.model.keys import Caller, Scope
from app.redis_client.packed_call import NoScript, PackedCall, pack
from app.redis_client.scripts import CHECK_KEY
from app.store.keyspace import Keyspace

CALLER = Caller("w", "k", frozenset({Scope.READ}))
ASKED = AuthorizeRequest("a", "file.read", "authorize", {}, b"{}")
PLAN = Plan(ALLOWED, (quota("wide", 10, 1_000),), recurring=True)


class Wire:
    """Takes whole commands; refuses the first `unknown` of them as calls of a script that it does not know."""

    def __init__(self, unknown=0):
        self.sent, self._unknown = [], unknown

    async def send(self, command):
        self.sent.append(command)
        if len(self.sent) <= self._unknown:
            raise NoScript("none")
        return "reply"


async def test_a_call_stands_on_the_wire_as_if_it_were_packed_at_once():
    """Numbers, texts and bytes, however many words there are of each kind."""
    for varying in ((), ("",), (1, "é", b"\xff", *map(str, range(20)))):
        for settled in ((), ("last", 7)):
            wire = Wire()
            call = PackedCall(wire.send, CHECK_KEY, ["k1", "k2"], len(varying), settled)

            assert await call(*varying) == "reply"

            assert wire.sent == [pack(["EVALSHA", CHECK_KEY.sha, 2, "k1", "k2", *varying, *settled])]


async def test_a_call_that_the_store_does_not_know_is_sent_in_full():
    """The same words with the script itself before them."""
    wire = Wire(unknown=1)
    call = PackedCall(wire.send, CHECK_KEY, ["k"], 1, ["settled"])

    assert await call("now") == "reply"

    assert wire.sent[1] == pack(["EVAL", CHECK_KEY.text, 1, "k", "now", "settled"])


class Runner:
    """Commits everything, and notes what was prepared and what was called."""

    def __init__(self):
        self.prepared, self.called = 0, []

    def prepare(self, script, keys, varying, settled):
        self.prepared += 1

        async def call(*given):
            assert len(given) == varying
            self.called.append((keys, dict(zip(script.args, [*given, *settled], strict=False))))
            return ["committed", given[script.args.index("decision_id")], "1000", 0, 0, 0]

        return call


class Committing:
    """Commits on a runner of its own."""

    def __init__(self):
        self.runner = Runner()
        self._commit = CommitDecision(self.runner, StoreClock(), 1_000)

    async def __call__(self, plan=PLAN, caller=CALLER, request=ASKED, version="v"):
        await self._commit(caller, request, version, plan, "id", 0, 0, now_us=1)
        return self.runner.called[-1]


async def test_what_recurs_is_prepared_once():
    """Also where the plan is another one for every minute."""
    commit = Committing()
    for minute in range(3):
        _, args = await commit(replace(PLAN, holds_from_us=minute), request=replace(ASKED, action=f"action {minute}"))
        assert (args["holds_from_us"], args["action"]) == (minute, f"action {minute}")
    assert commit.runner.prepared == 1


async def test_what_does_not_recur_is_not_kept():
    """A reason that quotes a parameter comes once."""
    commit = Committing()
    for _ in range(2):
        await commit(Plan(Outcome(Result.DENIED, POLICY, None, "is 900")))
    assert commit.runner.prepared == 2


async def test_whatever_else_is_settled_is_its_own_call():
    """Callers, agents, versions and Idempotency-Keys: none is answered with what was prepared for another."""
    commit = Committing()
    await commit()
    keys, args = await commit(caller=Caller("w", "other", CALLER.scopes))
    assert (keys[0], args["key_id"]) == (Keyspace("w").key("other"), "other")
    keys, args = await commit(request=replace(ASKED, agent_id="other"))
    assert (keys[1], args["agent_id"]) == (Keyspace("w").agent("other"), "other")
    _, args = await commit(version="newer")
    assert args["version"] == "newer"
    keys, args = await commit(request=replace(ASKED, idempotency=Idempotency("key", "body")))
    assert (keys[-1], args["body_digest"]) == (Keyspace("w").first_answer("k", "key"), "body")
    _, args = await commit(version="newer")
    assert args["body_digest"] == ""


async def test_what_is_kept_is_bounded(monkeypatch):
    """In bytes; the oldest is prepared anew."""
    monkeypatch.setattr(commits, "_KEPT_BYTES", 20_000)
    commit = Committing()
    plans = [Plan(Outcome(Result.DENIED, POLICY, None, "x" * 5_000), recurring=True) for _ in range(4)]
    for plan in plans:
        await commit(plan)
    await commit(plans[-1])
    assert commit.runner.prepared == 4

    await commit(plans[0])

    assert commit.runner.prepared == 5
