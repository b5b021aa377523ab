"""A second decision point, written directly from docs/semantics.md to compare the first one with.

It takes plain JSON, compiles and caches nothing, and shares no code with the first. If the two disagree, one of them or
the page is wrong.
"""

import ipaddress
import operator
import posixpath
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from encodings.idna import ToASCII
from fractions import Fraction
from importlib import import_module
from itertools import combinations
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
import re2
from mirror import kinds, shell

Json = Any
Bucket = tuple[Any, ...]
"""A limit's calls: policy id, what makes rules alike, the place among rules alike, and the values that it is per."""

Past = tuple[int, str | None, frozenset[tuple[Any, ...]]]
"""An allowed call: when (us), in which session, and what it is remembered for. They are in the order of the answers."""

Denied = Mapping[tuple[Any, ...], Collection[int]]
"""When calls were denied (us), by breaker: policy id, what makes breakers alike, the place among those, the values."""

Reported = tuple[int, str | None, str, str, Json]
"""A record: when it was reported (us), in which session, of which tool's call, its name, its fields."""

Approved = tuple[int, str, str, str, Json]
"""A value that a rule remembers: when a person approved it (us), policy id, tool, parameter, value beside others."""

SIDES = ("forbiddenAfter", "requiresBefore")
SHADOW = "shadow "
"""What shadow policies have is called so: their buckets, and what a call is remembered for."""

NEVER = float("inf")
PASS, ABSTAIN, DENY, ESCALATE = "pass", "abstain", "deny", "escalate"
STRICTNESS = {"allowed": 0, "escalated": 1, "denied": 2}
FAIL = "fail"
OK, FAILS, MISSING, UNJUDGED = "ok", "fails", "missing", "unjudged"
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
    admitted: Mapping[Bucket, Collection[tuple[int, Any]]],
    history: Collection[Past] = (),
    denied: Denied | None = None,
    approved: Collection[Approved] = (),
    reported: Collection[Reported] = (),
) -> Answer:
    """The answer to one call.

    policies: `id`, `createdAt` and the fields of a policy. admitted: the times (us) of each bucket's calls and what
    they took of it. history: the allowed calls. denied: the denied ones since the agent is active.
    approved: what people have approved, and the rules still remember. reported: the records, oldest first.
    """
    if status != "active":
        return Answer("denied")
    held = admitted, history, denied or {}, approved, reported
    waits = {
        (policy["id"], index): wait
        for policy in policies
        for index, rule in enumerate(policy["rules"])
        if is_limit(rule, call) and (wait := wait_of(policy, index, call, now_us, held)) > 0
    }

    answer = decide(policies, call, now_us, waits)
    if (answer.policy, answer.rule) not in waits:
        return answer
    # Worth waiting for: every full rate limit that changes the answer by itself.
    with_room = decide(policies, call, now_us, ())
    if with_room.result == answer.result:
        return answer
    counts = [wait for limit, wait in waits.items() if decide(policies, call, now_us, {limit}) != with_room]
    return answer._replace(retry_us=None if max(counts) == NEVER else max(counts))


def wait_of(policy: Json, index: int, call: Json, now_us: int, held: Json) -> Any:
    """The time until the rule, which is a limit, lets the call pass. held: as `evaluate` gets it."""
    admitted, history, denied, approved, reported = held
    rule = policy["rules"][index]
    if rule["type"] == "pinned_request":  # nothing is ever pinned here
        return NEVER
    if rule["type"] == "parameter_constraint":
        known = is_remembered(policy, rule, call, now_us, approved)
        return 0 if known and ("record" not in rule or record_fits(rule["record"], call, now_us, reported)) else NEVER
    if "denialBreaker" in rule:
        counted = denied.get((*breaker(policy, index), reading(rule, call)), ())
        return wait_of_breaker(rule["denialBreaker"], counted, now_us)
    if "sequence" in rule:
        spelled = "" if is_enforced(policy) else SHADOW
        only = once(policy, index)
        return wait_of_sequence(rule["sequence"], reading(rule, call), now_us, history, spelled, only)
    values, amount = reading(rule, call)
    return wait_us(limit_of(rule), admitted.get(bucket(policy, index, values), ()), now_us, amount)


class Divergence(NamedTuple):
    """What would have been decided with the shadow policies, and the policy and rule that make the difference."""

    result: str
    policy: str
    rule: int


def is_enforced(policy: Json) -> bool:
    return bool(policy.get("mode", "enforce") == "enforce")


def enforced(policies: Collection[Json]) -> list[Json]:
    """The policies that can change an answer."""
    return [policy for policy in policies if is_enforced(policy)]


def together(
    status: str,
    policies: Collection[Json],
    call: Json,
    now_us: int,
    admitted: Mapping[Bucket, Collection[tuple[int, Any]]],
    history: Collection[Past] = (),
    denied: Denied | None = None,
    approved: Collection[Approved] = (),
    reported: Collection[Reported] = (),
) -> Divergence | None:
    """What all policies say as if enforced, attributed to a shadow policy; None if none is evaluated.

    If another policy gives the result, it is attributed to the first shadow grant of the deciding tier.
    """
    answer = evaluate(status, policies, call, now_us, admitted, history, denied, approved, reported)
    tier = deciding_tier(policies, call, now_us, ())
    if not tier or status != "active":
        return None
    if answer.policy in {policy["id"] for policy in policies if not is_enforced(policy)}:
        return Divergence(answer.result, str(answer.policy), answer.rule or 0)
    policy, verdicts = tier[0]
    return Divergence(answer.result, policy["id"], next(n for n, each in enumerate(verdicts) if each != ABSTAIN))


def takes(policies: Collection[Json], call: Json) -> list[tuple[Bucket, Any]]:
    """The buckets that an allowed call takes from, and how much: limits of the deciding tier and of guardrails."""
    tier = [policy for policy, _ in deciding_tier(policies, call, 0, ())]
    return [
        (bucket(policy, index, reading(rule, call)[0]), reading(rule, call)[1])
        for policy in tier + guardrails(policies)
        for index, rule in enumerate(policy["rules"])
        if limit_of(rule) is not None and is_limit(rule, call) and covers(rule["tools"], call["tool_name"])
    ]


