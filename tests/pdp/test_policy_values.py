"""Policies as values: their evaluation order, and the names of their quotas."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.counting import quota_fingerprints
from app.model.policies import Policy, evaluation_order
from app.model.quotas import RateLimit
from app.model.rule import Effect
from app.model.rules import PolicyRule, RateLimited, Rules, ToolAllowlist


def limited(*tools, max_calls=5, window_seconds=60, **fields):
    return RateLimited(
        tools=list(tools), rate_limit=RateLimit(max_calls=max_calls, window_seconds=window_seconds), **fields
    )


def policy(policy_id, priority, created_ms):
    return Policy(
        id=policy_id,
        agent_id="a",
        name=policy_id,
        rules=(),
        priority=priority,
        created_ms=created_ms,
        updated_ms=0,
        version=1,
    )


def test_policies_are_asked_by_priority_then_age_then_id():
    """The id makes the order the same on every replica, even within one millisecond."""
    wanted = [
        policy("z", 9, 5),
        policy("y", 1, 1),
        policy("a", 1, 2),
        policy("b", 1, 2),
        policy("c", 0, 0),
    ]
    assert evaluation_order(reversed(wanted)) == wanted


rate_limits = st.builds(
    limited,
    st.sampled_from(["a", "b", "a.*", "*"]),
    st.sampled_from(["a", "b", "c"]),
    max_calls=st.integers(1, 3),
    window_seconds=st.integers(1, 3),
    effect=st.sampled_from([Effect.DENY, Effect.ESCALATE]),
)
rule_lists = st.lists(rate_limits | st.just(ToolAllowlist(tools=["*"])), max_size=50)


@given(rule_lists)
def test_no_two_rules_share_a_bucket(rules):
    """Every rate limit has its own; other rules have none."""
    names = quota_fingerprints(rules)
    assert [name is not None for name in names] == [isinstance(rule, RateLimited) for rule in rules]
    given_names = [name for name in names if name is not None]
    assert len(set(given_names)) == len(given_names)


@given(rule_lists, st.data())
def test_a_bucket_survives_edits_that_keep_its_rule(rules, data):
    """Such as new maxima and effects, reordered or repeated tools, and changes of other rules."""
    changed = []
    for rule in rules:
        if isinstance(rule, RateLimited):
            tools = data.draw(st.permutations(rule.tools)) + data.draw(
                st.lists(st.sampled_from(rule.tools), max_size=2)
            )
            new = limited(*tools, max_calls=data.draw(st.integers(1, 9)), window_seconds=rule.rate_limit.window_seconds)
            changed.append(new)
        if data.draw(st.booleans()):
            changed.append(ToolAllowlist(tools=["x"]))

    before = [name for name in quota_fingerprints(rules) if name]
    assert [name for name in quota_fingerprints(changed) if name] == before


@pytest.mark.parametrize(
    "other",
    [
        limited("a", window_seconds=61),
        limited("b"),
        limited("a", "b"),
        limited("A"),
        limited("a.*"),
        limited("a\u0301"),
    ],
)
def test_different_tools_or_a_different_window_make_a_different_bucket(other):
    """Calls admitted under one rule do not count under another."""
    assert quota_fingerprints([limited("a")]) != quota_fingerprints([other])


def test_a_bucket_keeps_its_name_from_release_to_release():
    """Deriving it differently would empty every quota at the next start."""
    assert quota_fingerprints([limited("b", "a"), limited("a", "b")]) == ["d6cafad2e1b99c10", "639f3b351319875a"]


def test_rules_come_back_as_they_were_given():
    """They are stored as sent, without added defaults and in the same order."""
    given_rules = [
        {"type": "tool_allowlist", "tools": ["b", "a", "a"]},
        {
            "type": "parameter_constraint",
            "tools": ["*"],
            "parameters": {"z": {"min": 1}, "a": {"enum": [1.0, True, None]}},
        },
        {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 1}, "effect": "deny"},
        {"type": "time_based", "tools": ["*"], "timeWindow": {"allowedDays": [7, 0]}},
    ]
    stored = msgspec.json.encode(msgspec.convert(given_rules, Rules))

    assert msgspec.json.decode(stored) == given_rules
    assert msgspec.json.decode(stored, type=tuple[PolicyRule, ...]) == tuple(msgspec.convert(given_rules, Rules))
