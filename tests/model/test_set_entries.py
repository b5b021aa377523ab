"""Policies as entries of a set, and back."""

from msgspec.structs import asdict

from app.model.policies import Owner, Policy, PolicyKind, PolicyMode
from app.model.policy_sets import PolicyEntry, entries_after, entry_of, settle
from app.model.rules import ToolDenylist

FULL = Policy(
    id="01a20425-c477-7402-9db1-a7e768d3c525",
    agent_id="a",
    key="k",
    kind=PolicyKind.GUARDRAIL,
    name="p",
    rules=(ToolDenylist(tools=["x"]),),
    priority=7,
    enabled=False,
    mode=PolicyMode.SHADOW,
    agent_message="Ask the desk.",
    managed_by="repo",
    keeps_requests=True,
    created_ms=1,
    updated_ms=2,
    version=3,
)


def test_a_policy_is_as_its_entry_says():
    """In every field: sent back, it is unchanged; created anew, it has all fields."""
    entry = entry_of(FULL)
    assert entry.id == FULL.id
    [change] = settle([FULL], [entry], Owner("a"), prune=True)
    assert change.kind == "kept"
    plain = {name: value for name, value in asdict(entry).items() if name != "id"}
    [made] = settle([], [PolicyEntry(**plain)], Owner("a"), prune=True)
    assert asdict(made.policy) | {"id": "", "created_ms": 0, "updated_ms": 0, "version": 0} == asdict(made.policy)
    differing = {name for name, value in asdict(made.policy).items() if value != getattr(FULL, name)}
    assert differing == {"id", "created_ms", "updated_ms", "version"}


def test_the_entries_after_a_change_are_the_whole_set():
    """Including unchanged policies, without deleted ones."""
    other = PolicyEntry(name="other", rules=(ToolDenylist(tools=["y"]),))
    kept = entries_after(settle([FULL], [other], Owner("a"), prune=False))
    assert [each.name for each in kept] == ["other", "p"]
    assert kept[1] == entry_of(FULL)
    assert [each.name for each in entries_after(settle([FULL], [other], Owner("a"), prune=True))] == ["other"]