def breakers(policies: Collection[Json], call: Json, answer: Answer) -> list[tuple[tuple[Any, ...], Json]]:
    """What counts the call that is denied: each breaker of a guardrail that covers its tool, and can tell its values.

    Nothing counts what a full breaker denies.
    """
    decides = [policy["rules"][answer.rule or 0] for policy in policies if policy["id"] == answer.policy]
    if any("denialBreaker" in rule and is_limit(rule, call) for rule in decides):
        return []
    return [
        ((*breaker(policy, index), reading(rule, call)), rule["denialBreaker"])
        for policy in guardrails(policies)
        for index, rule in enumerate(policy["rules"])
        if "denialBreaker" in rule and covers(rule["tools"], call["tool_name"]) and reading(rule, call) is not None
    ]


def is_tripped(terms: Json, times: Collection[int], now_us: int) -> bool:
    """Whether a breaker that suspends has reached its maximum."""
    return terms["action"] == "suspend" and wait_of_breaker(terms, times, now_us) > 0


def wait_of_breaker(terms: Json, times: Collection[int], now_us: int) -> Any:
    """Until fewer calls than it waits for were denied in the window that ends then; 0 if that is now."""
    window_us = terms["windowSeconds"] * 1_000_000
    newest = sorted((time for time in times if time + window_us > now_us), reverse=True)
    return newest[terms["maxDenials"] - 1] + window_us - now_us if len(newest) >= terms["maxDenials"] else 0


def breaker(policy: Json, index: int) -> tuple[Any, ...]:
    alike = [
        (
            rule["denialBreaker"]["windowSeconds"],
            tuple(sorted(set(rule["tools"]))),
            tuple(rule["denialBreaker"].get("per", ())),
        )
        for rule in policy["rules"][: index + 1]
        if "denialBreaker" in rule
    ]
    return policy["id"], alike[-1], alike[:-1].count(alike[-1])


def leaves(policies: Collection[Json], call: Json) -> frozenset[tuple[Any, ...]]:
    """The patterns by which an allowed call is remembered: those of sequence rules in force that cover its tool."""
    return frozenset(
        (side, pattern if is_enforced(policy) else SHADOW + pattern, *(once(policy, index) if side == SIDES[1] else ()))
        for policy in policies
        if policy["enabled"]
        for index, rule in enumerate(policy["rules"])
        for side in SIDES
        for pattern in rule.get("sequence", {}).get(side, ())
        if covers([pattern], call["tool_name"])
    )


def uses(policies: Collection[Json], call: Json) -> frozenset[tuple[Any, ...]]:
    """The rules with `once` that are asked about an allowed call: what came before counts for them no more."""
    tier = [policy for policy, _ in deciding_tier(policies, call, 0, ())]
    return frozenset(
        ("use", *once(policy, index))
        for policy in tier + guardrails(policies)
        for index, rule in enumerate(policy["rules"])
        if once(policy, index) and is_limit(rule, call) and covers(rule["tools"], call["tool_name"])
    )


def once(policy: Json, index: int) -> tuple[Any, ...]:
    """What makes a rule with `once` itself, for which calls are remembered by themselves; () for another."""
    alike = [
        (
            rule["sequence"].get("withinSeconds", 2_678_400),
            tuple(sorted(set(rule["tools"]))),
            tuple(sorted(set(rule["sequence"]["requiresBefore"]))),
        )
        for rule in policy["rules"][: index + 1]
        if rule.get("sequence", {}).get("once")
    ]
    if not policy["rules"][index].get("sequence", {}).get("once"):
        return ()
    return ((policy["id"], is_enforced(policy), alike[-1], alike[:-1].count(alike[-1])),)


def wait_of_sequence(
    sequence: Json, session: str, now_us: int, history: Collection[Past], spelled: str = "", only: tuple[Any, ...] = ()
) -> Any:
    """Until the session's past lets the call pass; 0 if it does, NEVER where waiting does not help.

    only: what makes a rule with `once` itself.
    """
    window_us = sequence.get("withinSeconds", 2_678_400) * 1_000_000

    def ends(side: str) -> list[int]:
        own = only if side == "requiresBefore" else ()
        wanted = {(side, spelled + pattern, *own) for pattern in sequence.get(side, ())}
        past = [(time, left) for time, where, left in history if where == session]
        last_use = max((place for place, (_, left) in enumerate(past) if own and ("use", *own) in left), default=-1)
        return [
            time + window_us for time, left in past[last_use + 1:] if left & wanted and time + window_us > now_us
        ]  # fmt: skip

    forbidden = max((end - now_us for end in ends("forbiddenAfter")), default=0)
    return NEVER if "requiresBefore" in sequence and not ends("requiresBefore") else forbidden


def session_of(call: Json) -> str | None:
    session = (call.get("context") or {}).get("session")
    return session if isinstance(session, str) and 1 <= len(session) <= 128 else None


def decide(policies: Collection[Json], call: Json, now_us: int, full: Collection[tuple[str, int]]) -> Answer:
    """The tiers' result, unless a guardrail is stricter; of several equal guardrails, the first in order is named."""
    answer = by_tiers(policies, call, now_us, full)
    for policy in guardrails(policies):
        verdicts = verdicts_of(policy, call, now_us, full)
        verdict = policy_verdict(verdicts)
        if verdict in (DENY, ESCALATE) and STRICTNESS[RESULTS[verdict]] > STRICTNESS[answer.result]:
            answer = Answer(RESULTS[verdict], policy["id"], reported_rule(policy, verdicts, verdict, call))
    return answer


