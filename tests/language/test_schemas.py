"""JSON Schemas: which are accepted, which are refused and where, and the message of a failure."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.language.schemas import work as schema_work
from app.language.schemas.json_schema import MAX_SCHEMA_BYTES, SchemaError, TooMuchWork, compile_schema
from app.language.schemas.locations import place

ORDER = {
    "type": "object",
    "required": ["id", "items"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "pattern": "^A-[0-9]+$"},
        "items": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/item"}},
    },
    "$defs": {"item": {"type": "object", "properties": {"count": {"type": "integer", "maximum": 5}}}},
}


@pytest.mark.parametrize(
    ("value", "failure"),
    [
        ({"id": "A-1", "items": []}, None),
        ({"id": "A-1", "items": [{"count": 5}, {"count": 1.0}]}, None),
        ({"id": "A-1"}, ("", "required")),
        ({"id": "B-1", "items": []}, ("id", "pattern")),
        ({"id": "A-1", "items": [{}, {"count": 6}]}, ("items.1.count", "maximum")),
        ({"id": "A-1", "items": [{"count": True}]}, ("items.0.count", "type")),
        ({"id": "A-1", "items": [], "more": 1}, ("", "additionalProperties")),
    ],
)
def test_a_failure_names_the_first_place_and_the_keyword(value, failure):
    """But never the value."""
    assert compile_schema(ORDER).first_failure(value) == failure


def test_numbers_are_exact():
    """Even beyond 2^53 and 2^64."""
    schema = compile_schema({"properties": {"n": {"maximum": 2**64}}})
    assert schema.first_failure({"n": 2**64}) is None
    assert schema.first_failure({"n": 2**64 + 1}) == ("n", "maximum")


@pytest.mark.parametrize(
    ("schema", "path", "said"),
    [
        ({"type": "text"}, ("type",), "is not a JSON Schema"),
        ({"properties": {"a": {"pattern": "("}}}, ("properties", "a", "pattern"), "is not a JSON Schema"),
        ({"properties": {"a": {"pattern": "(?=x)"}}}, ("properties", "a", "pattern"), "is not a JSON Schema"),
        ({"$ref": "https://example.com/x"}, ("$ref",), "nothing is fetched"),
        ({"$ref": "file:///etc/passwd"}, ("$ref",), "nothing is fetched"),
        ({"$ref": "#"}, ("$ref",), "nothing is fetched"),
        ({"$ref": "#/$defs/a"}, ("$ref",), "leads to no place"),
        ({"$id": "https://example.com/x"}, ("$id",), "is not accepted"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ("$schema",), "must be https"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, ("$ref", "$ref"), "round in a circle"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, ("properties", "a", "$ref", "$ref"), "round in a circle"),
        ({"description": "x" * MAX_SCHEMA_BYTES}, (), "bytes as JSON"),
    ],
)
def test_an_unusable_schema_is_refused_with_its_place(schema, path, said):
    """When the policy is written, not at the first call."""
    with pytest.raises(SchemaError) as refused:
        compile_schema(schema)
    assert refused.value.path == path
    assert said in refused.value.message


def test_a_schema_that_doubles_with_each_reference_is_refused():
    """Each doubling of the work costs only a hundred bytes."""
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(20)} | {"d20": {}}
    with pytest.raises(SchemaError, match="parts"):
        compile_schema({"$ref": "#/$defs/d0", "$defs": doubling})


def test_a_deep_schema_is_refused():
    """Before any recursion."""
    schema = {}
    for _ in range(100):
        schema = {"not": schema}
    with pytest.raises(SchemaError, match="nested more than"):
        compile_schema(schema)


BRANCHES = {"anyOf": [{"required": [f"x{number}"]} for number in range(300)]}
HALVES = [number + 0.5 for number in range(1_000)]
MANY = {"items": {"anyOf": [{"const": f"v{number}"} for number in range(3000)]}}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"a": MANY}}, {"a": ["no"] * 1000}),
        ({"properties": {"a": {"pattern": "(a|b)*a(a|b){500}c"}}}, {"a": "ab" * 50_000}),
        ({"properties": {"a": {"items": {"pattern": "(a|b)*a(a|b){500}c"}}}}, {"a": ["ab" * 500] * 100}),
        ({"patternProperties": {f"(a|b)*a(a|b){{500}}{number}": True for number in range(20)}}, {"ab" * 500: 1}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": MANY}}}}, {"a": ["no"] * 1000}),
        ({"additionalProperties": {"allOf": [MANY, {}]}}, {"any": ["no"] * 1000}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": list(range(100_000))}),
        ({"properties": {"a": {"items": {"enum": HALVES}}}}, {"a": [0.5] * 5_000}),
        ({"properties": {"a": {"items": {"enum": list(range(1_000))}}}}, {"a": [10**300] * 20}),
        ({"properties": {"a": {"items": {"enum": [[each] for each in HALVES]}}}}, {"a": [[0.25]] * 5_000}),
        ({"properties": {"a": {"items": {"multipleOf": 1e-300}}}}, {"a": [1] * 5_000}),
        (
            {"$defs": {"a": {"multipleOf": 1e-300}}, "properties": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 600}}},
            {"a": 1},
        ),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [10**30 + number for number in range(1_000)]}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [{"b": 2**63 + number} for number in range(1_000)]}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [10**400 * number for number in range(300)]}),
    ],
    ids=[
        *("branches", "pattern", "pattern of items", "names", "reference", "nested", "unique"),
        *(
            "numbers",
            "large numbers",
            "numbers in lists",
            "multiples",
            "multiples by reference",
            "unique large",
            "unique objects",
            "unique huge",
        ),
    ],
)
def test_a_validation_that_would_block_others_is_not_started(schema, value):
    """The library would hold the interpreter's lock for seconds: up to twenty for a megabyte."""
    with pytest.raises(TooMuchWork):
        compile_schema(schema).first_failure(value)


