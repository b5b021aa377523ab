"""The views that an agent caches for each tool: bounded, because callers choose the names; the newest stay."""

import threading

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest
from app.model.policies import Policy
from app.model.rules import ToolAllowlist
from app.pdp import compile_agent, decide

KEPT = 256
RULES = (ToolAllowlist(tools=["file.*"]),)


def agent_of(policies, rules=RULES):
    """An agent with this many policies."""
    held = [
        Policy(id=f"p{number}", agent_id="a", name="p", rules=rules, created_ms=0, updated_ms=0, version=1)
        for number in range(policies)
    ]
    return compile_agent(Agent(id="a", name="a", created_ms=0, updated_ms=0, version="v"), held, lambda _name: False)


def invent(agent, count):
    """Ask for tools that do not exist."""
    for number in range(count):
        agent.view(f"invented.{number}")


def test_invented_tools_do_not_evict_those_in_use():
    """However many were asked for before, a used tool's view is created once and kept."""
    agent = agent_of(1)
    invent(agent, KEPT + 10)
    assert agent.view("file.read") is agent.view("file.read")


def test_a_call_creates_its_view_once():
    """The view that estimates the call's cost also decides it."""
    agent = agent_of(1)
    invent(agent, KEPT)
    request = AuthorizeRequest("a", "file.read", "authorize", {}, b"{}")
    assert agent.is_quick(request)
    view = agent.view("file.read")
    assert decide(agent, request, 0) is view.when_all_pass


def test_the_newest_views_are_kept_and_the_oldest_leave():
    """Up to 256 views."""
    agent = agent_of(1)
    first = agent.view("file.read")
    invent(agent, KEPT - 1)
    assert agent.view("file.read") is first
    agent.view("one.more")
    assert agent.view("file.read") is not first
    assert agent.view("file.read") == first


def test_agents_with_many_policies_keep_fewer_views():
    """Because a view takes memory per policy and rule that the cache of agents does not count."""
    agent = agent_of(100, RULES * 50)
    first = agent.view("file.read")
    invent(agent, 18)
    assert agent.view("file.read") is first
    invent(agent, 30)
    assert agent.view("file.read") is not first


def test_views_that_threads_make_at_the_same_time_are_bounded_too():
    """Calls decided in threads share an agent."""
    agent = agent_of(2)

    def ask(which):
        for number in range(2_000):
            tool = f"tool.{which}.{number}"
            assert agent.view(tool).asked[0].allowed.reason.endswith(f'"{tool}"')

    threads = [threading.Thread(target=ask, args=(which,)) for which in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(agent._views) <= KEPT