def by_tiers(policies: Collection[Json], call: Json, now_us: int, full: Collection[tuple[str, int]]) -> Answer:
    """Denied over escalated over allowed in the first tier that matches; the oldest policy that gave it is named."""
    tier = deciding_tier(policies, call, now_us, full)
    for verdict in (DENY, ESCALATE, PASS):
        for policy, verdicts in tier:
            if policy_verdict(verdicts) == verdict:
                return Answer(RESULTS[verdict], policy["id"], reported_rule(policy, verdicts, verdict, call))
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


def reported_rule(policy: Json, verdicts: list[str], verdict: str, call: Json) -> int:
    """The first rule with the policy's verdict; of those that fail, rate limits that are full last."""
    candidates = [index for index, each in enumerate(verdicts) if each == verdict]
    if verdict != PASS:
        candidates.sort(key=lambda index: is_limit(policy["rules"][index], call))
    return candidates[0]


def is_limit(rule: Json, call: Json) -> bool:
    """Whether only what is stored decides if it passes: its quota, the session's past, or what is pinned."""
    if rule["type"] == "pinned_request":
        return verdict_of_circumstances(rule, call) == PASS
    if "denialBreaker" in rule:
        return rule["denialBreaker"]["action"] != "suspend" and reading(rule, call) is not None
    if rule["type"] == "parameter_constraint":
        remembers = any("approvedBefore" in wanted for _, _, wanted in named(rule)) or "record" in rule
        applies = remembers and verdict_of_circumstances(rule, call) == PASS
        can_tell = can_look_up(rule, call)
        return applies and can_tell and all(satisfies(call, of, name, wanted) for of, name, wanted in named(rule))
    counts = limit_of(rule) is not None or "sequence" in rule
    return counts and verdict_of_circumstances(rule, call) == PASS and reading(rule, call) is not None


def remembered(policies: Collection[Json], call: Json, now_us: int) -> Iterator[tuple[str, str, str, Json]]:
    """What the rules remember of an approved call, as `Approved` without the time."""
    tier = [policy for policy, _ in deciding_tier(policies, call, now_us, ())]
    for policy in [*tier, *guardrails(policies)]:
        for rule in policy["rules"]:
            if covers(rule["tools"], call["tool_name"]) and is_limit(rule, call):
                for name, _, values in approved_before(rule, call):
                    yield from ((policy["id"], call["tool_name"], name, value) for value in values)


def is_remembered(policy: Json, rule: Json, call: Json, now_us: int, approved: Collection[Approved]) -> bool:
    """Whether people approved every value in time."""
    return all(
        any(
            at_us + seconds * 1_000_000 > now_us and said == [policy["id"], call["tool_name"], name, value]
            for at_us, *said in approved
        )
        for name, seconds, values in approved_before(rule, call)
        for value in values
    )


def approved_before(rule: Json, call: Json) -> Iterator[tuple[str, int, Json]]:
    """Each parameter that the rule remembers, with its seconds and its values, each beside those of others."""
    wanted_of = {
        (of, name): wanted["approvedBefore"]
        for of, name, wanted in (named(rule) if rule["type"] == "parameter_constraint" else ())
        if "approvedBefore" in wanted
    }
    known = {place: wanted["withinSeconds"] for place, wanted in wanted_of.items()}
    hosts = {name for (_, name), wanted in wanted_of.items() if "of" in wanted}
    if hosts or any("in" in wanted for wanted in wanted_of.values()):
        yield from approved_in_part(wanted_of, call, hosts)
        return
    found = {
        name: [each for each in meanings(call.get(of) or {}, name) if each not in (LACKING, EMPTY)]
        for of, name in known
    }
    for (of, name), seconds in known.items():
        others = {other: said for other, said in found.items() if other != name and "[*]" not in other}
        array, _, inside = name.partition("[*].")
        siblings = [other.partition("[*].")[2] for other in found if other.startswith(f"{array}[*].")]
        if not inside or len(siblings) < 2:
            yield name, seconds, [[value, others, None] for value in found[name]]
            continue
        for element in meanings(call.get(of) or {}, f"{array}[*]"):
            if isinstance(element, dict):
                whole = said_in(element, siblings)
                yield name, seconds, [[value, others, whole] for value in present(element, inside)]


def approved_in_part(wanted_of: Json, call: Json, hosts: Collection[str]) -> Iterator[tuple[str, int, Json]]:
    """The same for rules of which hosts, or sessions, count; the tests have none about elements with several names."""
    found = {
        name: [origin(each) if name in hosts else each for each in present(call.get(of) or {}, name)]
        for of, name in wanted_of
    }
    for (_, name), wanted in wanted_of.items():
        others = {other: said for other, said in found.items() if other != name and "[*]" not in other}
        session = session_of(call) if "in" in wanted else None
        yield name, wanted["withinSeconds"], [[value, others, session] for value in found[name]]


def can_look_up(rule: Json, call: Json) -> bool:
    """Whether the call says what must be looked up: its session, and which record is meant."""
    in_session = any("in" in wanted.get("approvedBefore", {}) for _, _, wanted in named(rule)) or "record" in rule
    if in_session and session_of(call) is None:
        return False
    return "record" not in rule or record_name(rule["record"], call) is not None


def record_name(wanted: Json, call: Json) -> str | None:
    """The name with the call's value in it; None where that is no text or whole number of up to 128 characters."""
    found = re.fullmatch(r"(.*)\{(parameters|context)\.(.+)\}(.*)", wanted["of"])
    if not found:
        return str(wanted["of"])
    values = there(call, found[2], found[3])
    if values is None or len(values) != 1 or isinstance(values[0], bool) or not isinstance(values[0], str | int):
        return None
    return f"{found[1]}{values[0]}{found[4]}" if 1 <= len(str(values[0])) <= 128 else None


def record_fits(wanted: Json, call: Json, now_us: int, reported: Collection[Reported]) -> bool:
    """Whether the newest record of that name in the session is as the rule says."""
    name, session = record_name(wanted, call), session_of(call)
    newest = [each for each in reported if each[1] == session and each[3] == name][-1:]
    for at_us, _, tool, _, fields in newest:
        in_time = now_us // 1000 - at_us // 1000 < wanted.get("withinSeconds", 3600) * 1000
        return (
            in_time
            and tool in wanted["from"]
            and all(
                field in fields and all(fits_field(fields[field], each, bound) for each, bound in bounds.items())
                for field, bounds in wanted["fields"].items()
            )
        )
    return False


