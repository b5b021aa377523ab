"""Policy files as values: the meaning of YAML scalars, the place of each value, and what is refused."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy_tools.files.documents import MAX_BYTES, MAX_DEPTH, DocumentError, read_document
from app.policy_tools.files.policy_file import find_files
from app.policy_tools.files.rendering import as_json, as_yaml, file_name

YAML = b"""\
# a comment
agent: refund-bot
policies:
  - name: "no"
    rules:
      - type: tool_allowlist
        tools: [a, b]
        hours: &hours
          - 9
          - 0x10
      - {type: other, hours: *hours}
"""


def test_yaml_is_read_with_the_line_of_each_value():
    """Also for aliases; a missing value has the line of its nearest parent."""
    found = read_document(YAML)
    first, second = found.value["policies"][0]["rules"]
    assert (first["tools"], first["hours"], second["hours"]) == (["a", "b"], [9, 16], [9, 16])
    assert found.line_of("$.agent") == 2
    assert found.line_of("$.policies[0].rules[0].tools[1]") == 7
    assert found.line_of("$.policies[0].rules[1].missing.deeper") == 11
    assert found.inside("policies", 0).line_of("$.name") == 4


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2026-11-20", "2026-11-20"),
        ("1_000", "1_000"),
        ("010", 10),
        ("+7", 7),
        ("0o17", 15),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("~", None),
        ("Null", None),
        ("TRUE", True),
        ("'true'", "true"),
        ('"1"', "1"),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_a_word_without_quotes_means_what_yaml_1_2_says(text, value):
    """So a country code, a time of day or a date stays a string."""
    assert read_document(f"x: {text}".encode()).value == {"x": value}


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        (b"", 1, "is empty"),
        (b"# nothing\n", 1, "is empty"),
        (b"a: 1\n\xff", 2, "is not UTF-8"),
        (b"a: 1\nb: [1, 2\n", 3, "is neither YAML nor JSON"),
        (b"a: 1\n\tb: 2\n", 2, "is neither YAML nor JSON"),
        (b"a: 1\nb: 2\na: 3\n", 3, '"a" is given twice'),
        (b'{"a": 1,\n "b": {"c": 1, "c": 2}}', 2, '"c" is given twice'),
        (b'{"a": NaN}', 1, "NaN is not a number"),
        (b'{"a": 1,\n  "b" 2}', 2, "is not JSON"),
        (b"a: 1\n---\nb: 2\n", 2, "a second document begins"),
        (b"a: 1\nb: !!python/object/apply:os.system [ls]\n", 2, "is a tag of YAML"),
        (b"a: !!float 1\n", 1, "is a tag of YAML"),
        (b"a: *nobody\n", 1, "refers to nothing"),
        (b"a: &a [*a]\n", 1, "refers to nothing"),
        (b"? [a, b]\n: 1\n", 1, "the name of a field must be a string"),
        (b"a: 1e999\n", 1, "too large"),
        (b"x" * (MAX_BYTES + 1), 1, "give each owner a file of its own"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), 0, ""),
        (b"a: " + b"[" * 100_000, 1, "nested more than"),
        (b"[" * 100_000, 1, "nested more than"),
        (b'{"a":' * 100_000, 1, "nested more than"),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_an_invalid_document_is_refused_with_its_line(raw, line, words):
    """The message says what to change."""
    if not line:
        assert read_document(raw).value  # one more level than YAML may have is good enough for JSON
        return
    with pytest.raises(DocumentError) as refused:
        read_document(raw)
    assert refused.value.line == line
    assert words in refused.value.message


def test_nested_aliases_are_bounded():
    """Ten lines that stand for a thousand million values are refused."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]" for n in range(9)]
    with pytest.raises(DocumentError, match="contains more than 200000 values"):
        read_document("\n".join(lines).encode())


@pytest.mark.parametrize("write", [as_yaml, as_json])
def test_written_files_are_read_back_unchanged(write):
    """Including strings that YAML could misread."""
    words = ["no", "on", "12:30", "2026-11-20", "1_000", "010", "1e3", "~", "true", "<<", "a: b", "#", " x", "\u2028"]
    value = {"agent": "a", "policies": [{"name": "p", "words": words, "bounds": {"max": 1.5, "min": None}}]}
    assert read_document(write(value).encode()).value == value


def test_json_is_read_as_json():
    """Including what YAML would refuse: tabs, surrogate pairs, long names."""
    value = {"n" * 2000: "😀/\u2028", "b": [1.5, {"c": None}]}
    for indent in ("\t", None):
        raw = json.dumps(value, indent=indent).replace("/", "\\/").encode()
        assert read_document(raw).value == value
    assert read_document(b"\xef\xbb\xbf{}").value == {}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_every_json_text_means_what_json_says(value):
    """Even if YAML would read it differently."""
    wrapped = {"value": value}
    for indent in (None, 1):
        assert read_document(json.dumps(wrapped, indent=indent).encode()).value == wrapped


@given(st.binary(max_size=60) | st.text("ab:-[]{}&*!|>%@#'\"\n\t ?,0", max_size=60).map(str.encode))
def test_any_text_is_a_document_or_an_error(raw):
    """No other exception is raised."""
    with contextlib.suppress(DocumentError):
        assert read_document(raw).lines is not None


@pytest.mark.parametrize("called", ["refunds.test", ".test", "a.test.test", f"{'x' * 95}.test.y", "..test"])
def test_no_owners_file_is_taken_for_a_test(tmp_path, called):
    """A policy file is found in its folder, whatever people called the agent."""
    for ending in (".yaml", ".json"):
        path = tmp_path / f"{file_name(called)}{ending}"
        path.write_text("")
        assert path in find_files([tmp_path])
