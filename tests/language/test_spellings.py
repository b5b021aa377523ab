"""Names that some programs read as one: which they are, and where a schema reads them."""

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.language.spellings import SPELLED, RememberedSpellings, SchemaNames, folded, spelled_once, spellings_of

SPELLINGS = json.loads((Path(__file__).parents[2] / "clients/cases.json").read_text())["spellings"]["risk"]


@pytest.mark.parametrize("other", SPELLINGS["same"] + SPELLINGS["other"])
def test_a_name_in_another_spelling_is_noticed(other):
    """Beside the name, in its place, first or last; what is spelled otherwise is another name. The clients agree."""
    is_another = other in SPELLINGS["other"]
    assert (folded(other) != "risk") is is_another
    for holder in ({other: 1}, {"risk": 1, other: 2}, {other: 1, "risk": 2}, {"x": 0, other: 1, "y": 0}):
        many = holder | {f"n{number}": number for number in range(40)}
        for spelled in ("risk", folded(other)):
            is_once = is_another if spelled == "risk" else other == spelled
            assert (spelled_once(spelled)(holder), spelled_once(spelled)(many)) == (is_once, is_once)


@given(
    st.lists(st.text("kK\u212as\u017fS\ufb01fi\u0130.\n", max_size=3), unique=True, max_size=24),
    st.text("kK\u212as\u017fS\ufb01fi\u0130.\n", max_size=3),
)
def test_few_names_and_many_are_compared_alike(names, name):
    holder = dict.fromkeys(names)
    assert spelled_once(name)(holder) is all(other == name or folded(other) != folded(name) for other in names)


@pytest.mark.parametrize(
    "holder", [{}, {"risk": 1}, {"risks": 1, "Risks": 2}, {"ri": 1, "sk": 2}, {"ri\nsk": 1, "": 2}]
)
def test_other_names_are_not_taken_for_it(holder):
    """Longer and shorter ones, and pieces that stand side by side."""
    assert spelled_once("risk")(holder)


def test_the_memory_of_names_is_bounded_whoever_chooses_them():
    """The latest are kept, and none that would displace hundreds of others."""
    memory = RememberedSpellings(64 * 1024)
    tracemalloc.start()
    for number in range(2_000):
        assert memory.add((f"Name {number}", "é" * 9, "€" * 9)) == {
            f"name {number}": f"Name {number}",
            "é" * 9: "é" * 9,
            "€" * 9: "€" * 9,
        }
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken - 4096 < memory.size <= 64 * 1024 < memory.size + 1024
    assert ("Name 0", "é" * 9, "€" * 9) not in memory.known
    assert ("Name 1999", "é" * 9, "€" * 9) in memory.known
    size = memory.size
    assert memory.add(("n" * 4096,)) == {"n" * 4096: "n" * 4096}
    assert memory.add(("Name 1999", "é" * 9, "€" * 9))
    assert memory.size == size


def test_few_names_are_folded_once_and_many_are_not_kept():
    """Whatever the order in which an object has them, and also if it has none."""
    few, many = {"Few names": 1, "rIsK": 2}, {f"many {number}": number for number in range(17)}
    assert spellings_of(few) is spellings_of(dict(few))
    assert spellings_of({}) is spellings_of({})
    assert spellings_of(few).get("risk", "risk") == "rIsK"
    assert spellings_of(dict(reversed(few.items()))).get("risk", "risk") == "rIsK"
    assert spellings_of(many).get("risk", "risk") == "risk"
    assert (*few,) in SPELLED.known
    assert (*many,) not in SPELLED.known


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"amount": {}}},
        {"required": ["amount"]},
        {"not": {"required": ["amount"]}},
        {"if": {"properties": {"amount": {}}}},
        {"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"properties": {"amount": {}}}}},
        {"dependentRequired": {"amount": ["x"]}},
        {"dependentRequired": {"x": ["amount"]}},
        {"dependentSchemas": {"amount": {}}},
        {"patternProperties": {"x": {"properties": {"amount": {}}}}},
        {"propertyNames": {"not": {"enum": ["amount"]}}},
        {"not": {"const": {"amount": 1}}},
        {"items": {"enum": [[{"amount": 1}]]}},
    ],
)
def test_a_schema_reads_its_names_wherever_they_stand(schema):
    """In any object of the parameters, however deep."""
    names = SchemaNames(schema)
    assert names.other_spelling({"x": [{"Amount": 1}]}) == "amount"
    assert names.other_spelling({"amount": [{"amount": 1, "type": 1, "Enum": 2}]}) is None


def test_keywords_are_no_names():
    """Only what stands for a name of the parameters is one."""
    names = SchemaNames({"type": "object", "title": "Type", "properties": {"properties": {"enum": ["TYPE"]}}})
    assert names.other_spelling({"Type": 1, "Title": 2, "Enum": 3, "type_": 4}) is None
    assert names.other_spelling({"Properties": 1}) == "properties"
    assert names.other_spelling({"a": 1, "A": 2}) == "A"