def fits_field(value: Json, field: str, bound: Json) -> bool:
    if field in ("enum", "notEnum"):
        return ONE_WAY[field](value, bound) == OK
    return is_number(value) and bool(BOUNDS[field](value, bound))


def said_in(element: Json, names: list[str]) -> Json:
    """The values of these parameters in the element; those of several in an array's elements, element by element."""
    said = {}
    for name in names:
        array, _, inside = name.partition("[*].")
        insides = [other.partition("[*].")[2] for other in names if other.startswith(f"{array}[*].")]
        if inside and len(insides) > 1:
            inner = meanings(element, f"{array}[*]")
            said[array] = [found for each in inner if isinstance(each, dict) and (found := said_in(each, insides))]
        else:
            said[name] = present(element, name)
    return {name: values for name, values in said.items() if values}


def present(holder: Json, name: str) -> Json:
    return [each for each in meanings(holder, name) if each not in (LACKING, EMPTY)]


def limit_of(rule: Json) -> Json:
    return rule.get("rateLimit", rule.get("budget"))


def reading(rule: Json, call: Json) -> Json:
    """The values that the limit is per, and how much the call takes; None if the call does not say. For a sequence, the
    session.
    """
    if "sequence" in rule:
        return session_of(call)
    limit, values = rule.get("denialBreaker", limit_of(rule)), []
    for name in limit.get("per", ()):
        of, _, rest = name.partition(".")
        found = (
            [{"tool": call["tool_name"], "agent": "this one", "key": "this one"}[of]]
            if not rest
            else there(call, of, rest)
        )
        if found is None or len(found) != 1 or found[0] is None or isinstance(found[0], list | dict):
            return None
        values.append((json_type(found[0]), found[0]))
    if "denialBreaker" in rule:
        return tuple(values)
    if "budget" not in rule:
        return tuple(values), 1
    of = "parameters" if "parameter" in limit else "context"
    amount = limit.get("parameter", limit.get("context"))
    found = there(call, of, amount)
    if found is None or (len(found) != 1 and "[*]" not in amount):
        return None
    amounts = [Fraction(repr(each)) if json_type(each) == "number" else None for each in found]
    if any(each is None or not 0 <= each <= 10**9 or (each * 10**6).denominator != 1 for each in amounts):
        return None
    return (tuple(values), sum(amounts)) if sum(amounts) <= 10**9 else None


def there(call: Json, of: str, name: str) -> Json:
    """Every value that the name means, None where one is lacking or cannot be told."""
    try:
        outcomes = meanings(call.get(of) or {}, name)
    except BlockedError:
        return None
    return None if not outcomes or LACKING in outcomes else [each for each in outcomes if each is not EMPTY]


def rule_verdict(rule: Json, call: Json, now_us: int, *, full: bool) -> str:
    covered = covers(rule["tools"], call["tool_name"])
    if not covered and rule["type"] != "tool_allowlist":
        return ABSTAIN
    if "denialBreaker" in rule:
        fails = {"suspend": ABSTAIN, "deny": DENY, "escalate": ESCALATE}[rule["denialBreaker"]["action"]]
        return fails if fails == ABSTAIN or full or reading(rule, call) is None else PASS
    failing = {"tool_grant": ABSTAIN, "tool_allowlist": DENY, "tool_denylist": DENY, "approval_required": ESCALATE}
    fails = failing.get(rule["type"]) or rule.get("effect", DENY)
    applies = verdict_of_circumstances(rule, call)
    if applies == ABSTAIN:
        return ABSTAIN
    if applies == FAIL:
        return fails
    if rule["type"] in ("tool_grant", "tool_allowlist"):
        return PASS if covered else DENY
    if rule["type"] in failing:
        return fails
    if rule["type"] == "parameter_constraint":
        ok = all(satisfies(call, *each) for each in without_unread(rule, call)) and not full
        ok = ok and can_look_up(rule, call)
        unread = {DENY: DENY, "deny": DENY, "escalate": ESCALATE}[unread_of(rule)] if unread_lines(rule, call) else PASS
        return next((each for each in (DENY, ESCALATE) if each in (PASS if ok else fails, unread)), PASS)
    if rule["type"] == "parameter_schema":
        given = call.get("parameters") or {}
        ok = not is_spelled_otherwise(given, set(names_in(rule["schema"]))) and fits_schema(given, rule["schema"])
    elif rule["type"] == "time_based":
        ok = inside(rule["timeWindow"], now_us)
    else:
        ok = (rule["type"] == "pinned_request" or reading(rule, call) is not None) and not full
    return PASS if ok else fails


def unread_of(rule: Json) -> str:
    return next(wanted["command"]["unread"] for _, _, wanted in named(rule) if "unread" in wanted.get("command", {}))


def unread_lines(rule: Json, call: Json) -> list[tuple[str, str]]:
    """The names whose values are lines that cannot be read, of constraints that say what these do."""
    found = []
    for of, name, wanted in named(rule):
        if "unread" in wanted.get("command", {}):
            try:
                values = present(call.get(of) or {}, name)
            except BlockedError:
                continue
            if any(isinstance(each, str) and line_verdict(each, wanted["command"], call) == UNREAD for each in values):
                found.append((of, name))
    return found


def without_unread(rule: Json, call: Json) -> list[Json]:
    """The constraints, without what they say of lines that cannot be read and do something of their own."""
    unread = unread_lines(rule, call)
    return [
        (of, name, {field: bound for field, bound in wanted.items() if field != "command" or (of, name) not in unread})
        for of, name, wanted in named(rule)
    ]


def fits_schema(value: Json, schema: Json) -> bool:
    """By another library, imported only when needed because that takes a second."""
    return bool(import_module("jsonschema").Draft202012Validator(schema).is_valid(value))


