"""A second decision point, written straight from docs/semantics.md, so that the first can be held against it.

Plain JSON in, nothing compiled, nothing remembered. It shares no code with the first, and where the two
disagree, one of them or the page is wrong.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
import re2

Json = Any
Bucket = tuple[str, int, tuple[str, ...], int]
"""A rate limit's calls: policy id, window, tools in order, and the place among rules alike in both."""

PASS, ABSTAIN, DENY, ESCALATE = "pass", "abstain", "deny", "escalate"
STRICTNESS = {"allowed": 0, "escalated": 1, "denied": 2}
RESULTS = {DENY: "denied", ESCALATE: "escalated", PASS: "allowed"}


class Answer(NamedTuple):
    """result; policy id and rule index of who gave it; retry_us if a full rate limit gave it."""

    result: str
    policy: str | None = None
    rule: int | None = None
    retry_us: int | None = None


def evaluate(
    status: str,
    policies: Collection[Json],
    call: Json,
    now_us: int,
    admitted: Mapping[Bucket, Collection[int]],
) -> Answer:
    """The answer to one call.

    policies: `id`, `createdAt` and the fields of a policy. admitted: the times (us) of each bucket's calls.
    """
    if status != "active":
        return Answer("denied")
    waits = {}
    for policy in policies:
        for index, rule in enumerate(policy["rules"]):
            if rule["type"] == "rate_limit":
                wait = wait_us(rule["rateLimit"], admitted.get(bucket(policy, index), ()), now_us)
                if wait > 0:
                    waits[policy["id"], index] = wait

    answer = decide(policies, call, now_us, waits)
    if (answer.policy, answer.rule) not in waits:
        return answer
    # Worth waiting for: every full rate limit that changes the answer by itself.
    with_room = decide(policies, call, now_us, ())
    counts = [wait for limit, wait in waits.items() if decide(policies, call, now_us, {limit}) != with_room]
    return answer._replace(retry_us=max(counts))


def takes(policies: Collection[Json], call: Json) -> list[Bucket]:
    """The buckets that an allowed call takes from: rate limits that cover it in the deciding tier and in guardrails."""
    tier = [policy for policy, _ in deciding_tier(policies, call, 0, ())]
    return [
        bucket(policy, index)
        for policy in tier + guardrails(policies)
        for index, rule in enumerate(policy["rules"])
        if rule["type"] == "rate_limit" and covers(rule["tools"], call["tool_name"])
    ]


def decide(policies: Collection[Json], call: Json, now_us: int, full: Collection[tuple[str, int]]) -> Answer:
    """What the tiers say, unless a guardrail is stricter; of guardrails alike the first in their order is named."""
    answer = by_tiers(policies, call, now_us, full)
    for policy in guardrails(policies):
        verdicts = verdicts_of(policy, call, now_us, full)
        verdict = policy_verdict(verdicts)
        if verdict in (DENY, ESCALATE) and STRICTNESS[RESULTS[verdict]] > STRICTNESS[answer.result]:
            answer = Answer(RESULTS[verdict], policy["id"], reported_rule(policy, verdicts, verdict))
    return answer


def by_tiers(policies: Collection[Json], call: Json, now_us: int, full: Collection[tuple[str, int]]) -> Answer:
    """Denied over escalated over allowed in the first tier that matches; the oldest policy that gave it is named."""
    tier = deciding_tier(policies, call, now_us, full)
    for verdict in (DENY, ESCALATE, PASS):
        for policy, verdicts in tier:
            if policy_verdict(verdicts) == verdict:
                return Answer(RESULTS[verdict], policy["id"], reported_rule(policy, verdicts, verdict))
    return Answer("denied")


def guardrails(policies: Collection[Json]) -> list[Json]:
    """Those that are enabled, by priority and then by age."""
    found = [policy for policy in policies if policy["enabled"] and policy.get("kind") == "guardrail"]
    return sorted(found, key=lambda policy: (-policy["priority"], policy["createdAt"], policy["id"]))


def deciding_tier(policies: Collection[Json], call: Json, now_us: int, full: Collection[tuple[str, int]]) -> list[Json]:
    """The matching policies of the highest priority that has one, oldest first, each with its rules' verdicts."""
    enabled = [policy for policy in policies if policy["enabled"] and policy.get("kind", "grant") == "grant"]
    for priority in sorted({policy["priority"] for policy in enabled}, reverse=True):
        tier = []
        for policy in sorted(enabled, key=lambda policy: (policy["createdAt"], policy["id"])):
            if policy["priority"] == priority:
                verdicts = verdicts_of(policy, call, now_us, full)
                if policy_verdict(verdicts) != ABSTAIN:
                    tier.append((policy, verdicts))
        if tier:
            return tier
    return []


