"""Recorded changes are undone, field by field, deletions included."""

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from app.model.agents import Agent, AgentStatus
from app.model.changes import Change, ChangeKind, ResourceType
from app.model.past_states import Past
from app.model.policies import Policy, PolicyKind, PolicyMode
from app.model.rules import ToolAllowlist, ToolDenylist
from app.model.snapshots import snapshots

ID = "018bcfe5-6800-7000-8000-000000000001"
MADE_MS = 1_700_000_000_123
AGENT = Agent(id=ID, name="a", created_ms=MADE_MS, updated_ms=MADE_MS, version="")
POLICY = Policy(
    id=ID,
    agent_id=ID,
    name="p",
    rules=(ToolAllowlist(tools=["*"]),),
    created_ms=MADE_MS,
    updated_ms=MADE_MS,
    version=1,
)
AGENT_OTHERWISE = {
    "name": "b",
    "description": "what it is for",
    "status": AgentStatus.SUSPENDED,
    "groups": ("crew",),
    "alias": "here",
    "type": "user",
    "revision": 2,
}
POLICY_OTHERWISE = {
    "agent_id": None,
    "group": "crew",
    "key": "k",
    "kind": PolicyKind.GUARDRAIL,
    "name": "q",
    "rules": (ToolDenylist(tools=["rm"]),),
    "priority": 7,
    "enabled": False,
    "mode": PolicyMode.SHADOW,
    "agent_message": "ask ann",
    "managed_by": "repo",
    "keeps_requests": True,
    "version": 2,
}
CHANGES = [
    *((AGENT, replace(AGENT, **{name: value})) for name, value in AGENT_OTHERWISE.items()),
    *((POLICY, replace(POLICY, **{name: value})) for name, value in POLICY_OTHERWISE.items()),
]


def change_of(before, after):
    """The change as the trail keeps it."""
    kind = ChangeKind.CREATED if before is None else ChangeKind.DELETED if after is None else ChangeKind.UPDATED
    was, now = snapshots(before, after)
    return Change(
        id="1-0",
        timestamp="2023-11-14T22:13:20.123Z",
        actor_id="console",
        actor_name="console",
        kind=kind,
        resource_type=ResourceType.AGENT if isinstance(before or after, Agent) else ResourceType.POLICY,
        resource_id=ID,
        before=Raw(was or b"null"),
        after=Raw(now or b"null"),
    )


def past_of(thing):
    agents, policies = ([thing], []) if isinstance(thing, Agent) else ([], [thing])
    return Past(agents, policies)


def state(past):
    """The one agent or policy that exists."""
    [held] = [*past.agents.values(), *past.policies.values()]
    return held.get()


@pytest.mark.parametrize(("one", "other"), CHANGES)
def test_every_field_that_the_trail_records_is_undone(one, other):
    """In both directions, because some values are null in one of them."""
    for before, after in ((one, other), (other, one)):
        past = past_of(after)
        past.undo(change_of(before, after))
        assert state(past) == before


def test_the_changes_above_are_of_every_field_that_the_trail_records():
    """A new field of a policy or agent also needs its place in `past.py`."""
    for thing, fields in ((AGENT, AGENT_OTHERWISE), (POLICY, POLICY_OTHERWISE)):
        recorded = msgspec.json.decode(snapshots(None, thing)[1])
        assert len(recorded) == len(fields)


@pytest.mark.parametrize("thing", [other for _, other in CHANGES], ids=lambda thing: type(thing).__name__)
def test_a_deleted_policy_is_restored_as_it_was(thing):
    """With its creation time, which orders policies of equal priority."""
    past = Past([], [])
    past.undo(change_of(thing, None))
    assert state(past) == replace(thing, updated_ms=state(past).updated_ms)


@pytest.mark.parametrize("thing", [AGENT, POLICY], ids=["agent", "policy"])
def test_before_its_creation_there_was_nothing(thing):
    """Undoing an update of something that does not exist is an error."""
    past = past_of(thing)
    past.undo(change_of(None, thing))
    assert (past.agents, past.policies) == ({}, {})
    with pytest.raises(KeyError):
        past.undo(change_of(thing, replace(thing, name="c")))


def test_several_changes_are_undone_at_once():
    """States in between are not decoded, as this release may be unable to read them."""
    unreadable = msgspec.json.encode({"rules": [{"type": "of a later release"}]})
    past = past_of(replace(POLICY, priority=3))
    past.undo(replace(change_of(replace(POLICY, priority=2), replace(POLICY, priority=3)), before=Raw(unreadable)))
    past.undo(change_of(POLICY, replace(POLICY, rules=POLICY_OTHERWISE["rules"], priority=2)))
    assert state(past) == POLICY


def test_a_state_that_this_release_cannot_read_is_an_error_once():
    """A replay then knows only what came after it."""
    past = past_of(POLICY)
    past.undo(replace(change_of(POLICY, POLICY), before=Raw(b'{"rules":[{"type":"of a later release"}]}')))
    with pytest.raises(msgspec.MsgspecError):
        past.policies[ID].get()
    assert past.policies[ID].get() == POLICY
