"""An agent that has policies: what is proposed are changes of them, each with what it means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from observed_calls import START_MS, observed

from app.model.catalog import Consequence
from app.model.decisions import Result
from app.model.proposals import ChangeKind, ProposalFilter, ProposeTask, Reads
from app.policy_tools.compare.meaning import compare_meaning
from app.propose.judged_calls import Judge, policies_of
from app.propose.observed_calls import Observations
from app.propose.proposal import proposal_of
from app.propose.proposed_policies import KnownTool

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


def proposed(calls, current=CURRENT, *, days=100, since_ms=0, refused=(), catalog=CATALOG):
    task = ProposeTask(
        workspace_id="", agent_id="", from_ms=START_MS, to_ms=START_MS + days * DAY_MS,
        wanted=ProposalFilter(), reads=Reads.SEEN,
    )  # fmt: skip
    seen = Observations(calls=calls, called=frozenset(call.tool for call in calls), refused=list(refused))
    return proposal_of(task, seen, catalog, (), current, since_ms, compare_meaning)


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
    assert found.policies[0]["rules"] == [
        {"type": "tool_grant", "tools": ["read"]},
        {"type": "approval_required", "tools": ["old"]},
    ]


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


def test_a_warning_says_what_changes_do_not_do():
    """Tools that nobody has marked, or that the catalogue lacks, are as before: these neither ask nor are denied."""
    catalog = CATALOG | {"old": KnownTool()}
    found = proposed([*READS, observed("new", {}, "u", number=101)], days=10, catalog=catalog)
    assert found.warnings == [
        "1 tool is not marked, so no change allows more: old",
        "1 tool is not in the catalogue, or named as a pattern of tools is, so no change allows more: new",
    ]


def test_the_changes_that_were_applied_are_not_proposed_again():
    calls = [*approved("change", 4), *READS]
    first = proposed(calls)
    assert proposed(calls, first.policies).changes == []


def results(policies, calls):
    """What each call gets, with room in every limit."""
    judge = Judge(policies_of(policies))
    return [judge.judge(call, counts=False).result for call in calls]


STRICTEST_FIRST = (Result.DENIED, Result.ESCALATED, Result.ALLOWED)
OUTSIDE = [
    observed("change", parameters, "eve") for parameters in ({"order": "../etc"}, {"order": 7}, {"x": "A-1"}, {})
]
ANY_CALLS = [*OUTSIDE, *(observed(tool, {"order": "A-1"}, "eve") for tool in ("read", "old", "change", "pay", "new"))]


def test_a_bound_holds_although_a_lower_tier_grants_the_tool():
    """It stands where people were asked: below, it would not be evaluated."""
    current = [
        {"name": "asks", "priority": 10, "rules": [{"type": "approval_required", "tools": ["change"]}]},
        {"name": "all of it", "priority": 5, "rules": [{"type": "tool_grant", "tools": ["change", "read"]}]},
    ]
    found = proposed([*approved("change", 4), *READS], current, days=10)
    assert shown(found) == [(ChangeKind.WIDENS, "change")]
    assert set(results(found.policies, OUTSIDE)) == {Result.ESCALATED}
    assert results(found.policies, approved("change", 1)) == [Result.ALLOWED]
    assert {each.path.partition("]")[0] for each in found.evidence} == {"policies[1"}


@pytest.mark.parametrize("fields", [{"kind": "guardrail"}, {"mode": "shadow"}, {"enabled": False}])
def test_guardrails_and_what_is_not_in_force_stay_as_they_are(fields):
    rules = [
        {"type": "tool_allowlist", "tools": ["old"]},
        {"type": "approval_required", "tools": ["change"]},
    ]
    kept = {"name": "kept", **fields, "rules": rules}
    found = proposed([*approved("change", 4), *READS], [kept, *CURRENT])
    assert kept in found.policies


def test_a_guardrail_that_asks_leaves_nothing_to_widen():
    """Whatever is granted below it, people are asked."""
    asking = {"name": "asks", "kind": "guardrail", "rules": [{"type": "approval_required", "tools": ["change"]}]}
    assert proposed([*approved("change", 4), *READS], [asking, *CURRENT], days=10).changes == []


def test_an_unused_tool_asks_in_the_tier_that_granted_it():
    """Where it is not granted there, a lower tier may allow it."""
    current = [
        {"name": "reads", "priority": 10, "rules": [{"type": "tool_grant", "tools": ["read", "old"]}]},
        {"name": "all", "rules": [{"type": "parameter_constraint", "tools": ["*"],
                                   "parameters": {"x": {"type": "string", "required": False}}}]},
    ]  # fmt: skip
    found = proposed(READS, current)
    assert flips(found.changes[0]) == [("allowed", "escalated", "old")]


def test_an_allowlist_fences_without_its_unused_tool_too():
    """An allowlist that is gone, because nothing of it was used, would let lower tiers allow what it has denied."""
    current = [
        {"name": "fence", "priority": 10, "rules": [{"type": "tool_allowlist", "tools": ["old"]}]},
        {"name": "reads", "rules": [{"type": "tool_grant", "tools": ["read", "pay"]}]},
    ]
    found = proposed(READS, current)
    assert (ChangeKind.NARROWS, "old") in shown(found)
    assert results(found.policies, ANY_CALLS[-5:]) == [
        Result.DENIED, Result.ESCALATED, Result.DENIED, Result.DENIED, Result.DENIED,
    ]  # fmt: skip


def test_policies_in_shadow_mode_alone_are_made_anew():
    """They grant nothing, so there is nothing to change; policies of the same names become enforced."""
    current = [{"name": "Reading", "mode": "shadow", "rules": [{"type": "tool_grant", "tools": ["read"]}]}]
    assert proposed(READS, current).changes is None


def test_a_bound_that_was_in_shadow_mode_is_in_force():
    shadow = {"name": "change: as users made it", "mode": "shadow", "priority": 1000,
              "rules": [{"type": "approval_required", "tools": ["change"]}]}  # fmt: skip
    found = proposed([*approved("change", 4), *READS], [*CURRENT, shadow], days=10)
    assert results(found.policies, approved("change", 1)) == [Result.ALLOWED]
    assert flips(found.changes[0])


def test_guardrails_that_a_whole_file_does_not_have_are_said():
    """With `--prune`, they would be deleted."""
    guardrail = {"name": "no pay", "kind": "guardrail", "rules": [{"type": "tool_denylist", "tools": ["pay"]}]}
    current = [guardrail, {"name": "all", "rules": [{"type": "tool_grant", "tools": ["*"]}]}]
    found = proposed(READS, current)
    assert found.changes is None
    assert any("no pay" in each for each in found.warnings)


_TOOLS = st.lists(st.sampled_from(["read", "old", "change", "pay"]), min_size=1, max_size=3, unique=True)
_CONDITION = st.sampled_from([{}, {}, {"when": {"parameters": {"order": {"enum": ["A-1", "A-0"]}}}}])
_RULE = st.one_of(
    st.builds(
        lambda kind, tools, condition: {"type": kind, "tools": tools, **condition},
        st.sampled_from(["tool_grant", "tool_allowlist", "approval_required", "tool_denylist"]),
        _TOOLS,
        _CONDITION,
    ),
    st.just({"type": "approval_required", "tools": ["*"]}),
    st.just(
        {"type": "parameter_constraint", "tools": ["*"], "parameters": {"x": {"type": "string", "required": False}}}
    ),
)
_POLICY = st.fixed_dictionaries(
    {"rules": st.lists(_RULE, min_size=1, max_size=3)},
    optional={
        "priority": st.sampled_from([5, 10]),
        "mode": st.just("shadow"),
        "kind": st.just("guardrail"),
        "enabled": st.just(False),
    },
)


def _is_valid(policy):
    return policy.get("kind") != "guardrail" or all(rule["type"] != "tool_grant" for rule in policy["rules"])


@given(st.lists(_POLICY.filter(_is_valid), min_size=1, max_size=4))
def test_whatever_the_policies_are_narrowing_widens_nothing_and_widening_only_within_bounds(made):
    current = [{"name": f"policy {number}", **policy} for number, policy in enumerate(made)]
    found = proposed([*approved("change", 4), *READS], current)
    if found.changes is None:
        return
    before, after = results(current, ANY_CALLS), results(found.policies, ANY_CALLS)
    widened = {tool for kind, tool in shown(found) if kind is ChangeKind.WIDENS}
    for call, was, becomes in zip(ANY_CALLS, before, after, strict=True):
        is_within = call.tool in widened and call not in OUTSIDE
        assert is_within or STRICTEST_FIRST.index(becomes) <= STRICTEST_FIRST.index(was), (call, was, becomes)
    for kind, tool in shown(found):
        if kind is ChangeKind.NARROWS:
            assert all(becomes is not Result.ALLOWED for call, becomes in zip(ANY_CALLS, after, strict=True)
                       if call.tool == tool)  # fmt: skip
