"""What a change means: subtle edits are found with a call that both evaluators judge so, and others report nothing.

EXAMPLES=2000 pytest tests/policy_tools/test_meaning.py looks for longer.
"""

import copy
import json
import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mirror import naive
from pdp_and_mirror import policy_of
from profiles import examples

from app.model.agents import Agent
from app.model.decisions import AuthorizeRequest
from app.model.sequences import covers
from app.model.times import parse_time_ms
from app.pdp import compile_agent, decide
from app.policy_tools.compare.meaning import compare_meaning

EXAMPLES = Path(__file__).parents[2] / "examples"
AIRLINE = [
    policy
    for policy in json.loads((EXAMPLES / "airline/policies.json").read_text())["policies"]
    if not any("record" in rule for rule in policy["rules"])
]
"""Without what reads records: that is compared by trying, so no comparison would be complete."""
LOOSER = {"denied → escalated", "denied → allowed", "escalated → allowed"}


def bodies_of(policies):
    """The policies as they would be stored."""
    frame = {"priority": 0, "enabled": True, "kind": "grant", "mode": "enforce"}
    return [frame | policy | {"id": policy["name"], "createdAt": n} for n, policy in enumerate(policies)]


def compared(before, after):
    """The meaning of a change between two lists of policies, checked by the mirror."""
    sides = [bodies_of(before), bodies_of(after)]
    meaning = compare_meaning(*([policy_of(body) for body in bodies] for bodies in sides))
    for flip in meaning.flips:
        now_us = parse_time_ms(flip.at or "2026-11-25T12:00:00Z") * 1000
        call = {"tool_name": flip.tool, "parameters": flip.parameters, "context": flip.context}
        judged = [
            naive.evaluate("active", naive.enforced(bodies), call, now_us, {}, looked_at(bodies, now_us))
            for bodies in sides
        ]
        assert [each.result for each in judged] == [flip.was, flip.becomes]
    for flip in (*meaning.flips, *meaning.limits):
        assert flip.is_loosened is (f"{flip.was} → {flip.becomes}" in LOOSER)
    return meaning


def looked_at(bodies, now_us):
    """A session in which everything was allowed that a sequence requires before."""
    required = {
        ("requiresBefore", pattern)
        for body in bodies
        for each in body["rules"]
        for pattern in each.get("sequence", {}).get("requiresBefore", ())
    }
    return [(now_us - 1, "s", frozenset(required))]


def kinds(meaning):
    """The kinds of flips, by tool."""
    return {(flip.tool, f"{flip.was} → {flip.becomes}") for flip in (*meaning.flips, *meaning.limits)}


def edited(*path, to=None, drop=False):
    """An edit of the airline's policies: of the policy whose name begins so, at a path below it."""

    def edit(policies):
        [holder] = [each for each in policies if each["name"].startswith(path[0])]
        for step in path[1:-1]:
            holder = holder[step]
        if drop:
            holder.pop(path[-1])
        else:
            holder[path[-1]] = to

    return edit


LOOSENED = {
    "a parameter that is left out": ("**", {"notRegex": "bomb"}, {"notRegex": "bomb", "except": ["body"]}),
    "numbers of cards": ("**", {"notKind": ["card", "iban"]}, {"notKind": ["iban"]}),
    "credentials": ("body", {"notKind": ["card", "secret"]}, {"notKind": ["card"]}),
    "every value": ("**", {"notRegex": "bo+m"}, {"notRegex": "boom"}),
    "a directory of the context": (
        {"path": {"under": [{"context": "project"}], "notAmong": ["hidden"]}},
        {"path": {"under": [{"context": "project"}]}},
    ),
    "an element": ({"contains": "admin"}, {"type": "array"}),
    "a network": ({"host": {"networks": ["10.0.0.0/16"]}}, {"host": {"networks": ["10.0.0.0/16", "private"]}}),
    "a network that is refused": (
        {"host": {"in": ["corp.com", "8.8.8.8"], "notNetworks": ["8.0.0.0/8"]}},
        {"host": {"in": ["corp.com", "8.8.8.8"]}},
    ),
    "letter case": ({"path": {"under": ["/repo"]}}, {"path": {"under": ["/repo"], "ignoreCase": True}}),
}