def verdict_of_circumstances(rule: Json, call: Json) -> str:
    """PASS where the rule applies, ABSTAIN where it does not, FAIL where nobody can tell."""
    word = "when" if "when" in rule else "unless"
    if word not in rule:
        return PASS
    findings = [judged(call, of, name, wanted) for of, name, wanted in named(rule[word])]
    if UNJUDGED in findings:
        return FAIL
    if MISSING in findings:
        return {None: FAIL, "skip": ABSTAIN, "apply": PASS}[rule[word].get("ifMissing")]
    holds = all(each == OK for each in findings)
    return PASS if holds == (word == "when") else ABSTAIN


def named(holder: Json) -> list[Json]:
    return [(of, *pair) for of in ("parameters", "context") for pair in holder.get(of, {}).items()]


def covers(patterns: list[str], tool: str) -> bool:
    for pattern in patterns:
        if pattern in (tool, "*"):
            return True
        if pattern[-1:] == "*" and tool[: len(pattern) - 1] == pattern[:-1] and tool != pattern[:-1]:
            return True
    return False


def satisfies(call: Json, of: str, name: str, wanted: Json) -> bool:
    return judged(call, of, name, wanted) == OK


def judged(call: Json, of: str, name: str, wanted: Json) -> str:
    """The result of one named value against its constraint: OK, FAILS, MISSING or UNJUDGED."""
    if name == "**":
        given = {key: value for key, value in (call.get(of) or {}).items() if key not in wanted.get("except", ())}
        findings = [finding for value in everything(given) for finding in fits(value, wanted, call)]
        return next((each for each in (UNJUDGED, FAILS) if each in findings), OK)
    try:
        outcomes = meanings(call.get(of) or {}, name)
    except BlockedError:
        return UNJUDGED
    values = [each for each in outcomes if each is not LACKING and each is not EMPTY]
    if wanted.get("absent"):
        return FAILS if values else OK
    findings = [finding for value in values for finding in fits(value, wanted, call)]
    if (not outcomes or any(each is LACKING for each in outcomes)) and wanted.get("required") is not False:
        findings.append(MISSING)
    return next((each for each in (UNJUDGED, MISSING, FAILS) if each in findings), OK)


