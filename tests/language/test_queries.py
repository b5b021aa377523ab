"""Names in a query: shown as every program reads them, or refused. tests/receivers asks the programs themselves."""

import pytest

from app.language.ambiguous import Ambiguous
from app.language.queries import query_parameters


@pytest.mark.parametrize(
    ("pairs", "wanted"),
    [
        ("a=1 b=2", {"a": "1", "b": "2"}),
        ("a=1 a=2", {"a": ["1", "2"]}),
        ("a[]=1 a[]=2", {"a[]": ["1", "2"], "a": ["1", "2"]}),
        ("f[x]=1 f[y]=2", {"f[x]": "1", "f[y]": "2", "f": ["1", "2"]}),
        ("a.b=1", {"a.b": "1", "a_b": ["1"], "a[b]": ["1"], "a": ["1"]}),
        ("a[][x]=1", {"a[][x]": "1", "a[]": ["1"], "a": ["1"]}),
    ],
)
def test_a_value_stands_under_each_name_that_programs_read(pairs, wanted):
    """In a list where the name is not as it was written, so that a rule about one text fails."""
    assert query_parameters(tuple(pair.split("=")) for pair in pairs.split()) == wanted


@pytest.mark.parametrize("one", ["a", "a_b", "a[b]"])
def test_names_that_are_one_to_a_program_are_refused(one):
    """Whichever comes first, and whatever their values are."""
    twins = {
        "a": ["A", "a[]", "a[b]", "a.b", "A[x]"],
        "a_b": ["a.b", "a b", "A.B"],
        "a[b]": ["a", "a[]", "a[b][c]", "a.b", "A[b]", "a[B]"],
    }
    for other in twins[one]:
        for names in ((one, other), (other, one)):
            with pytest.raises(Ambiguous, match="one name"):
                query_parameters((name, "1") for name in names)


@pytest.mark.parametrize(
    "name",
    [" a", "a ", "a[ b]", "[a]", "[]", "a]", "a[", "a[b", "a[b]c", "a[[b]]", "a[][]", ".a", "a..b", "a[b.c]", "a .b"],
)
def test_a_name_whose_parts_are_unclear_is_refused(name):
    with pytest.raises(Ambiguous, match="the name"):
        query_parameters([(name, "1")])


def test_what_programs_do_not_read_is_refused():
    """More parts of a name, or more parameters."""
    deep = "a" + "[b]" * 5
    assert query_parameters([(deep, "1")])[deep] == "1"
    with pytest.raises(Ambiguous, match="more than 6 parts"):
        query_parameters([(f"{deep}[b]", "1")])
    assert len(query_parameters((f"p{number}", "1") for number in range(1000))) == 1000
    with pytest.raises(Ambiguous, match="more than 1000"):
        query_parameters((f"p{number}", "1") for number in range(1001))