@pytest.mark.parametrize("name", LOOSENED)
def test_a_looser_constraint_is_found_with_a_call(name):
    """And the stricter one on the way back."""
    *names, before, after = LOOSENED[name]
    sides = [
        [{"name": "p", "rules": [{"type": "parameter_constraint", "tools": ["t"], "parameters": {parameter: each}}]}]
        for each in (before, after)
        for parameter in names or ["x"]
    ]
    assert kinds(compared(*sides)) == {("t", "denied → allowed")}
    assert kinds(compared(*sides[::-1])) == {("t", "allowed → denied")}


FRIDAY = {"days": [5], "from": "22:00", "to": "23:00"}
WINDOWS = {
    "five minutes": ({"windows": [FRIDAY]}, {"windows": [FRIDAY | {"from": "21:55"}]}),
    "a day": ({"windows": [FRIDAY], "except": ["2031-12-26"]}, {"windows": [FRIDAY]}),
    "the last day of a range": ({"except": ["2031-12-24/2032-01-02"]}, {"except": ["2031-12-24/2032-01-01"]}),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_a_longer_window_is_found_with_a_time(name):
    """At an edge, or on a date of an exception."""
    sides = [
        [{"name": "p", "rules": [{"type": "time_based", "tools": ["t"], "timeWindow": each}]}] for each in WINDOWS[name]
    ]
    assert kinds(compared(*sides)) == {("t", "denied → allowed")}


DESK = "Out of business hours"
SUBTLE = {
    "a lost anchor": (
        edited("Cancel", "rules", 0, "parameters", "reservation_id", "regex", to="[A-Z0-9]{6}$"),
        ("cancel_reservation", "denied → allowed"),
    ),
    "a lost end": (
        edited("Cancel", "rules", 0, "parameters", "reservation_id", "regex", to="^[A-Z0-9]{6}"),
        ("cancel_reservation", "denied → allowed"),
    ),
    "lower case": (
        edited("Cancel", "rules", 0, "parameters", "reservation_id", "regex", to="(?i)^[A-Z0-9]{6}$"),
        ("cancel_reservation", "denied → allowed"),
    ),
    "a letter more": (
        edited("Cancel", "rules", 0, "parameters", "reservation_id", "regex", to="^[A-Z0-9]{6,7}$"),
        ("cancel_reservation", "denied → allowed"),
    ),
    "max becomes below": (
        edited("Certificates", "rules", 0, "parameters", "amount", to={"above": 0, "below": 500}),
        ("send_certificate", "escalated → denied"),
    ),
    "above becomes min": (
        edited("Certificates", "rules", 0, "parameters", "amount", to={"min": 0, "max": 500}),
        ("send_certificate", "denied → escalated"),
    ),
    "elements are no longer looked at": (
        edited("Bookings", "rules", 0, "parameters", "payment_methods[*].payment_id", drop=True),
        ("book_reservation", "denied → allowed"),
    ),
    "an element more": (
        edited("Bookings", "rules", 0, "parameters", "passengers", to={"minItems": 1, "maxItems": 6}),
        ("book_reservation", "denied → allowed"),
    ),
    "a member more": (
        edited("Bookings", "rules", 0, "parameters", "flight_type", to={"enum": ["one_way", "round_trip", "open_jaw"]}),
        ("book_reservation", "denied → allowed"),
    ),
    "a value may be missing": (
        edited("Bookings", "rules", 0, "parameters", "origin", to={"regex": "^[A-Z]{3}$", "required": False}),
        ("book_reservation", "denied → allowed"),
    ),
    "a value compared with another is free": (
        edited("Bookings", "rules", 0, "parameters", "nonfree_baggages", to={"min": 0}),
        ("book_reservation", "denied → allowed"),
    ),
    "an approval less": (
        edited("Changes", "rules", 6, drop=True),
        ("update_reservation_passengers", "escalated → allowed"),
    ),
    "an approval in fewer cases": (
        edited("Changes", "rules", 5, "when", "parameters", "nonfree_baggages", to={"above": 1}),
        ("update_reservation_baggages", "escalated → allowed"),
    ),
    "a limit that admits more": (
        edited("Cancel", "rules", 1, "rateLimit", "maxCalls", to=2),
        ("cancel_reservation", "escalated → allowed"),
    ),
    "a limit that admits less": (
        edited("Changes", "rules", 7, "rateLimit", "maxCalls", to=4),
        ("update_reservation_flights", "allowed → escalated"),
    ),
    "a limit for all instead of for each": (
        edited("Cancel", "rules", 1, "rateLimit", "per", drop=True),
        ("cancel_reservation", "allowed → escalated"),
    ),
    "a limit that denies": (
        edited("Cancel", "rules", 1, "effect", to="deny"),
        ("cancel_reservation", "escalated → denied"),
    ),
    "another zone": (
        edited(DESK, "rules", 0, "timeWindow", "timezone", to="America/New_York"),
        ("cancel_reservation", "escalated → allowed"),
    ),
    "a day more": (
        edited(DESK, "rules", 0, "timeWindow", "allowedDays", to=[1, 2, 3, 4, 5, 6]),
        ("cancel_reservation", "escalated → allowed"),
    ),
    "a guardrail made a grant": (
        edited("What nobody", "kind", to="grant"),
        ("cancel_reservation", "escalated → allowed"),
    ),
    "a prefix a letter shorter": (
        edited("Reading", "rules", 0, "tools", 1, to="ge*"),
        ("gex", "denied → allowed"),
    ),
    "a stop that is enabled": (edited("Emergency", "enabled", to=True), ("think", "allowed → denied")),
    "a policy in shadow": (edited("Certificates", "mode", to="shadow"), ("send_certificate", "escalated → denied")),
    "a grant that becomes a constraint: a name can be spelled in two ways": (
        edited(
            "A passenger", "rules", 0,
            to={"type": "parameter_constraint", "tools": ["transfer_to_human_agents"],
                "parameters": {"summary": {"required": False}}},
        ),
        ("transfer_to_human_agents", "allowed → denied"),
    ),
    "a priority below a stop": (edited("A passenger", "priority", to=0), None),
}  # fmt: skip


@pytest.mark.parametrize("name", SUBTLE)
def test_a_subtle_edit_is_found_with_a_call(name):
    """By its kind of flip; an edit that changes no result reports none."""
    edit, wanted = SUBTLE[name]
    after = copy.deepcopy(AIRLINE)
    edit(after)
    meaning = compared(AIRLINE, after)
    assert wanted in kinds(meaning) if wanted is not None else not (meaning.flips or meaning.limits)
    assert meaning.complete


NOTHING = {
    "the same": lambda policies: None,
    "another name": edited("Certificates", "agentMessage", to="Ask the desk."),
    "a pattern in other words": edited(
        "Cancel", "rules", 0, "parameters", "reservation_id", "regex", to="^(?:[0-9]|[A-Z]){6}$"
    ),
    "members in another order": edited(
        "Bookings", "rules", 0, "parameters", "cabin", to={"enum": ["business", "economy", "basic_economy"]}
    ),
    "an allowlist in the lowest tier": edited("Reading", "rules", 0, "type", to="tool_allowlist"),
    "a bound in other words": edited("Certificates", "rules", 0, "parameters", "amount", to={"above": 0.0, "max": 5e2}),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTHING)
def test_an_edit_without_effect_reports_nothing(name):
    """Whatever the diff of the text says."""
    after = copy.deepcopy(AIRLINE)
    NOTHING[name](after)
    meaning = compared(AIRLINE, after)
    assert meaning.flips == meaning.limits == []
    assert meaning.complete


def changed_at_random(draw, policies):
    """One value below the policies is another, or gone."""
    places = []

    def look(holder):
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            places.append((holder, key))
            if isinstance(value, dict | list):
                look(value)

    for policy in policies:
        look(policy["rules"])
    holder, key = draw.choice(places)
    value = holder[key]
    if isinstance(value, str):
        holder[key] = draw.choice([value[1:], value[:-1], f"{value}x", value.swapcase(), value.strip("^$")])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = value + draw.choice([-1, 1, 0.5, 10])
    else:
        del holder[key]


@pytest.mark.slow
def test_a_random_edit_that_flips_a_call_of_the_log_is_found_or_its_tool_is_not_called_complete():
    """Of the examples' airline, with every call of its log and two variations of each."""
    draw = random.Random(7)
    logged = [json.loads(line) for line in (EXAMPLES / "data/airline.jsonl").read_text().splitlines()]
    calls = [(each["tool"], each["arguments"]) for each in logged]
    calls += [(tool, {**old, draw.choice([*old]): value}) for tool, old in calls if old for value in (0, "x")]
    now_us = parse_time_ms("2026-11-25T18:00:00Z") * 1000
    edits = flips = 0
    while edits < EDITS:
        after = copy.deepcopy(AIRLINE)
        changed_at_random(draw, after)
        try:
            sides = [[policy_of(body) for body in bodies_of(policies)] for policies in (AIRLINE, after)]
        except ValueError:
            continue
        edits += 1
        meaning = compare_meaning(*sides)
        found = {(tool, flip.was, flip.becomes) for flip in meaning.flips for tool in (flip.tool, *flip.like)}
        doubted = {doubt.tool for doubt in meaning.because}
        agents = [compile_agent(AGENT, side, lambda _: False) for side in sides]
        patterns = [rule.tools for side in sides for policy in side for rule in policy.rules]
        for tool, parameters in calls:
            request = AuthorizeRequest(
                "agent", tool, "authorize", parameters, b"", context={"session": "s"}, session="s"
            )
            was, becomes = (decide(agent, request, now_us).outcome.result for agent in agents)
            if was is not becomes:
                flips += 1
                alike = {
                    each
                    for each in {flip[0] for flip in found} | doubted | {tool}
                    if all(covers(some, each) is covers(some, tool) for some in patterns)
                }
                assert alike & doubted or any((each, was, becomes) in found for each in alike), (tool, parameters)
    assert flips > EDITS


EDITS = examples(40)
AGENT = Agent(id="agent", name="a", created_ms=0, updated_ms=0, version="v")
VALUES = [0, 1, 2, 3, "a", "b", "ab", "ba", True, None, [], ["a"], {}]
CONSTRAINTS = st.sampled_from(
    [
        *({"max": 1}, {"min": 2}, {"above": 1, "max": 3}, {"below": 1}, {"enum": ["a", 1]}, {"notEnum": ["a"]}),
        *({"regex": "^a"}, {"regex": "b$"}, {"notRegex": "a"}, {"minLength": 2}, {"maxLength": 1}, {"type": "string"}),
        *({"minItems": 1}, {"maxItems": 0}, {"absent": True}, {"required": False, "max": 1}, {"required": True}),
    ]
)
NAMED = st.dictionaries(st.sampled_from(["x", "y"]), CONSTRAINTS, min_size=1, max_size=2)
TOOLS = st.sampled_from([["t"], ["*"], ["t", "u"], ["u*"]])
CONDITIONS = st.none() | st.tuples(st.sampled_from(["when", "unless"]), NAMED, st.sampled_from([None, "skip", "apply"]))


@st.composite
def rules(draw):
    kind = draw(st.sampled_from(["tool_grant", "tool_denylist", "approval_required", *["parameter_constraint"] * 4]))
    made = {"type": kind, "tools": draw(TOOLS)}
    if kind == "parameter_constraint":
        made |= {"parameters": draw(NAMED), "effect": draw(st.sampled_from(["deny", "escalate"]))}
    if (conditions := draw(CONDITIONS)) is not None:
        word, named, if_missing = conditions
        missing = {} if if_missing is None or kind == "tool_grant" else {"ifMissing": if_missing}
        made[word] = {"parameters": named} | missing
    return made


@st.composite
def changes(draw):
    """Two or three policies, and one of them with a rule that differs, is new, or is gone."""
    frames = st.fixed_dictionaries(
        {"priority": st.sampled_from([0, 0, 5]), "rules": st.lists(rules(), min_size=1, max_size=2)}
    )
    before = [{"name": f"p{n}"} | draw(frames) for n in range(draw(st.integers(1, 2)))]
    after = copy.deepcopy(before)
    place = draw(st.integers(0, len(after) - 1))
    held = after[place]["rules"]
    held[draw(st.integers(0, len(held) - 1)) :] = draw(st.lists(rules(), min_size=1, max_size=1))
    return before, after


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(changes())
def test_brute_force_over_a_small_domain_finds_no_other_kind_of_flip(changed):
    """Every value of a few for both parameters and every tool: each kind of flip is among those that are shown."""
    found = {kind for _, kind in kinds(compared(*changed))}
    given_values = [msgspec.UNSET, *VALUES]
    for tool in ("t", "u", "ux", "v"):
        for x in given_values:
            for y in given_values:
                parameters = {name: value for name, value in (("x", x), ("y", y)) if value is not msgspec.UNSET}
                call = {"tool_name": tool, "parameters": parameters, "context": {}}
                judged = [naive.evaluate("active", bodies_of(side), call, 0, {}).result for side in changed]
                assert judged[0] == judged[1] or " → ".join(judged) in found, (call, judged)
