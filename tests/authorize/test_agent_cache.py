"""The compiled agents that a replica keeps."""

import asyncio
import gc
import threading
import weakref

import pytest

from app.errors import AgentNotFound, StoreUnavailable
from app.model.agents import Agent
from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result
from app.model.plans import Plan, Tokens
from app.model.policies import Policy
from app.model.rules import ToolAllowlist
from app.runtime.gc_freeze import freeze_heap
from app.store.governed_agents import GovernedAgent
from tests.support import parts

W = "workspace"


def agent(agent_id, version="1", alias=None):
    return Agent(id=agent_id, name="a", alias=alias, created_ms=0, updated_ms=0, version=version)


def policy(tools):
    rules = (ToolAllowlist(tools=["t"] * tools),)
    return Policy(id="p", agent_id="a", name="p", rules=rules, created_ms=0, updated_ms=0, version=1)


class Shelf:
    """Where agents are loaded from, as slowly as a test wants; it counts loads."""

    def __init__(self) -> None:
        self.loads: list[str] = []
        self.held: dict[str, tuple[Agent, list[Policy]] | Exception] = {}
        self.open = asyncio.Event()
        self.open.set()

    def put(self, agent_id, *, version="1", tools=1, alias=None):
        for called in {agent_id, alias or agent_id}:
            self.held[called] = (agent(agent_id, version, alias), [policy(tools)])

    async def load(self, _, agent_id):
        self.loads.append(agent_id)
        held = self.held.get(agent_id, AgentNotFound("none"))
        await self.open.wait()
        if isinstance(held, Exception):
            raise held
        made_of, policies = held
        return GovernedAgent(made_of, policies, Tokens(made_of.version))


class Compiled:
    """A compiled agent; each one is a separate object."""

    def __init__(self, made_of, policies, shared_marks) -> None:
        self.policies = policies


@pytest.fixture
def shelf():
    return Shelf()


@pytest.fixture
def cache(shelf):
    return parts.agent_cache(shelf, Compiled, 1_000_000)


async def test_a_loaded_agent_is_served_from_the_cache(cache, shelf):
    """The same object, without another read; by workspace and by agent."""
    shelf.put("a")
    assert cache.recall(W, "a") is None

    loaded = await cache.load(W, "a")

    assert cache.recall(W, "a") is loaded
    assert cache.recall("another", "a") is None
    assert cache.recall(W, "b") is None
    assert shelf.loads == ["a"]


async def test_concurrent_misses_load_an_agent_once(cache, shelf):
    """All get the same object; another agent can be loaded meanwhile."""
    shelf.put("a")
    shelf.put("b")
    shelf.open.clear()
    waiting = [asyncio.create_task(cache.load(W, name)) for name in "aaaba"]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    shelf.open.set()

    loaded = await asyncio.gather(*waiting)

    assert sorted(shelf.loads) == ["a", "b"]
    assert len(set(map(id, loaded))) == 2


async def test_an_agent_is_recalled_by_the_alias_that_it_was_loaded_with(cache, shelf):
    """Whether loaded by id or by alias, it is cached once."""
    shelf.put("a", alias="x")
    loaded = await cache.load(W, "x")
    assert cache.recall(W, "x") is cache.recall(W, "a") is loaded
    assert (len(cache), loaded.agent_id, cache.recall("another", "x")) == (1, "a", None)
    assert cache.agent(W, "x") is loaded.agent

    cache.drop(W, "a", loaded)
    assert (len(cache), cache.recall(W, "x"), cache.recall(W, "a")) == (0, None, None)


async def test_an_alias_leads_to_the_agent_that_was_loaded_with_it_last(cache, shelf):
    """Until that one is evicted; evicting the former holder changes nothing."""
    shelf.put("a", alias="x")
    before = await cache.load(W, "a")
    shelf.put("b", alias="x")
    after = await cache.load(W, "b")
    assert cache.recall(W, "x") is after

    cache.drop(W, "a", before)
    assert cache.recall(W, "x") is after

    shelf.put("b", version="2")
    await cache.load(W, "b")
    assert cache.recall(W, "x") is None


