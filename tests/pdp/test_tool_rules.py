"""The possible results of a tool compared with what `decide` says about calls.

EXAMPLES=20000 pytest tests/pdp/test_tool_rules.py searches for longer.
"""

from itertools import combinations

import jsonschema
import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pdp_and_mirror import REDACTOR, agent, policy_of
from profiles import examples
from test_differential import NUMBERS, POLICIES, SCALARS, STARTS, TOOLS, asked_of

from app.language.spellings import spellings_of
from app.model.constraints import Constraint
from app.model.decisions import AuthorizeRequest, Result
from app.model.rules import Rules
from app.model.sequences import covers
from app.model.times import MINUTE_US
from app.pdp import compile_agent, decide
from app.pdp.call_schemas import named_schema
from app.pdp.constraints import compile_constraint
from app.pdp.rules import rule_in_words, rule_schema
from app.pdp.tool_outcomes import ToolRules
from app.pdp.value_schemas import UNKNOWN

PROFILE = settings(
    max_examples=examples(200, least=60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
NAMES = ["x", "x", "p.x", "a[*]", "p[*].x", "a.b[*]", "a.b.c", "a[*][*]", "password"]
REGEXES = [
    "^1",
    "0$",
    "^[0-9]+$",
    r"^\d{1,3}$",
    "",
    "(?i)ABC",
    r"\.",
    "^.$",
    "^[^@]+@corp",
    "a|b",
    "^(?:a|b)*$",
    r"\w\s",
]
COUNTS = [0, 1, 2]
OTHERS = [{"parameter": "y"}, {"context": "y"}]
TYPES = ["string", "number", "integer", "boolean", "null", "array", "object"]
FIELDS = {
    "regex": st.sampled_from(REGEXES),
    "notRegex": st.sampled_from(REGEXES),
    "enum": st.lists(st.sampled_from(SCALARS), min_size=1, max_size=4),
    "notEnum": st.lists(st.sampled_from(SCALARS), min_size=1, max_size=4),
    **{name: st.sampled_from(NUMBERS) for name in ("min", "above")},
    **{name: st.sampled_from([1, 500, 2**53, 1e31]) for name in ("max", "below")},
    "minLength": st.sampled_from(COUNTS),
    "maxLength": st.sampled_from([2, 3]),
    "minItems": st.sampled_from(COUNTS),
    "maxItems": st.sampled_from([2, 3]),
    "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3),
    "equals": st.sampled_from(OTHERS),
    "atMost": st.sampled_from(OTHERS),
    "path": st.just({"under": ["/repo"]}),
    "emailDomain": st.just({"in": ["corp.com"]}),
}
TEXTS = ["/repo/a", "/etc", "ann@corp.com", "ann@evil.com", "12", "1.5", "a@corp", "b", "٣"]
leaves = st.sampled_from(SCALARS) | st.sampled_from(TEXTS)
values = st.one_of(
    leaves,
    leaves,
    st.lists(leaves, max_size=3),
    st.lists(st.lists(leaves, max_size=2), max_size=2),
    st.lists(st.dictionaries(st.sampled_from(["x", "b"]), leaves, max_size=2), max_size=3),
    st.dictionaries(st.sampled_from(["x", "b", "b.c", "c"]), leaves | st.lists(leaves, max_size=2), max_size=2),
    st.fixed_dictionaries({"b": st.fixed_dictionaries({"c": leaves})}),
)
parameters = st.dictionaries(
    st.sampled_from(["x", "x", "y", "p", "p.x", "a", "a.b", "a.b.c", "password"]), values, max_size=4
)
FIELDS["required"] = st.sampled_from([False, False, True])
OTHER_FIELDS = sorted(FIELDS.keys() - {"required"})
FEW_FIELDS = [[], *([name] for name in OTHER_FIELDS * 7), *combinations(OTHER_FIELDS, 2)]
FIELD_SETS = st.sampled_from([[*few, *required] for few in FEW_FIELDS for required in ([], ["required"])][1:])
ONE_IN_FOUR, ONE_IN_SIXTEEN = st.integers(0, 3), st.integers(0, 15)


@st.composite
def constraints(draw):
    """Any constraint that can be written."""
    if draw(ONE_IN_SIXTEEN) == 0:
        return {"absent": True}
    return {name: draw(FIELDS[name]) for name in draw(FIELD_SETS)}


CONSTRAINTS = st.dictionaries(st.sampled_from(NAMES), constraints(), min_size=1, max_size=2)
CONDITIONS = st.sampled_from(["when", "unless"])
IF_MISSING = st.sampled_from([{}, {}, {"ifMissing": "skip"}, {"ifMissing": "apply"}])


def accepts(schema, value):
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@PROFILE
@given(st.sampled_from(NAMES), constraints(), parameters)
def test_the_schema_of_a_name_accepts_what_passes_and_if_exact_no_more(name, body, given_parameters):
    """For every field of a constraint and every form of a name."""
    try:
        constraint = msgspec.convert({"parameters": {name: body}, "type": "parameter_constraint", "tools": ["*"]}, ANY)
    except msgspec.ValidationError:
        return  # nothing can satisfy it
    constraint = constraint.parameters[name]
    check = compile_constraint(name, constraint, secret=False)
    passes = check(given_parameters, {"y": 1}, spellings_of(given_parameters)) is None
    part = named_schema(name, constraint, REDACTOR.is_secret)
    jsonschema.Draft202012Validator.check_schema(part.schema)
    if passes:
        assert accepts(part.schema, given_parameters)
    elif part.is_exact:
        assert not accepts(part.schema, given_parameters)


ANY = Rules.__origin__.__args__[0]


@st.composite
def all_policies(draw):
    """Those of the differential tests, with any constraint, schemas, and rules that apply to some calls only."""
    bodies = draw(POLICIES)
    for body in bodies:
        for rule in body["rules"]:
            if rule["type"] in {"rate_limit", "sequence"} and draw(st.booleans()):
                for field in ("rateLimit", "sequence"):
                    rule.pop(field, None)
                rule |= {"type": "parameter_constraint", "parameters": draw(CONSTRAINTS)}
                if draw(ONE_IN_FOUR) == 0:
                    rule["context"] = {"y": {"enum": [1]}}
            elif rule["type"] == "time_based" and draw(st.booleans()):
                rule.pop("timeWindow")
                rule |= {"type": "parameter_schema", "schema": draw(SCHEMAS)}
            if draw(ONE_IN_FOUR) == 0:
                rule[draw(CONDITIONS)] = asked_of(rule, {"parameters": draw(CONSTRAINTS)} | draw(IF_MISSING))
    return bodies


SCHEMAS = st.sampled_from(
    [
        {},
        {"type": "object"},
        {"properties": {"x": {"type": "string", "pattern": "^[0-9]+$"}}},
        {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False},
        {"$ref": "#/$defs/a", "$defs": {"a": {"required": ["x"]}}},
        {"properties": {"a": {"items": {"type": "number"}}}, "title": "t", "not": {"required": ["y"]}},
    ]
)


class Scene:
    """An agent, and the rules for which the store has no room."""

    def __init__(self, bodies, full):
        held = [policy_of(body) for body in bodies]
        self.compiled = compile_agent(agent(), held, REDACTOR.is_secret)
        self.rules = ToolRules(self.compiled, REDACTOR.is_secret)
        self._full = full

    def has_room(self, quota):
        return (quota.policy_id, quota.when_full.rule.index) not in self._full

    def result(self, tool, given_parameters, context, now_us):
        """The result as the commit would return it."""
        request = AuthorizeRequest("agent", tool, "authorize", given_parameters, b"", context=context)
        plan = decide(self.compiled, request, now_us, "key")
        return next((quota.when_full for quota in plan.quotas if not self.has_room(quota)), plan.outcome)


full = st.frozensets(st.tuples(st.sampled_from(["p0", "p1", "p2", "p3"]), st.integers(0, 3)), max_size=4)
contexts = st.sampled_from([None, {"session": "s"}, {"session": "s", "y": 1}, {"y": "1"}])
calls = st.lists(st.tuples(parameters, contexts), min_size=1, max_size=4)


def writable(bodies):
    """Whether the service would accept them: some constraints contradict themselves."""
    try:
        for body in bodies:
            msgspec.convert(body["rules"], Rules)
    except msgspec.ValidationError:
        return False
    return True


@PROFILE
@given(all_policies().filter(writable), st.sampled_from(TOOLS), calls, st.sampled_from(STARTS), full, st.data())
def test_the_possible_results_include_every_decision(bodies, tool, asked, start, filled, data):
    """`allowed` only if every call is; `denied` only if none ever is; no schema rejects a call that is not denied."""
    scene = Scene(bodies, filled)
    possible = scene.rules.possible(tool, start // MINUTE_US, scene.has_room)
    later_us = start + data.draw(st.sampled_from([0, 3600_000_000, 40 * 3600_000_000]))
    emptied = Scene(bodies, data.draw(full))
    assert possible.now <= possible.ever
    for given_parameters, context in asked:
        outcome = scene.result(tool, given_parameters, context, start)
        assert outcome.result in possible.now
        other = emptied.result(tool, given_parameters, context, later_us)
        assert other.result in possible.ever
        for each in (outcome, other):
            if each.result is not Result.DENIED:
                assert accepts(possible.parameters.schema, given_parameters)
            elif possible.parameters.is_exact and is_about_parameters(bodies, each):
                assert not accepts(possible.parameters.schema, given_parameters)


def is_about_parameters(bodies, outcome):
    """Whether it comes from a rule that reads only parameters."""
    if outcome.rule is None:
        return False
    [body] = [each for each in bodies if each["id"] == outcome.policy_id]
    rule = body["rules"][outcome.rule.index]
    return outcome.rule.type in {"parameter_constraint", "parameter_schema"} and "context" not in rule


@PROFILE
@given(
    all_policies().filter(writable), st.lists(st.sampled_from(TOOLS), min_size=2, max_size=2), st.sampled_from(STARTS)
)
def test_similar_tools_are_treated_alike(bodies, tools, start):
    """So one's result can be reused for the others."""
    scene = Scene(bodies, frozenset())
    one, other = tools
    found = [
        (each.now, each.ever, each.parameters, [(reach.now, reach.ever, reach.covered) for reach in each.reaches])
        for each in (scene.rules.possible(tool, start // MINUTE_US, scene.has_room) for tool in tools)
    ]
    if scene.rules.likeness(one) == scene.rules.likeness(other):
        assert found[0] == found[1]
    for _policy, rules in scene.compiled.compiled_policies:
        for rule in rules:
            assert rule_in_words(rule.rule, covered=covers(rule.rule.tools, one), is_secret=REDACTOR.is_secret)


def test_a_call_excepted_by_unless_fits_the_schema():
    """If `ifMissing` skips missing values, the rule then demands nothing."""
    unless = {"parameters": {"x": {"enum": [1]}}, "ifMissing": "skip"}
    rule = {"type": "parameter_constraint", "tools": ["*"], "parameters": {"a": {"max": 1}}, "unless": unless}
    rules = [{"type": "tool_allowlist", "tools": ["*"]}, rule]
    body = {"id": "p0", "name": "p0", "rules": rules, "priority": 0, "enabled": True, "createdAt": 1}
    scene = Scene([body], frozenset())
    assert scene.result("file.read", {"a": 5}, None, 0).result is Result.ALLOWED
    assert accepts(scene.rules.possible("file.read", 0, scene.has_room).parameters.schema, {"a": 5})


def test_a_missing_nested_name_fits_the_schema():
    """A dot leads into an object or belongs to a key, and null counts as missing."""
    part = named_schema("p.x", Constraint(max=1, required=False), REDACTOR.is_secret)
    assert part.is_exact
    for passing in ({}, {"p": None}, {"p": {"x": 1}}, {"p.x": 1}, {"p": {}, "y": 5}):
        assert accepts(part.schema, passing)
    for failing in ({"p": 5}, {"p": {"x": 2}}, {"p.x": 2}, {"p": {"x": 1}, "p.x": 2}):
        assert not accepts(part.schema, failing)


def test_a_name_with_two_dots_fits_the_schema_however_its_parts_are_joined():
    """Each part leads into an object or belongs to a key with the next."""
    part = named_schema("a.b.c", Constraint(max=1), REDACTOR.is_secret)
    assert part.is_exact
    for passing in ({"a": {"b": {"c": 1}}}, {"a": {"b.c": 1}}, {"a.b": {"c": 1}}, {"a.b.c": 1}):
        assert accepts(part.schema, passing)
    for failing in ({}, {"a": {"b": {}}}, {"a": {"b": {"c": 2}}}, {"a": {"b.c": 2}}, {"a.b": {"c": 2}}, {"a.b.c": 2}):
        assert not accepts(part.schema, failing)


def test_a_written_schema_is_shown_as_every_validator_reads_it():
    def told(schema):
        policy = policy_of({"id": "p", "name": "p", "priority": 0, "enabled": True, "createdAt": 1, "rules": [
            {"type": "parameter_schema", "tools": ["*"], "schema": schema}]})  # fmt: skip
        return rule_schema(policy.rules[0], covered=True, is_secret=REDACTOR.is_secret)

    # What its `$ref` leads to is not told, so neither is what leads there.
    leads_on = {"dependencies": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"required": ["b"]}}}
    # To draft 7 the first says nothing, and the second that no array has an item.
    tuple_of_one = {"properties": {"a": {"prefixItems": [{}], "items": False}}}
    for schema in (leads_on, tuple_of_one, {"properties": {"a": {"contains": {}, "minContains": 0}}}):
        assert told(schema) == UNKNOWN
    # Some take null for such a string.
    assert told({"not": {"type": "string", "nullable": True}}).schema == {"not": {"type": "string"}}
    assert told({"description": "d", "required": ["a"], "x-of": {}}).schema == {"description": "d", "required": ["a"]}
