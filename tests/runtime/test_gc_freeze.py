"""Objects excluded from garbage collection are still freed when nothing uses them."""

import gc
import weakref

import pytest

from app.model.agents import Agent
from app.model.constraints import Constraint
from app.model.decisions import AuthorizeRequest
from app.model.policies import Policy
from app.model.quotas import RateLimit
from app.model.rules import ApprovalRequired, ParameterConstraint, RateLimited, TimeBased
from app.model.time_windows import TimeWindow
from app.pdp import compile_agent, decide
from app.runtime.gc_freeze import freeze_heap

RULES = (
    ParameterConstraint(tools=["t"], parameters={"a.b": Constraint(regex="^x$", enum=["x"], max=3)}),
    TimeBased(tools=["t"], time_window=TimeWindow(allowed_hours=list(range(24)))),
    RateLimited(tools=["*"], rate_limit=RateLimit(max_calls=5, window_seconds=60)),
    ApprovalRequired(tools=["u"]),
)


@pytest.fixture
def no_collections():
    """Automatic collections are off. Objects frozen meanwhile stay frozen."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def compiled():
    """An agent that has decided about one tool and another."""
    agent = Agent(id="a", name="a", created_ms=0, updated_ms=0, version="1")
    policy = Policy(id="p", agent_id="a", name="p", rules=RULES, created_ms=0, updated_ms=0, version=1)
    made = compile_agent(agent, [policy], lambda _: False)
    for tool in ("t", "u"):
        decide(made, AuthorizeRequest("a", tool, "authorize", {"a": {"b": "y"}}, b"{}"), 0)
    return made


def test_frozen_objects_are_not_walked_again(no_collections):
    """A full collection finds nothing to walk."""
    made = compiled()

    freeze_heap()

    walked = gc.get_objects()
    assert not any(each is part for each in walked for part in (made.agent, made._views, made._tiers))


def test_a_frozen_compiled_agent_is_freed_with_its_last_user(no_collections):
    """It must not contain a cycle, because the collector would never find it."""
    made = compiled()
    freeze_heap()
    gone = weakref.ref(made)

    del made

    assert gone() is None


def test_objects_held_by_young_cycles_are_not_frozen(no_collections):
    """Otherwise they would never be freed."""

    class Part: ...

    part = Part()
    part.itself = part
    gone = weakref.ref(part)
    del part

    freeze_heap()

    assert gone() is None