def everything(value: Json) -> Iterator[Json]:
    """Every text, number and member name."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from everything(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from everything(inner)
    elif value is not None and not isinstance(value, bool):
        yield value


class BlockedError(Exception):
    """Something other than an object or array stands where one must be, or a name has another spelling."""


def alike(name: str, other: str) -> bool:
    """Whether some reader without regard to letter case takes the two names for one."""
    one, two = (
        "".join("i" if letter in "\u0130\u0131" else unicodedata.normalize("NFKC", letter) for letter in each)
        for each in (name, other)
    )
    return one.upper().casefold() == two.upper().casefold()


def is_spelled_otherwise(value: Json, names: Collection[str]) -> bool:
    """Whether an object in the value has two names that are alike, or one that is like a name and not it."""
    if isinstance(value, dict):
        twice = any(alike(one, two) for one, two in combinations(value, 2))
        other = any(alike(key, name) for key in value for name in names if key not in names)
        return twice or other or any(is_spelled_otherwise(each, names) for each in value.values())
    return isinstance(value, list) and any(is_spelled_otherwise(each, names) for each in value)


def names_in(schema: Json) -> Iterator[str]:
    """The names of parameters in the schemas of the cases and of the tests."""
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        if keyword == "properties":
            yield from value
            for each in value.values():
                yield from names_in(each)
        elif keyword == "required":
            yield from value
        else:
            for each in value if isinstance(value, list) else [value]:
                yield from names_in(each)


LACKING, EMPTY = object(), object()


def meanings(value: Json, name: str) -> list[Json]:
    """Every value that `name` can mean below `value`, LACKING for an element without one, EMPTY for each array.

    Nothing at all: it is not there.
    """
    if name == "":
        return [value]
    if name[:3] == "[*]":
        if value is None:
            return [LACKING]
        if not isinstance(value, list):
            raise BlockedError
        rest = name[3:].removeprefix(".")
        return [EMPTY, *(each for element in value for each in meanings(element, rest) or [LACKING])]
    return below(value, name)


def below(value: Json, name: str) -> list[Json]:
    """The same, where the name goes on with a key."""
    if value is None:
        return []
    if not isinstance(value, dict):
        raise BlockedError
    ends = [at for at in range(len(name)) if name[at] == "." or name[at:].startswith("[*]")] + [len(name)]
    if any(key != name[:end] and alike(key, name[:end]) for key in value for end in until_array(name, ends)):
        raise BlockedError
    found = []
    for key, inner in value.items():
        rest = name[len(key) :]
        if not name.startswith(key) or ("[*]" in name and set(key) & set("[]*")):
            continue
        if rest[:1] in ("", "."):
            found += meanings(inner, rest[1:]) if rest != "." else below(inner, "")
        elif rest[:3] == "[*]":
            found += meanings(inner, rest)
    return found


def until_array(name: str, ends: list[int]) -> list[int]:
    """The ends of the keys that a name can begin with: none goes past its first `[*]`."""
    array = name.find("[*]")
    return [end for end in ends if array < 0 or end <= array]


def fits(value: Json, wanted: Json, call: Json) -> Iterator[str]:
    """A finding for each field of the constraint that looks at the value."""
    for field, bound in wanted.items():
        if field in OF_CALLS:
            yield OF_CALLS[field](value, bound, call)
        elif field in OTHERS:
            yield compared(value, field, bound, call)
        elif field in TEXTS:
            yield TEXTS[field](value, bound) if isinstance(value, str) else UNJUDGED
        elif field in BOUNDS:
            yield verdict(BOUNDS[field](value, bound)) if is_number(value) else UNJUDGED
        elif field in SIZES:
            yield verdict(SIZES[field][1](len(value), bound)) if isinstance(value, SIZES[field][0]) else UNJUDGED
        elif field in ONE_WAY:
            yield ONE_WAY[field](value, bound)


UNREAD = "unread"


def shell_line(value: Json, wanted: Json, call: Json) -> str:
    """Whether all commands of a line may run."""
    found = line_verdict(value, wanted, call) if isinstance(value, str) else UNJUDGED
    return UNJUDGED if found == UNREAD else found


def line_verdict(value: str, wanted: Json, call: Json) -> str:
    """The same, UNREAD for a line that cannot be read."""
    if "allow" not in wanted:
        return shell.judge(value, wanted, None, None)
    root, start = wanted["root"], one_text(call, "cwd")
    if isinstance(root, dict):
        root = one_text(call, root["context"])
    if MISSING in (root, start):
        return MISSING
    root, start = (path and shell.resolved(path, "") if path and path[0] == "/" else None for path in (root, start))
    if root is None or start is None or is_somebodys(root):
        return UNJUDGED
    if not shell.is_inside(start, root, root, {"secrets", "hidden"}):
        return UNJUDGED
    return shell.judge(value, wanted, root, start)


def is_somebodys(root: str) -> bool:
    """Whether it is the whole disk or a home."""
    return root in ("/", "/home", "/root", "/Users") or root.rpartition("/")[0] in ("/home", "/Users")


def one_text(call: Json, name: str) -> str | None:
    """The text that the name means in the context, None if it means anything else, or MISSING."""
    try:
        found = meanings(call.get("context") or {}, name)
    except BlockedError:
        return None
    if not found:
        return MISSING
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


def has_pattern(value: Json, pattern: str) -> str:
    if value is None or isinstance(value, list | dict):
        return UNJUDGED
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return verdict(re2.search(pattern, text) is not None)


def has_kind(value: Json, among: list[str]) -> str:
    if value is None or isinstance(value, list | dict):
        return UNJUDGED
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return verdict(any(kinds.has_kind(text, kind) for kind in among))


def is_among(value: Json, members: list[Json]) -> str:
    if json_type(value) not in map(json_type, members) or isinstance(value, list | dict):
        return UNJUDGED
    return verdict(any(json_type(value) == json_type(each) and value == each for each in members))


def is_of_type(value: Json, kinds: Json) -> str:
    whole = is_number(value) and value == int(value)
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return verdict(json_type(value) in kinds or (whole and "integer" in kinds))


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def has_element(value: Json, wanted: Json) -> str:
    if not isinstance(value, list):
        return UNJUDGED
    return verdict(any(json_type(each) == json_type(wanted) and each == wanted for each in value))


SWAPPED = {OK: FAILS, FAILS: OK, UNJUDGED: UNJUDGED}
ONE_WAY = {
    "regex": has_pattern,
    "notRegex": lambda value, pattern: SWAPPED[has_pattern(value, pattern)],
    "notKind": lambda value, among: SWAPPED[has_kind(value, among)],
    "enum": is_among,
    "notEnum": lambda value, members: SWAPPED[is_among(value, members)],
    "type": is_of_type,
    "contains": has_element,
}
OTHERS = ("equals", "atMost", "atLeast")
BOUNDS = {"min": operator.ge, "max": operator.le, "above": operator.gt, "below": operator.lt}
SIZES = {
    "minLength": (str, operator.ge),
    "maxLength": (str, operator.le),
    "minItems": (list, operator.ge),
    "maxItems": (list, operator.le),
}


def verdict(ok: bool) -> str:
    return OK if ok else FAILS


def compared(value: Json, field: str, operand: Json, call: Json) -> str:
    [(of, name)] = operand.items()
    try:
        others = meanings(call.get("context" if of == "context" else "parameters") or {}, name)
    except BlockedError:
        return UNJUDGED
    if not others:
        return MISSING
    if field == "equals":
        if any(isinstance(each, list | dict) for each in (value, *others)):
            return UNJUDGED
        return verdict(all(json_type(value) == json_type(each) and value == each for each in others))
    sorts = [sortable(each) for each in (value, *others)]
    if None in sorts or len({kind for kind, _ in sorts}) > 1:
        return UNJUDGED
    first, *rest = (moment for _, moment in sorts)
    return verdict(all(first <= each if field == "atMost" else first >= each for each in rest))


QUOTES = "\"'`\u00ab\u00bb\u2039\u203a\u201c\u201d\u2018\u2019\u201a\u201e"
OPENING = QUOTES + "([{<\u00bf\u00a1\uff08\uff3b\uff5b\u3008\u300a\u300c\u300e\u3010"
CLOSING = QUOTES + ")]}>.,;:!?\u2026\uff09\uff3d\uff5d\u3009\u300b\u300d\u300f\u3011\uff0c\u3001\u3002\uff1b\uff1a"
CLOSING += "\uff01\uff1f\u060c\u061b\u061f"


def asked_for(value: Json, how: str, call: Json) -> str:
    """Whether the value stands in the user's request as whole words."""
    try:
        requests = meanings(call.get("context") or {}, "request")
    except BlockedError:
        return UNJUDGED
    if not requests or not isinstance(requests[0], str) or not isinstance(value, str):
        return UNJUDGED
    request = requests[0]
    if len(request.encode()) > 32768 or is_odd(request, allowed="\u200c\u200d"):
        return UNJUDGED
    if len(value) < (3 if how == "exact" else 1):
        return FAILS
    if is_odd(value):
        return UNJUDGED
    if how == "text":
        request, value = (
            re.sub("[A-Z]", lambda letter: letter[0].lower(), re.sub(r"\s+", with_break, each))
            for each in (request, value)
        )
    wanted = re.compile("".join(r"[ \n]" if each == " " and how == "text" else re.escape(each) for each in value))
    spaced = re.sub(r"\s", " ", value)
    likely = [at for at in range(len(request)) if re.sub(r"\s", " ", request[at : at + len(value)]) == spaced]
    places = likely if how == "text" else [at for at in likely if request[at : at + len(value)] == value]
    for at in places[:64]:
        before, after = request[:at], request[at + len(value) :]
        if wanted.match(request, at) is None:
            continue
        if re.search(rf"(\A|\s)[{re.escape(OPENING)}]{{0,16}}\Z", before) and re.match(
            rf"(['\u2019]s)?[{re.escape(CLOSING)}]{{0,16}}(\s|\Z)", after
        ):
            return OK
    return UNJUDGED if len(places) > 64 else FAILS


