"""An agent that has policies: what is proposed are changes of them, each with what it means."""

import pytest
from observed_calls import START_MS, observed

from app.model.catalog import Consequence
from app.model.proposals import ChangeKind, ProposalFilter, ProposeTask, Reads
from app.policy_tools.compare.meaning import compare_meaning
from app.propose.observed import Observations
from app.propose.proposal import proposal_of
from app.propose.proposer import KnownTool

DAY_MS = 86_400_000
CATALOG = {
    "read": KnownTool(Consequence.NONE, foreign=False),
    "change": KnownTool(Consequence.REVERSIBLE, foreign=False),
    "pay": KnownTool(Consequence.IRREVERSIBLE, foreign=False),
}
CURRENT = [
    {"name": "reads", "rules": [{"type": "tool_grant", "tools": ["read", "old"]}]},
    {"name": "asks", "rules": [{"type": "approval_required", "tools": ["change", "pay"]}]},
]


def proposed(calls, current=CURRENT, *, days=100, since_ms=0, refused=()):
    task = ProposeTask(
        workspace_id="", agent_id="", from_ms=START_MS, to_ms=START_MS + days * DAY_MS,
        wanted=ProposalFilter(), reads=Reads.SEEN,
    )  # fmt: skip
    seen = Observations(calls=calls, called=frozenset(call.tool for call in calls), refused=list(refused))
    return proposal_of(task, seen, CATALOG, (), current, since_ms, compare_meaning)


def approved(tool, users):
    """The tool's calls of these users, each approved by a person."""
    return [
        observed(tool, {"order": f"A-{number}"}, f"u{number}", number=number, approved=True) for number in range(users)
    ]


READS = [observed("read", {}, "u", number=100)]


def shown(proposal):
    return [(each.kind, each.tool) for each in proposal.changes]


def flips(change):
    return [(each.was.value, each.becomes.value, each.tool) for each in change.meaning.flips]


def test_what_people_always_approve_is_bounded():
    """The diff says so; what cannot be undone stays as it is, however often it was approved."""
    found = proposed([*approved("change", 4), *approved("pay", 9), *READS], days=10)
    assert shown(found) == [(ChangeKind.WIDENS, "change")]
    [change] = found.changes
    assert (change.calls, change.units) == (4, 4)
    assert ("escalated", "allowed", "change") in flips(change)
    assert [each["name"] for each in found.policies] == ["reads", "asks", "change: as users made it"]
    assert found.policies[1]["rules"] == [{"type": "approval_required", "tools": ["pay"]}]
    assert {each.path.partition("]")[0] for each in found.evidence} == {"policies[2"}


@pytest.mark.parametrize("users", [1, 2])
def test_what_too_few_approved_stays_as_it_is(users):
    found = proposed([*approved("change", users), *READS], days=10)
    assert found.changes == []
    assert found.policies == CURRENT


def test_what_a_person_denied_is_not_widened():
    refused = observed("change", {"order": "A-7"}, "u", number=50)
    assert proposed([*approved("change", 4), *READS], days=10, refused=[refused]).changes == []


def test_what_is_granted_and_unused_for_90_days_asks():
    found = proposed(READS)
    assert shown(found) == [(ChangeKind.NARROWS, "old")]
    assert flips(found.changes[0]) == [("allowed", "escalated", "old")]
    assert found.policies[0]["rules"] == [{"type": "tool_grant", "tools": ["read"]}]
    assert found.policies[-1]["rules"] == [{"type": "approval_required", "tools": ["old"]}]


@pytest.mark.parametrize("options", [{"days": 89}, {"since_ms": START_MS + 11 * DAY_MS}])
def test_nothing_is_called_unused_before_90_days_have_passed(options):
    """Of the log, and since the policies last changed."""
    assert proposed(READS, **options).changes == []


@pytest.mark.parametrize("tools", [["*"], ["re*"], ["old", "change.*"], []])
def test_policies_that_grant_a_pattern_of_tools_are_made_anew(tools):
    """Nobody has said which tools these are; and so for an agent without any policy."""
    current = [{"name": "all", "rules": [{"type": "tool_grant", "tools": tools}]}] if tools else []
    found = proposed(READS, current)
    assert found.changes is None
    assert found.policies[0] == {"name": "Reading", "rules": [{"type": "tool_grant", "tools": ["read"]}]}


def test_the_changes_that_were_applied_are_not_proposed_again():
    calls = [*approved("change", 4), *READS]
    first = proposed(calls)
    assert proposed(calls, first.policies).changes == []