async def test_a_caller_that_gives_up_does_not_cancel_the_load_for_others(cache, shelf):
    """A client that disconnects cancels only its own request."""
    shelf.put("a")
    shelf.open.clear()
    first, second = (asyncio.create_task(cache.load(W, "a")) for _ in range(2))
    await asyncio.sleep(0)

    first.cancel()
    await asyncio.sleep(0)
    shelf.open.set()

    assert (await second).tokens.agent == "1"
    assert shelf.loads == ["a"]
    assert first.cancelled()


@pytest.mark.parametrize("failure", [AgentNotFound("none"), StoreUnavailable("away")])
async def test_a_failed_load_fails_all_its_callers_and_is_not_cached(cache, shelf, failure):
    """The next caller loads again."""
    shelf.held["a"] = failure
    outcomes = await asyncio.gather(*(cache.load(W, "a") for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in outcomes] == [type(failure)] * 3
    assert shelf.loads == ["a"]

    shelf.put("a")
    assert (await cache.load(W, "a")).tokens.agent == "1"


async def test_a_load_that_fails_after_everybody_gave_up_is_not_logged(cache, shelf, caplog):
    """Nobody is left to hear of its error."""
    shelf.held["a"] = StoreUnavailable("away")
    shelf.open.clear()
    waiting = asyncio.create_task(cache.load(W, "a"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    shelf.open.set()
    for _ in range(3):
        await asyncio.sleep(0)

    assert not cache._loads
    assert "never retrieved" not in caplog.text


async def test_only_what_is_stale_is_dropped(cache, shelf):
    """A caller that learns late of an old version does not evict the new one."""
    shelf.put("a")
    old = await cache.load(W, "a")
    shelf.put("a", version="2")
    cache.drop(W, "a", old)
    assert cache.recall(W, "a") is None
    new = await cache.load(W, "a")

    cache.drop(W, "a", old)
    cache.drop(W, "b", old)

    assert cache.recall(W, "a") is new
    assert new.tokens.agent == "2"


@pytest.mark.parametrize("called", ["a", "shop"])
async def test_an_agent_that_is_gone_leaves_the_cache(cache, shelf, called):
    """As soon as a load finds that, by its id or by its alias; otherwise it would take up room until others need it."""
    shelf.put("a", alias="shop")
    shelf.put("b")
    await cache.load(W, "a")
    await cache.load(W, "b")
    held = cache.bytes_held
    shelf.held = {"b": shelf.held["b"]}
    with pytest.raises(AgentNotFound):
        await cache.load(W, called)
    assert (len(cache), cache.recall(W, "a"), cache.recall(W, "shop")) == (1, None, None)
    assert cache.bytes_held == held // 2


async def test_an_agent_stays_cached_if_only_a_stranger_to_it_is_not_found(cache, shelf):
    """Nor does another workspace's agent of the same name go."""
    shelf.put("a", alias="shop")
    await cache.load(W, "a")
    shelf.held = {}
    for workspace, called in ((W, "nobody"), ("another", "a")):
        with pytest.raises(AgentNotFound):
            await cache.load(workspace, called)
    assert cache.recall(W, "a") is not None


async def test_the_cache_is_bounded_in_bytes_and_the_least_recently_used_leave(shelf):
    """Agents in use stay."""
    cache = parts.agent_cache(shelf, Compiled, 3 * 4_500)
    for name in "abc":
        shelf.put(name)
        await cache.load(W, name)
    cache.recall(W, "a")

    shelf.put("d")
    await cache.load(W, "d")

    assert [cache.recall(W, name) is not None for name in "abcd"] == [True, False, True, True]
    assert cache.bytes_held <= 3 * 4_500
    assert len(cache) == 3


async def test_large_policies_take_the_place_of_many(shelf):
    """The JSON of the rules counts, so memory is bounded whatever the policies."""
    cache = parts.agent_cache(shelf, Compiled, 80_000)
    for name in "abcdefghijklmno":
        shelf.put(name)
        await cache.load(W, name)
    shelf.put("large", tools=2_500)

    await cache.load(W, "large")

    assert [cache.recall(W, name) is not None for name in ("a", "b", "c", "large")] == [False, False, False, True]
    assert cache.bytes_held <= 80_000


async def test_an_agent_larger_than_the_cache_is_not_kept_and_costs_nobody_a_place(shelf):
    """One giant must not make every other agent be loaded again with each of its calls."""
    cache = parts.agent_cache(shelf, Compiled, 20_000)
    shelf.put("a")
    await cache.load(W, "a")
    shelf.put("giant", tools=10_000)

    assert (await cache.load(W, "giant")).tokens.agent == "1"

    assert cache.recall(W, "giant") is None
    assert cache.recall(W, "a") is not None


async def test_a_version_that_was_kept_goes_when_the_next_is_too_large(shelf):
    """The old one would be found stale at every call."""
    cache = parts.agent_cache(shelf, Compiled, 20_000)
    shelf.put("a")
    await cache.load(W, "a")
    shelf.put("a", version="2", tools=10_000)

    await cache.load(W, "a")

    assert cache.recall(W, "a") is None
    assert (len(cache), cache.bytes_held) == (0, 0)


async def test_loading_again_does_not_count_twice(cache, shelf):
    """Only entries in the cache count."""
    shelf.put("a")
    await cache.load(W, "a")
    once = cache.bytes_held
    await cache.load(W, "a")
    assert cache.bytes_held == once

    cache.drop(W, "a", cache.recall(W, "a"))
    assert (len(cache), cache.bytes_held) == (0, 0)


async def test_a_cache_of_no_size_keeps_nothing_and_still_answers(shelf):
    """As the setting allows it."""
    cache = parts.agent_cache(shelf, Compiled, 0)
    shelf.put("a")
    assert (await cache.load(W, "a")).tokens.agent == "1"
    assert cache.recall(W, "a") is None
    assert cache.bytes_held == 0


@pytest.mark.parametrize(("tools", "on_the_loop"), [(1, True), (10_000, False)])
async def test_what_takes_long_to_compile_is_compiled_in_a_thread(shelf, tools, on_the_loop):
    """Others are answered meanwhile. The size of the rules' JSON decides."""
    cache = parts.agent_cache(shelf, lambda _agent, _policies, _marks: threading.get_ident(), 1_000_000)
    shelf.put("a", tools=tools)
    assert ((await cache.load(W, "a")).compiled == threading.get_ident()) is on_the_loop


async def test_the_heap_is_told_which_agents_stay(shelf):
    """After each agent that is cached, but not for one that is used only for its call."""
    kept = []
    cache = parts.agent_cache(shelf, Compiled, 20_000, kept=lambda: kept.append(len(cache)))
    for agent_id, tools in (("a", 1), ("b", 1), ("large", 10_000)):
        shelf.put(agent_id, tools=tools)
        await cache.load(W, agent_id)
    assert kept == [1, 2]


@pytest.mark.parametrize("how", ["replaced", "dropped", "evicted", "never kept"])
async def test_what_leaves_the_cache_is_freed_at_once(shelf, how):
    """Its reference count must free it: the heap is frozen after each load, so no collection would ever find it."""
    cache = parts.agent_cache(shelf, Compiled, 0 if how == "never kept" else 6_000, kept=freeze_heap)
    shelf.put("a")
    gc.disable()
    try:
        entry = await cache.load(W, "a")
        entry.keep_commit(
            "t", "k", Plan(Outcome(Result.DENIED, None, None, "no", DecisionCode.DEFAULT_DENY)), Compiled(0, 0, 0), 100
        )
        freeze_heap()
        gone = weakref.ref(entry.compiled)
        match how:
            case "replaced":
                await cache.load(W, "a")
            case "dropped":
                cache.drop(W, "a", entry)
            case "evicted":
                shelf.put("b", tools=50)
                await cache.load(W, "b")
        del entry
        await asyncio.sleep(0)  # the finished load's callback lets go of its task

        assert gone() is None
    finally:
        gc.enable()