def test_a_schema_that_applies_to_many_values_is_counted_once(monkeypatch):
    """Counting it per value took longer than validating: a second for two milliseconds of work."""
    made = []
    of = schema_work.Place
    monkeypatch.setattr(schema_work, "Place", lambda *given: made.append(of(*given)) or made[-1])
    branches = [{"properties": {"b": {"const": f"v{number}"}}} for number in range(100)]
    schema = compile_schema({"properties": {"a": {"items": {"anyOf": branches}}}})
    assert schema.first_failure({"a": [{"b": "v0"}] * 1_000}) is None
    assert len(made) == 4


def pairs(root, node, held):
    """Checks and steps, counted one by one, for each part of a schema and each value that it may be held against."""
    if not isinstance(node, dict):
        return 1, 0
    inside, steps = [], 0
    if "$ref" in node:
        inside.append((place(root, node["$ref"]), held))
    inside += [(each, held) for word in ("allOf", "anyOf", "oneOf") for each in node.get(word, [])]
    inside += [(node[word], held) for word in ("not", "if", "then", "else") if word in node]
    inside += [(each, held) for each in node.get("dependentSchemas", {}).values()]
    of_each = []
    if isinstance(held, dict):
        inside += [(each, held[name]) for name, each in node.get("properties", {}).items() if name in held]
        inside += [(each, inner) for each in node.get("patternProperties", {}).values() for inner in held.values()]
        inside += [(node["propertyNames"], name) for name in held if "propertyNames" in node]
        of_each = [node[word] for word in ("additionalProperties", "unevaluatedProperties") if word in node]
        steps += sum(len(name.encode()) * SIZES[each] for name in held for each in node.get("patternProperties", {}))
        inside += [(each, inner) for each in of_each for inner in held.values()]
    elif isinstance(held, list):
        inside += zip(node.get("prefixItems", []), held, strict=False)
        of_each = [node[word] for word in ("items", "contains", "unevaluatedItems") if word in node]
        inside += [(each, inner) for each in of_each for inner in held]
    elif isinstance(held, str) and "pattern" in node:
        steps += len(held.encode()) * SIZES[node["pattern"]]
    checks = 1 + (len(node.get("enum", [])) if isinstance(held, dict | list) else 0)
    if isinstance(held, list) and node.get("uniqueItems"):
        checks += 12 * schema_work.extent(held)[0]
    for found, more in (pairs(root, *pair) for pair in inside):
        checks, steps = checks + found, steps + more
    return checks, steps


NAMES = ("a", "b", "é")
SIZES = {pattern: schema_work._size(pattern) for pattern in ("a|b", "é{3}", "x")}
VALUES = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["", "ab", "éé"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=12,
)


