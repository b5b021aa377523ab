"""A full set of policies is compared in a bounded number of steps, or a single warning says that it is not."""

import msgspec
import pytest

from app.model.policies import Policy, PolicyKind
from app.model.policy_sets import MAX_POLICIES
from app.model.rules import Rules
from app.policy_tools.lint import Code, lint_written

WINDOW = {"allowedHours": [9]}


def policy(number, *rules, kind="guardrail"):
    """Rules are given as (type, tools, other fields)."""
    made = [{"type": type_, "tools": tools} | fields for type_, tools, fields in rules]
    return Policy(
        id=str(number),
        agent_id="a",
        name=f"p{number}",
        kind=PolicyKind(kind),
        rules=msgspec.convert(made, Rules),
        created_ms=0,
        updated_ms=0,
        version=1,
    )


def codes(policies):
    return [[each.code for each in warnings] for warnings in lint_written(policies, [])]


def test_a_full_set_of_policies_about_different_tools_is_compared():
    """Three rules each, grants and guardrails."""
    denying = [
        policy(
            number,
            ("tool_denylist", [f"a{number}", f"b{number}.*"], {}),
            ("time_based", ["b.*"], {"timeWindow": WINDOW}),
        )
        for number in range(MAX_POLICIES - 1)
    ]
    unchecked = ("time_based", ["a7", "b12.read"], {"timeWindow": WINDOW})
    found = codes([*denying, policy(MAX_POLICIES, unchecked)])
    assert found == [[]] * (MAX_POLICIES - 1) + [[Code.NEVER_DECIDES]]


def test_a_policy_is_warned_about_five_others():
    """A set in which all contradict each other would get a warning for each pair."""
    found = codes([policy(number, ("tool_allowlist", [f"a{number}"], {})) for number in range(100)])
    assert found == [[Code.ALLOWLISTS_DISJOINT] * 5] * 100


@pytest.mark.parametrize(
    "rules",
    [
        lambda number: [("tool_allowlist", ["a", f"{number}{each}.*"], {}) for each in range(9)],
        lambda number: [
            (
                "time_based",
                ["a"],
                {"timeWindow": WINDOW | {"allowedDays": [day], "allowedHours": [number % 24, number // 24]}},
            )
            for day in range(7)
        ],
    ],
)
def test_what_takes_too_many_steps_is_not_compared(rules):
    """A single warning says so, at each policy."""
    found = codes([policy(number, *rules(number)) for number in range(MAX_POLICIES)])
    assert found == [[Code.TOO_MUCH_TO_COMPARE]] * MAX_POLICIES
