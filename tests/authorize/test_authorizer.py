"""The hot path: where a decision is made, and what happens when a plan is stale."""

import threading
from typing import ClassVar

import pytest
from msgspec.structs import replace

import app.authorize.authorizer
from app.authorize.agent_cache import CachedAgent
from app.authorize.authorizer import ATTEMPTS
from app.authorize.commit import Stale
from app.errors import InsufficientScope, StoreUnavailable
from app.model import agents as model
from app.model.api_keys import Caller, Scope
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Decision, Outcome, Result
from app.model.ids import Ids
from app.model.plans import Plan, Tokens
from app.runtime.clock import StoreClock
from app.runtime.metrics import Metrics
from tests.support import parts

CALLER = Caller("w", "k", frozenset({Scope.READ}))
REQUEST = AuthorizeRequest("a", "t", "authorize", {}, b"{}")
DENIED = Outcome(Result.DENIED, None, None, "default deny", DecisionCode.DEFAULT_DENY)


class Agent:
    """A compiled agent of which only the cost of a decision matters."""

    agent_messages: ClassVar = {}
    keeps_requests = False

    def __init__(self, *, quick=True):
        self.quick = quick

    def is_quick(self, request):
        return self.quick


def held(agent):
    record = model.Agent(id="a", name="n", created_ms=0, updated_ms=0, version="v")
    return CachedAgent(record, agent, Tokens("v"), 0, lambda _entry, _more: None)


class Cache:
    """Holds one agent; counts how often it was dropped and loaded."""

    def __init__(self, agent):
        self.agent, self.drops, self.loads = held(agent), 0, 0

    def recall(self, workspace_id, agent_id):
        return self.agent

    async def load(self, workspace_id, agent_id):
        self.loads += 1
        self.agent = held(Agent())
        return self.agent

    def drop(self, workspace_id, agent_id, stale):
        assert stale is self.agent
        self.drops += 1
        self.agent = None


class Commit:
    """Gives these answers one after the other, and repeats the last one."""

    def __init__(self, *answers):
        self.answers, self.ids = list(answers), []

    async def __call__(self, question):
        self.ids.append(question.decision_id)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer or Decision(question.decision_id, question.plan.outcome, None, 0, 0)


@pytest.fixture
def decided(monkeypatch):
    """Records every decision: its thread and its time."""
    made = []

    def decide(agent, request, now_us, key_id):
        made.append((threading.current_thread(), now_us))
        return Plan(DENIED)

    for name in ("decide", "decide_at_length"):
        monkeypatch.setattr(app.authorize.authorizer, name, decide)
    return made


def authorizer(cache, commit):
    return parts.authorizer(cache, commit, None, StoreClock(), Ids(), Metrics())


@pytest.mark.parametrize("quick", [True, False])
async def test_only_a_call_that_could_block_the_loop_is_decided_in_a_thread(decided, quick):
    """Decision 0010: everybody else's call goes on meanwhile."""
    await authorizer(Cache(Agent(quick=quick)), Commit(None)).authorize(CALLER, REQUEST, 0)

    [(thread, _)] = decided
    assert (thread is threading.current_thread()) is quick


async def test_a_stale_version_is_loaded_anew_and_keeps_the_decisions_id(decided):
    """The retry is the same decision."""
    cache, commit = Cache(Agent()), Commit(Stale(5, version_moved=True), None)

    decision = await authorizer(cache, commit).authorize(CALLER, REQUEST, 0)

    assert (cache.drops, cache.loads) == (1, 1)
    assert commit.ids == [decision.id, decision.id]


async def test_a_clock_that_moved_is_read_again_and_nothing_is_loaded(decided):
    """The second plan uses the store's time."""
    cache = Cache(Agent())

    await authorizer(cache, Commit(Stale(1234, version_moved=False), None)).authorize(CALLER, REQUEST, 0)

    assert (cache.drops, cache.loads) == (0, 0)
    assert decided[1][1] == 1234


async def test_a_decision_that_stays_stale_is_given_up(decided):
    """I6: 503 rather than an answer by outdated policies."""
    commit = Commit(Stale(5, version_moved=True))

    with pytest.raises(StoreUnavailable):
        await authorizer(Cache(Agent()), commit).authorize(CALLER, REQUEST, 0)

    assert len(commit.ids) == ATTEMPTS


async def test_a_bound_key_is_not_refused_by_an_alias_that_has_moved(decided):
    """Only the store may say whose alias it is: the agent that this replica remembers may have given it away."""
    cache, bound = Cache(Agent()), Caller("w", "k", frozenset({Scope.AUTHORIZE}), agents=frozenset({"a"}))
    record = model.Agent(id="former", name="n", created_ms=0, updated_ms=0, version="v")
    cache.agent = CachedAgent(record, Agent(), Tokens("v"), 0, lambda _entry, _more: None)
    request = AuthorizeRequest("its-alias", "t", "authorize", {}, b"{}")

    assert (await authorizer(cache, Commit(None)).authorize(bound, request, 0)).outcome == DENIED
    assert cache.loads == 1


@pytest.mark.parametrize("is_cached", [True, False])
async def test_a_bound_key_is_refused_for_the_agent_that_has_the_alias(decided, is_cached):
    """Once the store has said so, which is asked once."""
    cache, bound = Cache(Agent()), Caller("w", "k", frozenset({Scope.AUTHORIZE}), agents=frozenset({"other"}))
    if not is_cached:
        cache.agent = None
    with pytest.raises(InsufficientScope):
        await authorizer(cache, Commit(None)).authorize(bound, replace(REQUEST, agent_id="its-alias"), 0)
    assert (cache.loads, decided) == (1, [])
