"""JSON Schemas: what is taken, what is refused and where, and what a failure says."""

import pytest

from app.model import schema_work
from app.model.schemas import MAX_SCHEMA_BYTES, SchemaError, TooMuchWork, compile_schema

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
    """And never the value."""
    assert compile_schema(ORDER).first_failure(value) == failure


def test_numbers_are_exact():
    """Beyond 2^53 and 2^64."""
    schema = compile_schema({"properties": {"n": {"maximum": 2**64}}})
    assert schema.first_failure({"n": 2**64}) is None
    assert schema.first_failure({"n": 2**64 + 1}) == ("n", "maximum")


@pytest.mark.parametrize(
    ("schema", "path", "said"),
    [
        ({"type": "text"}, ("type",), "is no JSON Schema"),
        ({"properties": {"a": {"pattern": "("}}}, ("properties", "a", "pattern"), "is no JSON Schema"),
        ({"properties": {"a": {"pattern": "(?=x)"}}}, ("properties", "a", "pattern"), "is no JSON Schema"),
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
def test_what_cannot_be_used_is_refused_with_its_place(schema, path, said):
    """Before any call is held against it."""
    with pytest.raises(SchemaError) as refused:
        compile_schema(schema)
    assert refused.value.path == path
    assert said in refused.value.message


def test_a_schema_that_doubles_with_each_reference_is_refused():
    """A hundred bytes for each doubling of the work."""
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(20)} | {"d20": {}}
    with pytest.raises(SchemaError, match="parts"):
        compile_schema({"$ref": "#/$defs/d0", "$defs": doubling})


def test_a_deep_schema_is_refused():
    """Before anything recurses into it."""
    schema = {}
    for _ in range(100):
        schema = {"not": schema}
    with pytest.raises(SchemaError, match="nested more than"):
        compile_schema(schema)


BRANCHES = {"anyOf": [{"required": [f"x{number}"]} for number in range(300)]}
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
    ],
    ids=["branches", "pattern", "pattern of items", "names", "reference", "nested", "unique"],
)
def test_what_would_keep_everybody_waiting_is_not_begun(schema, value):
    """The library holds the interpreter's lock meanwhile, and takes seconds for these: up to twenty for a megabyte."""
    with pytest.raises(TooMuchWork):
        compile_schema(schema).first_failure(value)


def test_what_is_too_much_is_known_after_a_look_at_few_places(monkeypatch):
    """Counting all that there are up to the bound would itself take most of a second."""
    looked_at = []
    monkeypatch.setattr(schema_work, "_comparisons", lambda node, held: looked_at.append(node) or 0)
    with pytest.raises(TooMuchWork):
        compile_schema({"properties": {"a": MANY}}).first_failure({"a": ["no"] * 1000})
    assert len(looked_at) < 1000


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
    ],
    ids=["numbers", "pattern", "a long text beside it", "names", "enum", "unique"],
)
def test_what_only_looks_like_much_is_looked_at(schema, value):
    """What counts is which place is held against which value."""
    assert compile_schema(schema).first_failure(value) is None


def test_where_a_large_value_does_not_fit_many_branches_is_not_looked_for():
    """An error of each branch would hold a copy of the value: seconds for a megabyte."""
    schema = compile_schema(BRANCHES)
    assert schema.first_failure({"a": 1}) == ("", "anyOf")
    assert schema.first_failure({"a": "b" * 1_000_000}) == ("", "schema")
    assert schema.first_failure({"a": "b" * 1_000_000, "x299": 1}) is None


@pytest.mark.parametrize(
    "name", ["$ref", "pattern", "patternProperties", "properties", "allOf", "dependencies", "enum"]
)
def test_a_reference_to_what_is_no_schema_is_refused_or_judged(name):
    """Names of properties stand there where keywords would."""
    try:
        schema = compile_schema({"properties": {name: True, "b": {"$ref": "#/properties"}}})
    except SchemaError:
        return
    assert schema.first_failure({"b": {"c": ["x"] * 20_000}}) is None