def with_break(run: re.Match[str]) -> str:
    """White space as one character."""
    return "\n" if re.search("[\n\r\u2028\u2029]", run[0]) else " "


def is_odd(text: str, allowed: str = "") -> bool:
    hidden = {"Cc", "Cf", "Cn", "Co", "Cs"}
    invisible = any(unicodedata.category(each) in hidden for each in text if each not in "\t\n\r" + allowed)
    return invisible or unicodedata.normalize("NFC", text) != text


def sortable(value: Json) -> tuple[str, Json] | None:
    if is_number(value):
        return "number", value
    try:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            return "date", date.fromisoformat(value)
        if isinstance(value, str) and re.fullmatch(
            r"[0-9-]{10}[Tt ][0-9:]{8}(\.[0-9]{1,6})?([Zz]|[+-][0-9:]{5})", value
        ):
            return "time", datetime.fromisoformat(value.upper())
    except ValueError:
        pass
    return None


def in_directory(text: Json, wanted: Json, call: Json) -> str:
    if not isinstance(text, str):
        return UNJUDGED
    directories = []
    for each in wanted.get("under", ["/"]):
        named = one_text(call, each["context"]) if isinstance(each, dict) else each
        if named == MISSING:
            return MISSING
        found = normal_path(named or "")
        if found is None or (isinstance(each, dict) and is_somebodys(found)):
            return UNJUDGED
        directories.append(found)
    path = normal_path(text)
    if path is None:
        return UNJUDGED
    plain = wanted.get("ignoreCase") is not True
    within = [each for each in directories if is_below(path, each, plain or in_small_letters)]
    if not within:
        return verdict(False) if plain or not any(is_below(path, each, alike) for each in directories) else UNJUDGED
    below = path[min(0 if each == "/" else len(each) for each in within) :]
    return verdict(not shell.kinds(below) & set(wanted.get("notAmong", ())))


def normal_path(text: str) -> str | None:
    """None for what cannot be judged."""
    if not re.fullmatch(r"(/[\w.@+:$~-]*)+", text) or text.startswith("//"):
        return None
    depth = 0
    for part in text.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0 or re.fullmatch(r"\.{3,}", part):
            return None
    return posixpath.normpath(text)


def is_below(path: str, directory: str, same: Any) -> bool:
    """Whether the path is in the directory, name by name. same: True, or whether two names are the same."""
    names, wanted = ([each for each in whole.split("/") if each] for whole in (path, directory))
    return len(names) >= len(wanted) and all(
        one == other or (same is not True and same(one, other)) for one, other in zip(names, wanted, strict=False)
    )


def in_small_letters(one: str, other: str) -> bool:
    small = [re.sub("[A-Z]", lambda letter: letter[0].lower(), each) for each in (one, other)]
    return small[0] == small[1]


def on_host(text: str, wanted: Json) -> str:
    host = host_of(text)
    if host is None or of_domain(host, []) == UNJUDGED:
        return UNJUDGED
    named = of_domain(host, wanted.get("in", [])) == OK
    if not {"networks", "notNetworks"} & set(wanted):
        return verdict(named)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return OK if named else UNJUDGED
    inside = named or any(address in each for each in all_networks(wanted.get("networks", [])))
    if "in" not in wanted and "networks" not in wanted:
        inside = True
    return verdict(inside and not any(address in each for each in all_networks(wanted.get("notNetworks", []))))


def all_networks(written: list[str]) -> list[Json]:
    names = [name for each in written for name in (PRIVATE if each == "private" else [each])]
    return [ipaddress.ip_network(name) for name in names]


PRIVATE = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
    *("224.0.0.0/4", "240.0.0.0/4", "::", "::1", "100::/64", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7"),
    *("fe80::/10", "fec0::/10", "ff00::/8"),
]


def host_of(text: str) -> str | None:
    """The host as it is written, an address of IPv6 in its usual spelling; None for what cannot be judged."""
    if six := re.fullmatch(r"(?:(?i:https?)://)?\[([0-9A-Fa-f:]+)\](?::[0-9]+)?/?|(::[0-9A-Fa-f]+)", text):
        return str(ipaddress.IPv6Address(six[1] or six[2]))
    host = re.fullmatch(r"(?:(?i:https?|wss?|ftp)://)?([\w.-]+)(?::([0-9]{1,5}))?(?:[/?#][!-~]*)?", text)
    is_url = "://" in text
    if (
        not host
        or int(host[2] or 0) > 65535
        or (not is_url and set("/?#") & set(text))
        or "\\" in text
        or re.search(r"//[^/]*[?#].*@", text)
    ):
        return None
    return host[1]


def told_before(value: Json, wanted: Json, _call: Json) -> str:
    """Whether people can have approved the value, or its host."""
    return OK if isinstance(value, str) and ("of" not in wanted or origin(value)) else UNJUDGED