def words(inner):
    """Schemas of up to four keywords around these."""
    some, named = st.lists(inner, min_size=1, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    of_one = ("not", "if", "then", "else", "additionalProperties", "propertyNames", "items", "contains")
    of_some = ("allOf", "anyOf", "oneOf", "prefixItems")
    keywords = {
        **dict.fromkeys((*of_one, "unevaluatedItems", "unevaluatedProperties"), inner),
        **dict.fromkeys(of_some, some),
        **dict.fromkeys(("properties", "dependentSchemas"), named),
        "patternProperties": st.dictionaries(st.sampled_from(sorted(SIZES)), inner, max_size=2),
        "pattern": st.sampled_from(sorted(SIZES)),
        "enum": st.just(["a", "b", None]),
        "uniqueItems": st.just(value=True),
        "$ref": st.sampled_from(("#/$defs/one", "#/$defs/two")),
    }
    chosen = st.sets(st.sampled_from(sorted(keywords)), max_size=4)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: keywords[name] for name in names}))


DEFS = {"one": {"items": {"pattern": "x"}}, "two": {"properties": {"a": {"$ref": "#/$defs/one"}}, "enum": ["a"]}}


@example({"allOf": [{"$ref": "#/$defs/two"}] * 3}, {"a": ["ab", "éé"]})
@given(st.recursive(st.booleans(), words, max_leaves=12), VALUES)
def test_the_work_counted_together_is_that_of_each_pair(schema, value):
    """Merging the parts that apply to the same values loses none and counts none twice."""
    root = {"$defs": DEFS, "allOf": [schema]}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(schema_work, "_LITTLE", -1)
        demand = schema_work.SchemaWork(root, 1).demand(value)
    checks, steps = pairs(root, root, value)
    assert (demand.checks, demand.steps) == (checks - 1, steps)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"a": {"items": {"type": "number"}}}}, {"a": [0.5] * 100_000}),
        ({"properties": {"a": {"pattern": "^.{1,99}$"}}}, {"a": "x" * 99}),
        ({"properties": {"a": {"pattern": "^.{1,99}$"}, "b": {"type": "string"}}}, {"a": "x", "b": "y" * 900_000}),
        (
            {"properties": {f"p{number}": {"type": "string"} for number in range(2_000)}},
            {f"p{n}": "" for n in range(2_000)},
        ),
        ({"properties": {"a": {"enum": [f"v{number}" for number in range(4_000)]}}}, {"a": "v9"}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": list(range(10_000))}),
        ({"properties": {"a": {"items": {"minimum": 0.01}}}}, {"a": [12.5] * 5_000}),
        ({"properties": {"a": {"items": {"minimum": 0, "maximum": 10**6}}}}, {"a": [12.5] * 20_000}),
        ({"properties": {"a": {"items": {"enum": list(range(1_000))}}}}, {"a": [7] * 30}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [2**60 + (n << 22) for n in range(2_000)]}),
    ],
    ids=[
        *("numbers", "pattern", "a long text beside it", "names", "enum", "unique"),
        *("prices", "bounds", "enum of numbers", "unique ids"),
    ],
)
def test_a_schema_that_only_looks_costly_is_accepted(schema, value):
    """Only actual pairs of schema place and value count."""
    assert compile_schema(schema).first_failure(value) is None


def test_a_failure_in_many_branches_is_not_located():
    """Each branch's error would copy the value, which takes seconds for a megabyte."""
    schema = compile_schema(BRANCHES)
    assert schema.first_failure({"a": 1}) == ("", "anyOf")
    assert schema.first_failure({"a": "b" * 1_000_000}) == ("", "schema")
    assert schema.first_failure({"a": "b" * 1_000_000, "x299": 1}) is None


@pytest.mark.parametrize(
    "name", ["$ref", "pattern", "patternProperties", "properties", "allOf", "dependencies", "enum"]
)
def test_a_reference_to_something_other_than_a_schema_is_refused_or_judged(name):
    """It may contain property names in place of keywords."""
    try:
        schema = compile_schema({"properties": {name: True, "b": {"$ref": "#/properties"}}})
    except SchemaError:
        return
    assert schema.first_failure({"b": {"c": ["x"] * 20_000}}) is None
