"""The decision point against its mirror, on random policies and calls with few names, few times and many collisions.

EXAMPLES=20000 pytest tests/pdp/test_differential.py looks for longer.
"""

from datetime import UTC, datetime, timedelta
from itertools import combinations, permutations, product

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mirror import naive
from pdp_and_mirror import PdpAndMirror, request
from profiles import examples

from app.language.spellings import spellings_of
from app.model.constraints import Circumstances, Constraint
from app.model.sequences import covers
from app.model.time_windows import TimeWindow
from app.model.times import MINUTE_US as MINUTE
from app.pdp import decide
from app.pdp.constraints import compile_circumstances, compile_constraint
from app.pdp.rules.time_based import compile_time_window

PROFILE = settings(
    max_examples=examples(200, least=60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

TOOLS = [*["file.read"] * 8, "file.a.b", "file", "file.", "file_b", "File.read", "db.query", "*", "file.*"]
COVERING = ["*", "file.*", "file.read"]
PATTERNS = [*COVERING, "file.a.*", "file", "db.query", "File.*"]
NAMES = ["x", "p.x", "p", "a.b.c", "a.b", ".", "x."]
REGEXES = ["^1", "0$", "^[0-9]+$", "^(true|1|null)$", "", "(?i)ABC", r"\.", "^.$", r"\d\n", "(?m)^a$", "é"]
SCALARS = [
    0,
    1,
    -1,
    1.0,
    -0.0,
    0.5,
    500,
    500.0,
    501,
    2**53,
    2.0**53,
    2**53 + 1,
    10**30,
    1e30,
    5e-324,
    True,
    False,
    None,
]
SCALARS += ["", "0", "1", "true", "abc", "ABC", "a\nb", "1\n", "é", "e\u0301", "null"]
NUMBERS = [number for number in SCALARS if type(number) in (int, float)]
WINDOWS = [1, 2, 3600]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"]
ZONES += ["Pacific/Apia", "America/St_Johns", "Antarctica/Troll"]
CHANGES = [
    *("2026-03-29T01:00", "2026-10-25T01:00", "2026-03-08T07:00", "2026-11-01T06:00", "2026-04-04T15:00"),
    *("2026-10-03T15:30", "2026-02-15T02:00", "2026-03-22T02:00", "2011-12-30T10:00", "2026-12-31T18:15"),
    *("2026-03-08T05:30", "2026-11-01T04:30"),
]
"""When clocks change in these zones, and a midnight in Kathmandu."""

MOMENTS = [(datetime.fromisoformat(each).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) for each in CHANGES]
STARTS = [moment // timedelta(microseconds=1) for moment in MOMENTS]

# Hypothesis takes as long for each choice, small or large, and again for each strategy that it has not met. So what
# goes together is chosen at once, by strategies that are made once.


def one_or_two(choices):
    """Lists of one or two choices, equally often."""
    return st.sampled_from([[each] for each in choices] * len(choices) + [*map(list, product(choices, choices))])


EFFECTS = [{}, {"effect": "deny"}, {"effect": "escalate"}, {"effect": "escalate"}]
effect = st.sampled_from(EFFECTS)
tools = one_or_two(COVERING * 2 + PATTERNS)
other_tools = st.sampled_from([[each] for each in PATTERNS[3:] * 3 + PATTERNS])
values = st.one_of(
    st.sampled_from(SCALARS),
    st.sampled_from(SCALARS),
    st.sampled_from([[], [1], {}]),
    st.dictionaries(st.sampled_from(["x", "b", "b.c", "c", "", "p.x"]), st.sampled_from(SCALARS), max_size=2),
    st.fixed_dictionaries({"b": st.fixed_dictionaries({"c": st.sampled_from(SCALARS)})}),
)
WRITTEN = ["x", "p", "p.x", "a", "a.b", "a.b.c", "", "x."]
WRITTEN_SETS = st.sampled_from(
    [[], *([name] for name in WRITTEN * 4), *combinations(WRITTEN, 2), *combinations(WRITTEN, 4)]
)


@st.composite
def named_values(draw):
    return {name: draw(values) for name in draw(WRITTEN_SETS)}


parameters = named_values()


def satisfied(name, constraint, parameters):
    """By the mirror."""
    return naive.satisfies({"parameters": parameters}, "parameters", name, constraint)


CONSTRAINT_FIELDS = {
    "regex": st.sampled_from(REGEXES),
    "enum": st.lists(st.sampled_from(SCALARS), min_size=1, max_size=4),
    "required": st.sampled_from([False, False, True]),
}
BOUNDS = st.sampled_from([sorted(pair) for pair in product(NUMBERS, NUMBERS)])
NAMED = ["regex", "enum", "min", "max", "required", "required"]
FIELD_SETS = st.sampled_from(
    [sorted({*pair, *lenient}) for pair in product(NAMED, NAMED) for lenient in ([], ["required"], ["required"])]
)


@st.composite
def constraints(draw):
    names = draw(FIELD_SETS)
    lowest, highest = draw(BOUNDS) if "min" in names or "max" in names else (None, None)
    drawn = {"min": lowest, "max": highest}
    return {name: drawn[name] if name in drawn else draw(CONSTRAINT_FIELDS[name]) for name in names}


def numbers_to(highest):
    """Non-empty subsets of the numbers from 0, as lists."""
    count = highest + 1
    bits = st.binary(min_size=count // 8, max_size=count // 8).map(int.from_bytes)
    return bits.map(lambda missing: [each for each in range(count) if not missing >> each & 1] or [highest])


ALLOWED = {"allowedHours": numbers_to(23), "allowedDays": numbers_to(7)}
ZONE = st.sampled_from(ZONES)
LISTS = st.sampled_from([["allowedHours"], ["allowedDays"], ["allowedHours", "allowedDays"]])


EDGES = ["00:00", "00:30", "01:59", "02:00", "02:30", "03:00", "06:00", "12:00", "18:45", "22:00", "23:59"]
EXCEPTED = sorted({each[:10] for each in CHANGES})
exceptions = st.one_of(
    st.none(),
    st.none(),
    st.sampled_from(
        [[each] for each in EXCEPTED] + [["2026-03-08/2026-03-29", "2026-10-25"], ["2011-12-29/2011-12-30"]]
    ),
)
spans = st.builds(
    lambda start, end, days: {"from": start, "to": end} | ({} if days is None else {"days": days}),
    st.sampled_from(EDGES),
    st.sampled_from([*EDGES, "24:00"]),
    st.one_of(st.none(), numbers_to(7)),
).filter(lambda span: span["from"] != span["to"])


@st.composite
def windows(draw):
    """By lists, by spans, or by exceptions alone."""
    window, excepted = {"timezone": draw(ZONE)}, draw(exceptions)
    if excepted is not None:
        window["except"] = excepted
    match draw(st.sampled_from(["lists", "spans", "spans", "neither"])):
        case "spans":
            return window | {"windows": draw(st.lists(spans, min_size=1, max_size=3))}
        case "neither" if excepted is not None:
            return window
    return window | {name: draw(ALLOWED[name]) for name in draw(LISTS)}


PER = ["tool", "key", "agent", "parameters.x", "context.session"]
CONTEXTS = [{"session": "s"}, {"session": "s"}, {"session": "t"}, None, {"session": ""}]
contexts = st.sampled_from(CONTEXTS)


LOOKED_BACK = st.sampled_from(
    [
        (sides, within)
        for sides in (["forbiddenAfter"], ["requiresBefore"], ["forbiddenAfter", "requiresBefore"])
        for within in ({}, *({"withinSeconds": window} for window in WINDOWS))
    ]
    + [(["requiresBefore"], {"once": True}), (["forbiddenAfter", "requiresBefore"], {"once": True, "withinSeconds": 1})]
)


@st.composite
def sequences(draw):
    """What must have been allowed before, what must not, or both; mostly of the tools that are called."""
    sides, within = draw(LOOKED_BACK)
    return {side: draw(other_tools) for side in sides} | within


KINDS = [*["rate_limit"] * 5, "budget", "budget", "sequence", "sequence", "parameter_constraint", "time_based"]
KINDS += ["tool_grant", "tool_grant", "tool_allowlist", "tool_denylist", "approval_required"]
KINDS += ["parameter_schema", "pinned_request"]
NAMED_CONSTRAINTS = st.dictionaries(st.sampled_from(NAMES), constraints(), min_size=1, max_size=2)
KIND, KIND_IN_GUARDRAILS = st.sampled_from(KINDS), st.sampled_from([each for each in KINDS if each != "tool_grant"])
PER_VALUES = [*([each] for each in PER * 4), *map(list, permutations(PER, 2))]
LIMITS = [(count, window, None) for count, window in product([1, 1, 2, 3], WINDOWS) for _ in range(len(PER_VALUES))]
LIMITS += product([1, 2], WINDOWS, PER_VALUES)
SCHEMAS = [{"required": ["x"]}, {"maxProperties": 1}, {"properties": {"x": {"enum": ["abc", None, 0.5]}}}]
SCHEMAS += [{"properties": {"x": {"type": "number"}}}, {"additionalProperties": False, "properties": {"x": True}}]


def limit(count, window, per):
    return {"maxCalls": count, "windowSeconds": window} | ({} if per is None else {"per": per})


CALENDARS = [{"calendar": period} for period in ("day", "week", "month")]
CALENDARS += [{"calendar": period, "timezone": zone} for period, zone in product(["day", "day", "month"], ZONES)]
FOREVER = {"windowSeconds": "forever"}
OWN = {
    "rate_limit": st.sampled_from([{"rateLimit": limit(*each)} for each in LIMITS])
    | st.builds(
        lambda span, count, per: {"rateLimit": {"maxCalls": count} | span | per},
        st.sampled_from(CALENDARS),
        st.sampled_from([1, 2]),
        st.sampled_from([{}, {}, {"per": ["parameters.x"]}]),
    )
    | st.sampled_from([{"rateLimit": {"maxCalls": count} | FOREVER} for count in (1, 2)]),
    "budget": st.sampled_from(
        [
            {"budget": {**of, "max": amount, **span}}
            for of, amount, span in product(
                [{"parameter": "x"}, {"context": "x"}],
                [1, 2, 2.5],
                [*({"windowSeconds": window} for window in WINDOWS), *CALENDARS[:4], FOREVER],
            )
        ]
    ),
    "sequence": sequences().map(lambda drawn: {"sequence": drawn}),
    "time_based": windows().map(lambda drawn: {"timeWindow": drawn}),
    "parameter_constraint": NAMED_CONSTRAINTS.map(lambda drawn: {"parameters": drawn}),
    "parameter_schema": st.sampled_from([{"schema": each} for each in SCHEMAS]),
    "pinned_request": st.just({}),
}
"""What rules have besides their tools, by the types that have an effect."""


@st.composite
def rules(draw, kinds=KIND):
    """Any rule, but limits above all, and few that fail for a tool whatever the call."""
    kind = draw(kinds)
    covered = draw(other_tools if kind in ("tool_denylist", "approval_required", "pinned_request") else tools)
    rule = {"tools": covered, "type": kind}
    return rule | draw(OWN[kind]) | draw(effect) if kind in OWN else rule


breakers = st.builds(
    lambda covered, most, window, acts: {
        "type": "denial_breaker",
        "tools": covered,
        "denialBreaker": {"maxDenials": most, "windowSeconds": window} | acts,
    },
    tools,
    st.integers(1, 3),
    st.sampled_from(WINDOWS),
    st.sampled_from(
        [{"action": action} for action in ("suspend", "escalate", "deny")]
        + [{"action": action, "per": [per]} for action in ("escalate", "deny") for per in PER]
    ),
)


DRAWN = {*KINDS, "denial_breaker"}
"""The types of rules that are drawn."""
IDS = ["p0", "p1", "p2", "p3"]
ORDERS = st.sampled_from([order[:count] for order in permutations(IDS) for count in range(1, 5)])
# Mostly of one priority and one time, enforced for the agent alone.
FRAMES = st.sampled_from(
    list(product(["grant", "grant", "guardrail"], [0, 0, 0, 7], [True, True, True, False], [1, 1, 2]))
)
RULES = {
    "grant": st.lists(rules(), min_size=1, max_size=4),
    "guardrail": st.lists(
        st.one_of(rules(KIND_IN_GUARDRAILS), rules(KIND_IN_GUARDRAILS), breakers), min_size=1, max_size=4
    ),
}


@st.composite
def policies(draw):
    """Policies that mostly share priority and time of creation; their ids decide then, and are in no order."""
    bodies = []
    for policy_id in draw(ORDERS):
        kind, priority, enabled, created = draw(FRAMES)
        body = {"id": policy_id, "name": policy_id, "rules": draw(RULES[kind]), "priority": priority}
        bodies.append(body | {"enabled": enabled, "createdAt": created, "kind": kind})
    return bodies


POLICIES = policies()
LATER = [
    *[0] * 8,
    1,
    3_600_000_000,
    82_800_000_000,
    86_400_000_000,
    *(window * 1_000_000 + edge for window in WINDOWS for edge in (-1, 0, 1)),
    MINUTE,
]
# An edit now and then: another maximum for each rate limit and another effect for each rule that has one.
EDITS = list(product(range(4), [1, 2, 3], EFFECTS, [False, True]))
# Rate limits that others have just filled, by their place among all of the agent's.
FILLED = [[each for each in places if each is not None] for places in product([None, *range(8)], repeat=2)]
steps = st.lists(
    st.builds(
        lambda call, given_parameters, edit, filled: (call[0], given_parameters, call[1], edit, filled, call[2]),
        st.sampled_from(list(product(TOOLS, LATER, CONTEXTS))),
        parameters,
        st.sampled_from([None] * 2 * len(EDITS) + EDITS),
        st.sampled_from([[]] * len(FILLED) + FILLED),
    ),
    min_size=3,
    max_size=12,
)


@PROFILE
@given(POLICIES, steps, st.sampled_from(STARTS), st.sampled_from([-1, 0, 1, -MINUTE, MINUTE, -3600_000_000]))
def test_the_decision_point_and_its_mirror_agree(bodies, calls, start, edge):
    """Result, policy, rule and wait are the same at every call of a history, with edits in between."""
    sides = PdpAndMirror(bodies)
    now_us = start + edge
    for tool, given_parameters, later_us, edit, filled, context in calls:
        now_us += later_us
        if edit is not None:
            edit_one(sides, bodies, *edit)
            sides.resume()
        fill(sides, filled, now_us)

        answer, _ = sides.judge(tool, given_parameters, now_us, context)

        assert answer == sides.judge_by_mirror(tool, given_parameters, now_us, context)


@PROFILE
@given(POLICIES, st.sampled_from(TOOLS), parameters, st.sampled_from(STARTS), st.integers(-MINUTE, MINUTE), st.data())
def test_a_plan_is_the_same_throughout_the_interval_in_which_it_holds(
    bodies, tool, given_parameters, start, edge, data
):
    """Whenever in it the store's clock stands, deciding again would give this plan."""
    compiled = PdpAndMirror(bodies).compiled
    call = request(tool, given_parameters)
    plan = decide(compiled, call, start + edge)
    assert plan.holds_from_us <= start + edge < plan.holds_until_us

    first, last = max(plan.holds_from_us, 0), min(plan.holds_until_us, 4_000_000_000_000_000) - 1
    elsewhere = data.draw(st.sampled_from([first, last]) | st.integers(first, last))

    assert decide(compiled, call, elsewhere) == plan


@PROFILE
@given(st.sampled_from(NAMES), constraints(), parameters)
def test_a_constraint_and_its_mirror_agree(name, constraint, given_parameters):
    """One parameter on its own, so that every kind of value meets every kind of constraint."""
    check = compile_constraint(name, msgspec.convert(constraint, Constraint), secret=False)
    assert (check(given_parameters, {}, spellings_of(given_parameters)) is None) == satisfied(
        name, constraint, given_parameters
    )


FEW = [True, False, 0, 1, 2, -0.0, 1.0, "1", "true", None]


@st.composite
def spelled(draw, name):
    """Parameters that hold one value or more under some of the spellings that a dotted name can have."""
    holder = {}
    for _ in range(draw(st.integers(1, 3))):
        node, rest = holder, name.split(".")
        while rest and isinstance(node, dict):
            taken = draw(st.integers(1, len(rest)))
            key, rest = ".".join(rest[:taken]), rest[taken:]
            node = node.setdefault(key, {} if rest else draw(st.sampled_from(FEW)))
    return holder


few_constraints = st.one_of(
    st.sampled_from(
        [{"min": 1}, {"max": 1}, {"min": 0, "max": 1}, {"regex": "^true$"}, {"regex": "^(1|false)$"}, {"regex": ""}]
    ),
    st.lists(st.sampled_from(FEW), min_size=1, max_size=3).map(lambda members: {"enum": members}),
)


@PROFILE
@given(st.data(), st.sampled_from(["x", "p.x", "a.b.c", "a.b.c.d"]), few_constraints)
def test_every_spelling_of_a_name_is_judged_alike(data, name, constraint):
    """With few values, so booleans, numbers and strings often meet under each spelling."""
    given_parameters = data.draw(spelled(name))
    check = compile_constraint(name, msgspec.convert(constraint, Constraint), secret=False)
    assert (check(given_parameters, {}, spellings_of(given_parameters)) is None) == satisfied(
        name, constraint, given_parameters
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@PROFILE
@given(st.sampled_from(NAMES), constraints(), json_values, json_values)
def test_any_json_is_judged_alike(name, constraint, value, other):
    """Any numbers, strings and nesting: without an error, and with the mirror's answer."""
    given_parameters = msgspec.json.decode(
        msgspec.json.encode({"x": value, "p": {"x": other}, "a": {"b": value}, "p.x": other})
    )
    check = compile_constraint(name, msgspec.convert(constraint, Constraint), secret=False)
    assert (check(given_parameters, {}, spellings_of(given_parameters)) is None) == satisfied(
        name, constraint, given_parameters
    )


@PROFILE
@given(st.sampled_from(SCALARS), st.lists(st.sampled_from(SCALARS), min_size=1, max_size=3))
def test_an_enum_and_its_mirror_agree(value, members):
    """By type and value, for numbers, strings and constants that languages confuse."""
    check = compile_constraint("x", Constraint(enum=members), secret=False)
    assert (check({"x": value}, {}, spellings_of({"x": value})) is None) == satisfied(
        "x", {"enum": members}, {"x": value}
    )


@PROFILE
@given(
    st.lists(st.sampled_from([*PATTERNS, "a.b.*", "a.*", "..*"]), min_size=1, max_size=3), st.text("ab.*", max_size=6)
)
def test_patterns_and_their_mirror_agree(patterns, tool):
    """On strings of letters, dots and stars."""
    assert covers(patterns, tool) == naive.covers(patterns, tool)


@PROFILE
@given(windows(), st.sampled_from(STARTS), st.integers(-120, 120), st.sampled_from([0, 1, MINUTE // 2, MINUTE - 1]))
def test_a_time_window_and_its_mirror_agree(window, start, minutes, offset):
    """Within two hours of a change of the clocks, at any microsecond of a minute."""
    now_us = start + minutes * MINUTE + offset
    check = compile_time_window(msgspec.convert(window, TimeWindow))
    assert (check(now_us // MINUTE) is None) == naive.inside(window, now_us)


def fill(sides, places, now_us):
    """Fill some rate limits."""
    limits = [
        (body["id"], index)
        for body in sides.bodies.values()
        for index, rule in enumerate(body["rules"])
        if rule["type"] == "rate_limit" and not {"per", "calendar"} & set(rule["rateLimit"])
    ]
    for place in places if limits else ():
        sides.fill(*limits[place % len(limits)], now_us)


def edit_one(sides, bodies, place, max_calls, new_effect, moved):
    """PATCH one policy: its rate limits keep tools and window, so their buckets must survive. The policy it is now."""
    body = sides.bodies[bodies[place % len(bodies)]["id"]]
    changed = []
    for rule in body["rules"]:
        if rule["type"] == "rate_limit":
            limit = rule["rateLimit"] | {"maxCalls": max_calls}
            changed.append({"type": rule["type"], "tools": rule["tools"], "rateLimit": limit} | new_effect)
        else:
            changed.append(rule)
    if moved:
        changed.insert(0, {"type": "tool_denylist", "tools": ["db.query"]})
    sides.patch(body["id"], {"rules": changed, "name": "renamed"})
    return sides.bodies[body["id"]]


OTHER_NAMES = ["x", "p.x", "a[*]", "a[*].b", "a.b[*]", "a[*][*]", "p"]
OPERANDS = [{"parameter": "x"}, {"parameter": "p.x"}, {"context": "x"}, {"context": "p.x"}, {"parameter": "p"}]
DATES = ["2026-11-20", "2026-11-21", "2026-11-20T12:00:00Z", "2026-11-20T13:00:00+01:00", "2026-11-20T12:00:00", "now"]
SPELLINGS = [
    "4242 4242-4242 4242",
    4242424242424242,
    "4242 4242 4242 4241",
    "to DE89 3704 0044 0532 0130 00",
    "DE89370400440532013001",
    "key sk-abcdefghijklmnop0123",
    "/a/b",
    "/a/../b",
    "a@corp.com",
    "corp.com",
    "https://corp.com:80/x",
    "10.0.0.1",
    "10.0.0.0/8",
    "evil.com",
    "http://8.8.8.8/x",
    "https://[2001:db8::1]:8080/",
    "10.9.0.1:80",
    "/",
    "/a/.env",
    "/A/B/../\u00c9/x",
    "/a/e\u0301",
    "/home/ann",
    "ls && cat x",
    "git push; ls",
    "ls $x",
]
leaves = st.sampled_from([*SCALARS, *DATES, *SPELLINGS])
nested = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xbp"), inner, max_size=2),
    max_leaves=4,
)
calls = st.dictionaries(st.sampled_from(["x", "p", "p.x", "a", "a.b", "a[*]"]), nested, max_size=4)


KINDS_OF_TEXTS = st.lists(st.sampled_from(["card", "iban", "secret"]), min_size=1, max_size=3)
ANY_FIELDS = {
    "regex": st.sampled_from(REGEXES),
    "notRegex": st.sampled_from(REGEXES),
    "enum": st.lists(leaves, min_size=1, max_size=4),
    "notEnum": st.lists(leaves, min_size=1, max_size=4),
    "notKind": KINDS_OF_TEXTS,
    "minLength": st.just(1),
    "maxLength": st.integers(1, 4),
    "minItems": st.just(1),
    "maxItems": st.integers(1, 2),
    "contains": leaves,
    "type": st.sampled_from(["string", "number", "integer", "array", ["null", "boolean"], "object"]),
    **{name: st.sampled_from(OPERANDS) for name in ("equals", "atMost", "atLeast")},
    "path": st.sampled_from(
        [
            *({"under": [folder]} for folder in ("/a", "/b", "/")),
            {"notAmong": ["secrets"]},
            {"under": ["/a"], "notAmong": ["hidden"]},
            {"under": [{"context": "x"}]},
            {"under": ["/b", {"context": "p.x"}], "notAmong": ["secrets"]},
            {"under": ["/A/\u00e9", "/b"], "ignoreCase": True},
            {"under": [{"context": "x"}], "notAmong": ["hidden"], "ignoreCase": True},
        ]
    ),
    "command": st.sampled_from(
        [
            {"root": "/a", "allow": [{"run": ["ls", "cat"], "flags": "usual", "paths": "inside"}]},
            {"root": {"context": "x"}, "allow": [{"run": "ls"}], "deny": [{"run": "cat"}]},
        ]
    ),
    "host": st.sampled_from(
        [
            *({"in": ["corp.com", "10.0.0.1"]} for _ in range(3)),
            {"networks": ["10.0.0.0/8", "2001:db8::/32"]},
            {"in": ["corp.com"], "networks": ["private"], "notNetworks": ["10.0.0.0/24"]},
            {"notNetworks": ["private"]},
        ]
    ),
    "emailDomain": st.just({"in": ["corp.com"]}),
    "cidr": st.just({"in": ["10.0.0.0/8"]}),
    "required": st.booleans(),
    "fromRequest": st.sampled_from(["exact", "text"]),
}
ANY_NAMES = sorted({*ANY_FIELDS, "min", "max", "above"})
WITH_COMMAND = {"command", "regex", "notRegex", "minLength", "maxLength", "required"}
"""A `command` passes only texts, so what passes none is refused beside it."""
ANY_FIELD_SETS = st.sampled_from(
    [["absent"]] * 33
    + [[name] for name in ANY_NAMES] * 7
    + [
        sorted({one, other} - ({"min", "max"} if "above" in (one, other) else set()))
        for one, other in combinations(ANY_NAMES, 2)
        if "fromRequest" not in (one, other) and ("command" not in (one, other) or {one, other} <= WITH_COMMAND)
    ]
)


@st.composite
def any_constraints(draw):
    """Any field of a constraint, alone or with another."""
    names = draw(ANY_FIELD_SETS)
    if names == ["absent"]:
        return {"absent": True}
    lowest, highest = draw(BOUNDS) if {"min", "max", "above"} & {*names} else (None, None)
    drawn = {"min": lowest, "max": highest, "above": lowest}
    return {name: drawn[name] if name in drawn else draw(ANY_FIELDS[name]) for name in names}


WRITTEN_BY_USERS = st.lists(
    st.sampled_from(
        [
            *(
                "bob",
                "bob",
                "BOB",
                "bob smith",
                "doe@x",
                "john.",
                "@y",
                "\u00e9",
                "e\u0301",
                "\u200b",
                "\x1f",
                "x",
                "'s",
            ),
            *("\u2019s", *" " * 8, "  ", "\n", "\u00a0", "\u2028", *"()\u00ab\u00bb.,'\"-", "(" * 16, "!" * 17),
            *("bobb" * 40, "bobx " * 64),
        ]
    ),
    max_size=6,
).map("".join)
ASKED_FOR = st.one_of(
    st.sampled_from(["bob", "Bob", "bob smith", "bob  Smith", "doe@x", "bo", "", 5]), WRITTEN_BY_USERS
)


@st.composite
def values_and_requests(draw):
    """Half of the requests have the value, in some spelling, between other words."""
    value, before, after = draw(ASKED_FOR), draw(WRITTEN_BY_USERS), draw(WRITTEN_BY_USERS)
    if draw(st.booleans()):
        return value, before
    spell = draw(st.sampled_from([str, str, str.upper, str.title, lambda text: text.replace(" ", "\n")]))
    signs = st.sampled_from(["", " ", " ", "\n", "(", "'", ".", "@", "x"])
    return value, f"{before}{draw(signs)}{spell(str(value))}{draw(signs)}{after}"


@PROFILE
@given(st.sampled_from(["exact", "text"]), values_and_requests(), st.sampled_from(["request"] * 9 + ["Request"]))
def test_what_users_asked_for_and_its_mirror_agree(how, value_and_request, name):
    """Passes, fails, or cannot be judged: in `when`, the three differ."""
    value, request = value_and_request
    wanted = {"parameters": {"x": {"fromRequest": how}}}
    call = {"parameters": {"x": value}, "context": {name: request}}
    judge = compile_circumstances("when", msgspec.convert(wanted, Circumstances), lambda _: False)
    verdict = judge(call["parameters"], call["context"])
    by_mirror = naive.verdict_of_circumstances({"when": wanted}, call)
    assert {True: naive.PASS, False: naive.ABSTAIN}.get(verdict, naive.FAIL) == by_mirror


CONDITIONS = st.sampled_from(["when", "unless"])
named_constraints = st.dictionaries(st.sampled_from(OTHER_NAMES), any_constraints(), min_size=1, max_size=2)
anywhere = st.one_of(
    st.fixed_dictionaries({name: st.sampled_from(REGEXES)}, optional={"except": st.sampled_from([["x"], ["p", "a.b"]])})
    for name in ("regex", "notRegex")
) | st.builds(lambda kinds, more: {"notKind": kinds} | more, KINDS_OF_TEXTS, st.sampled_from([{}, {"except": ["x"]}]))
circumstances = st.fixed_dictionaries(
    {"parameters": named_constraints | st.fixed_dictionaries({"**": anywhere})},
    optional={"context": named_constraints, "ifMissing": st.sampled_from(["skip", "apply"])},
)


@PROFILE
@given(st.sampled_from(OTHER_NAMES), any_constraints(), calls, calls)
def test_every_constraint_and_its_mirror_agree(name, constraint, given_parameters, context):
    """Including arrays, other values of the call, and strings with a meaning."""
    check = compile_constraint(name, msgspec.convert(constraint, Constraint), secret=False)
    call = {"parameters": given_parameters, "context": context}
    assert (check(given_parameters, context, spellings_of(given_parameters)) is None) == naive.satisfies(
        call, "parameters", name, constraint
    )


@PROFILE
@given(anywhere, calls)
def test_a_constraint_on_every_value_and_its_mirror_agree(constraint, given_parameters):
    """At any depth, but in what is left out."""
    check = compile_constraint("**", msgspec.convert(constraint, Constraint), secret=False)
    call = {"parameters": given_parameters}
    assert (check(given_parameters, {}, spellings_of(given_parameters)) is None) == naive.satisfies(
        call, "parameters", "**", constraint
    )


@PROFILE
@given(CONDITIONS, circumstances, calls, calls)
def test_the_conditions_of_a_rule_and_their_mirror_agree(word, wanted, given_parameters, context):
    """It applies, abstains, or cannot be judged and fails."""
    judge = compile_circumstances(word, msgspec.convert(wanted, Circumstances), lambda _: False)
    by_mirror = naive.verdict_of_circumstances({word: wanted}, {"parameters": given_parameters, "context": context})
    verdict = judge(given_parameters, context)
    assert {True: naive.PASS, False: naive.ABSTAIN}.get(verdict, naive.FAIL) == by_mirror


def asked_of(rule, wanted):
    """The circumstances without what such a rule cannot have: a grant never grants what it cannot judge."""
    return {name: each for name, each in wanted.items() if (rule["type"], name) != ("tool_grant", "ifMissing")}


@PROFILE
@given(POLICIES, st.data(), st.sampled_from(TOOLS), calls, calls, st.sampled_from(STARTS))
def test_policies_with_circumstances_and_their_mirror_agree(bodies, data, tool, given_parameters, context, start):
    """In tiers, quotas and the named rule, if rules apply only to some calls."""
    for body in bodies:
        for rule in body["rules"]:
            if rule["type"] != "denial_breaker" and data.draw(st.booleans()):
                rule[data.draw(CONDITIONS)] = asked_of(rule, data.draw(circumstances))
    sides = PdpAndMirror(bodies)
    for _ in range(3):
        answer, _ = sides.judge(tool, given_parameters, start, context)
        assert answer == sides.judge_by_mirror(tool, given_parameters, start, context)