def origin(text: str) -> str | None:
    """Scheme, host and port; None where it cannot be told."""
    host = text.partition("://")[2] if "://" in text else text
    host = re.split("[/?#]", host)[0]
    port = re.search(r":([0-9]+)$", host) if host.count(":") == 1 or host.startswith("[") else None
    name = (host[: port.start()] if port else host).strip("[]").lower().removesuffix(".")
    if ":" in name:
        if on_host(text, {"in": [name]}) == UNJUDGED:
            return None
        name = str(ipaddress.IPv6Address(name))
    elif on_host(text, {"in": ["x"]}) == UNJUDGED:
        return None
    else:
        name = ".".join(map(in_ascii, name.split(".")))
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    usual = {"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21, "": None}
    return f"{scheme} {name} {int(port[1]) if port else usual[scheme]}"


def in_email_domain(text: str, wanted: Json) -> str:
    local, _, domain = text.partition("@")
    if not re.fullmatch(r"[\w+'=~&#-]+(\.[\w+'=~&#-]+)*", local) or "." not in domain or domain.endswith("."):
        return UNJUDGED
    return UNJUDGED if re.search("[0-9]$", domain) else of_domain(domain, wanted["in"])


def of_domain(text: str, patterns: list[str]) -> str:
    if ":" in text:
        return verdict(text in [str(ipaddress.IPv6Address(each.strip("[]"))) for each in patterns if ":" in each])
    try:
        name = ".".join(map(in_ascii, text.lower().removesuffix(".").split(".")))
        patterns = [".".join(map(in_ascii, each.split("."))) for each in patterns]
    except UnicodeError:
        return UNJUDGED
    if not all(re.fullmatch(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", label) for label in name.split(".")):
        return UNJUDGED
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", name.split(".")[-1]):
        try:
            ipaddress.IPv4Address(name)
        except ValueError:
            return UNJUDGED
    return verdict(any(name == each or (each[:2] == "*." and name.endswith(each[1:])) for each in patterns))


def in_ascii(label: str) -> str:
    """The label as DNS has it. Raises UnicodeError where letters are changed on the way, by some readers or by all."""
    if label.isascii():
        if not label.startswith("xn--"):
            return label
        letters = label[4:].encode().decode("punycode")
        if letters.isascii() or in_ascii(letters) != label:
            raise UnicodeError
        return label
    by_idna, as_it_is = ToASCII(label).decode(), "xn--" + label.encode("punycode").decode()
    if by_idna != as_it_is:
        raise UnicodeError
    return by_idna


def in_networks(text: str, wanted: Json) -> str:
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        return UNJUDGED
    if network.version == 6 and (
        not re.fullmatch("[0-9a-f:/]+", text.lower()) or not text.lower().startswith("2001:db8")
    ):
        return UNJUDGED
    ours = [each for each in map(ipaddress.ip_network, wanted["in"]) if each.version == network.version]
    return verdict(any(network.subnet_of(each) for each in ours))


TEXTS = {"host": on_host, "emailDomain": in_email_domain, "cidr": in_networks}


OF_CALLS = {
    "fromRequest": asked_for,
    "approvedBefore": told_before,
    "command": shell_line,
    "path": in_directory,
}


def json_type(value: Json) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def inside(window: Json, now_us: int) -> bool:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now_us)
    local = moment.astimezone(ZoneInfo(window.get("timezone", "UTC"))).replace(tzinfo=None)
    if any(
        min(each.split("/")) <= local.date().isoformat() <= max(each.split("/")) for each in window.get("except", ())
    ):
        return False
    if "windows" in window:
        return any(
            begins_on(day, span) and at(day, span["from"]) <= local < at(day + overnight(span), span["to"])
            for span in window["windows"]
            for day in (local.date(), local.date() - timedelta(days=1))
        )
    return local.hour in window.get("allowedHours", range(24)) and is_among_days(local, window.get("allowedDays"))


def begins_on(day: date, span: Json) -> bool:
    return is_among_days(day, span.get("days"))


def overnight(span: Json) -> timedelta:
    return timedelta(days=int(span["to"] < span["from"]))


def at(day: date, time: str) -> datetime:
    hour, minute = map(int, time.split(":"))
    return datetime.fromisoformat(day.isoformat()) + timedelta(hours=hour, minutes=minute)


def is_among_days(day: date, days: Json) -> bool:
    names = {day.isoweekday(), 0} if day.isoweekday() == 7 else {day.isoweekday()}
    return bool(names & set(range(8) if days is None else days))


def wait_us(limit: Json, entries: Collection[Json], now_us: int, takes: Any) -> Any:
    """Until what is in the window that ends then leaves room for what the call takes; 0 if that is now."""
    most = limit["maxCalls"] if "maxCalls" in limit else Fraction(repr(limit["max"]))
    if takes > most:
        return NEVER
    if "calendar" in limit:
        current = period(limit, now_us)
        spent = sum(amount for time_us, amount in entries if period(limit, time_us) == current)
        return until_another(limit, now_us) if spent + takes > most else 0
    if limit["windowSeconds"] == "forever":
        return NEVER if sum(amount for _, amount in entries) + takes > most else 0
    window_us = limit["windowSeconds"] * 1_000_000
    counted = sorted((entry for entry in entries if entry[0] + window_us > now_us), key=lambda entry: entry[0])
    wait = 0
    while sum(amount for _, amount in counted) + takes > most:
        wait = counted.pop(0)[0] + window_us - now_us
    return wait


def period(limit: Json, now_us: int) -> Json:
    """The day, week or month that it is in the zone."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now_us)
    day = moment.astimezone(ZoneInfo(limit.get("timezone", "UTC"))).date()
    return {"day": day, "week": day.isocalendar()[:2], "month": (day.year, day.month)}[limit["calendar"]]


def until_another(limit: Json, now_us: int) -> int:
    current, at_us = period(limit, now_us), now_us - now_us % 60_000_000
    while period(limit, at_us + 3_600_000_000) == current:
        at_us += 3_600_000_000
    while period(limit, at_us) == current:
        at_us += 60_000_000
    return at_us - now_us


def bucket(policy: Json, index: int, values: Json) -> Bucket:
    alike = [
        (
            limit.get("windowSeconds"),
            limit.get("calendar"),
            limit.get("timezone", "UTC"),
            tuple(sorted(set(rule["tools"]))),
            tuple(limit.get("per", ())),
            limit.get("parameter"),
            limit.get("context"),
        )
        for rule in policy["rules"][: index + 1]
        if (limit := limit_of(rule)) is not None
    ]
    owner = policy["id"] if is_enforced(policy) else SHADOW + policy["id"]
    return owner, alike[-1], alike[:-1].count(alike[-1]), values