def verdicts_of(policy: Json, call: Json, now_us: int, full: Collection[tuple[str, int]]) -> list[str]:
    return [
        rule_verdict(rule, call, now_us, full=(policy["id"], index) in full)
        for index, rule in enumerate(policy["rules"])
    ]


def policy_verdict(verdicts: list[str]) -> str:
    return next((verdict for verdict in (DENY, ESCALATE, PASS) if verdict in verdicts), ABSTAIN)


def reported_rule(policy: Json, verdicts: list[str], verdict: str) -> int:
    """The first rule with the policy's verdict; of those that fail, rate limits last."""
    candidates = [index for index, each in enumerate(verdicts) if each == verdict]
    if verdict != PASS:
        candidates.sort(key=lambda index: policy["rules"][index]["type"] == "rate_limit")
    return candidates[0]


def rule_verdict(rule: Json, call: Json, now_us: int, *, full: bool) -> str:
    covered = covers(rule["tools"], call["tool_name"])
    if rule["type"] == "tool_allowlist":
        return PASS if covered else DENY
    if not covered:
        return ABSTAIN
    if rule["type"] == "tool_denylist":
        return DENY
    if rule["type"] == "approval_required":
        return ESCALATE
    if rule["type"] == "parameter_constraint":
        ok = all(satisfies(call.get("parameters", {}), name, wanted) for name, wanted in rule["parameters"].items())
    elif rule["type"] == "time_based":
        ok = inside(rule["timeWindow"], now_us)
    else:
        ok = not full
    return PASS if ok else rule.get("effect", DENY)


def covers(patterns: list[str], tool: str) -> bool:
    for pattern in patterns:
        if pattern in (tool, "*"):
            return True
        if pattern[-2:] == ".*" and tool[: len(pattern) - 1] == pattern[:-1] and tool != pattern[:-1]:
            return True
    return False


def satisfies(parameters: Json, name: str, wanted: Json) -> bool:
    values = list(meanings(parameters, name))
    if not values:
        return wanted.get("required") is False
    return all(fits(value, wanted) for value in values)


def meanings(holder: Json, name: str) -> Iterator[Json]:
    """Every value that `name` can mean: the key itself, and the rest of the name in an object under its beginning."""
    for key, value in holder.items():
        if key == name:
            yield value
        if name.startswith(f"{key}.") and isinstance(value, dict):
            yield from meanings(value, name[len(key) + 1 :])


def fits(value: Json, wanted: Json) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if "regex" in wanted:
        if value is None or isinstance(value, list | dict):
            return False
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        if re2.search(wanted["regex"], text) is None:
            return False
    if "enum" in wanted and not any(json_type(value) == json_type(each) and value == each for each in wanted["enum"]):
        return False
    if "min" in wanted and not (is_number and value >= wanted["min"]):
        return False
    return "max" not in wanted or (is_number and value <= wanted["max"])


def json_type(value: Json) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def inside(window: Json, now_us: int) -> bool:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now_us)
    local = moment.astimezone(ZoneInfo(window.get("timezone", "UTC")))
    names = {local.isoweekday(), 0} if local.isoweekday() == 7 else {local.isoweekday()}
    return local.hour in window.get("allowedHours", range(24)) and bool(
        names & set(window.get("allowedDays", range(8)))
    )


def wait_us(limit: Json, times: Collection[int], now_us: int) -> int:
    """Until fewer than `maxCalls` of the admitted calls are in the window that ends then; 0 if that is now."""
    window_us = limit["windowSeconds"] * 1_000_000
    counted = sorted(time for time in times if time + window_us > now_us)
    leaving = len(counted) - limit["maxCalls"]
    return counted[leaving] + window_us - now_us if leaving >= 0 else 0


def bucket(policy: Json, index: int) -> Bucket:
    alike = [
        (rule["rateLimit"]["windowSeconds"], tuple(sorted(set(rule["tools"]))))
        for rule in policy["rules"][: index + 1]
        if rule["type"] == "rate_limit"
    ]
    return policy["id"], *alike[-1], alike[:-1].count(alike[-1])
