"""Bytes that are not acceptable JSON: the same answer on every endpoint that reads a body."""

import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Invalid, PayloadTooLarge
from app.http.bodies import (
    MAX_BODY_BYTES,
    _but_brackets,
    count_keys,
    decode_json,
    keys_written,
    outside_strings,
    require_readable,
    require_unique_keys,
)

BOTH = pytest.mark.parametrize("endpoint", ["/v1/agents", "/v1/authorize"])
FILLER = b'{"name": "%s"}'


@pytest.mark.parametrize("inside", ['{"n\\u0000": 1}', '{"n": 1, "n\\u0000x": 2}', '{"a": [{"\\u0000": 1}]}'])
def test_a_name_that_holds_nul_is_refused(inside):
    """A tool that ends strings at NUL would read another name; NUL inside a value concerns only the tool."""
    with pytest.raises(Invalid, match="a name contains NUL"):
        decode_json(f'{{"parameters": {inside}}}'.encode())
    assert decode_json(b'{"text": "a\\u0000b: c"}') == {"text": "a\0b: c"}
    assert decode_json(b'{"a\\\\u0000": 1}') == {"a\\u0000": 1}


def full_body(size):
    """A body of exactly this many bytes."""
    return FILLER % (b"x" * (size - len(FILLER) + 2))


def refused(answer, message):
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"] == [{"path": "$", "message": message}]


NO_JSON = {
    "words": (b"name=a", "is not JSON: invalid character (byte 4)"),
    "half": (b'{"name": "a"', "is not JSON: it ends too early, or a \\u escape lacks its other half"),
    "open text": (b'{"name": "a', "is not JSON: it ends too early, or a \\u escape lacks its other half"),
    "trailing comma": (b'{"name": "a",}', "is not JSON: trailing comma in object (byte 13)"),
    "two values": (b'{"name": "a"} {}', "is not JSON: trailing characters (byte 15)"),
    "single quotes": (b"{'name': 'a'}", "is not JSON: object keys must be strings (byte 1)"),
    "NaN": (b'{"name": NaN}', "is not JSON: invalid character (byte 9)"),
    "a comment": (b'{"name": "a"} // agent', "is not JSON: trailing characters (byte 15)"),
    "byte order mark": (b'\xef\xbb\xbf{"name": "a"}', "is not JSON: invalid character (byte 0)"),
    "UTF-16": ('{"name": "a"}'.encode("utf-16-le"), "is not JSON: object keys must be strings (byte 1)"),
    "raw control character": (b'{"name": "a\x01"}', "is not JSON: invalid character (byte 11)"),
    "half a surrogate": (
        b'{"name": "\\ud800 and more"}',
        "is not JSON: unexpected end of escaped utf-16 surrogate pair (byte 16)",
    ),
    "invalid UTF-8": (b'{"name": "\xff"}', "is not JSON: its text is not UTF-8"),
    "overlong UTF-8": (b'{"name": "\xc0\xaf"}', "is not JSON: its text is not UTF-8"),
    "UTF-8 of a surrogate": (b'{"name": "\xed\xa0\x80"}', "is not JSON: its text is not UTF-8"),
    "invalid UTF-8 in a key": (b'{"\xff": 1}', "is not JSON: its text is not UTF-8"),
    "nothing": (b"", "the body is empty; send a JSON object"),
    "white space": (b" \r\n\t ", "the body is empty; send a JSON object"),
}


@BOTH
@pytest.mark.parametrize(("body", "message"), NO_JSON.values(), ids=NO_JSON)
def test_invalid_json_is_refused_with_its_place(tenant, endpoint, body, message):
    """The byte at fault, where there is one."""
    refused(tenant.admin.post(endpoint, content=body), message)


@BOTH
@pytest.mark.parametrize(
    "number", ["1e400", "-1e400", "9" * 5000, "1" * 400 + ".5"], ids=["1e400", "-1e400", "5000 digits", "long float"]
)
def test_a_number_too_large_for_any_parser_is_refused(tenant, endpoint, number):
    """Some parsers read it as infinity, others refuse it."""
    body = f'{{"agent_id": "x", "tool_name": "t", "name": "a", "parameters": {{"n": {number}}}}}'
    refused(
        tenant.admin.post(endpoint, content=body),
        "contains a number that is too large; numbers are 64-bit floats or shorter integers",
    )


DUPLICATES = {
    "at the top": '{"name": "a", "name": "b"}',
    "with equal values": '{"name": "a", "name": "a"}',
    "with a space before the colon": '{"name" : "a", "name"\t:\n"b"}',
    "in another spelling": '{"name": "a", "n\\u0061me": "b"}',
    "nested": '{"name": "a", "parameters": {"name": 1, "name": 2}}',
    "nested in a list": '{"name": "a", "parameters": {"list": [{}, {"name": 1, "name": 2}]}}',
    "behind colons in texts": '{"name": ":::", "parameters": {"x": "\\":\\":", "name": 1, "name": 2}}',
    "in a part that is ignored": '{"name": "a", "trace": {"name": 1, "name": 2}}',
}


@BOTH
@pytest.mark.parametrize("body", DUPLICATES.values(), ids=DUPLICATES)
def test_a_key_that_is_given_twice_is_refused(tenant, endpoint, body):
    """Parsers disagree on which one counts: one checks the first, another acts on the second."""
    refused(tenant.admin.post(endpoint, content=body), '"name" is given twice in one object')


def test_a_number_that_is_ignored_hides_no_duplicate(tenant):
    """Python's own reader of JSON gives up on a number of more than 4,300 digits."""
    body = '{"trace": {"n": %s, "n": 1}}' % ("9" * 5000)
    refused(tenant.admin.post("/v1/authorize", content=body), '"n" is given twice in one object')


def test_the_same_key_in_different_objects_is_no_duplicate(tenant):
    """Nor is a key in a string."""
    agent = tenant.new_agent()
    parameters = {"name": 1, "inner": {"name": 2}, "list": [{"name": 3}, {"name": 4}], "text": '"name": 1, "name": 2'}
    body = {"agent_id": agent["id"], "tool_name": "t", "parameters": parameters}
    assert tenant.reader.post("/v1/authorize", json=body).status_code == 200


@pytest.mark.parametrize("opening", ["[", '{"a":'], ids=["lists", "objects"])
@pytest.mark.parametrize("levels", [34, 100_000])
@BOTH
def test_deep_nesting_is_refused_before_it_is_read(tenant, endpoint, levels, opening):
    """Whether or not the brackets are closed: a parser would run out of stack."""
    body = opening * min(levels, MAX_BODY_BYTES // len(opening))
    refused(tenant.admin.post(endpoint, content=body), "values are nested more than 32 levels deep")


@pytest.mark.parametrize(("endpoint", "most"), [("/v1/agents", 262_144), ("/v1/authorize", 1_064_960)])
def test_a_body_as_large_as_it_may_be_is_read_and_one_byte_more_is_not(tenant, endpoint, most):
    """413, however it is sent."""
    assert tenant.admin.post(endpoint, content=full_body(most)).status_code == 400
    whole = tenant.admin.post(endpoint, content=full_body(most + 1))
    pieces = tenant.admin.post(endpoint, content=iter([full_body(most + 1)]))
    for answer in (whole, pieces):
        assert answer.status_code == 413
        assert answer.json()["error"] == {
            "code": "PAYLOAD_TOO_LARGE",
            "message": f"The body has more than {most} bytes; no more are read",
            "details": [],
        }


BOMBS = {
    "escaped quotes": b'[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["' + b'\\"' * 130_000,
    "escaped quotes and half an escape": b'[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["' + b'\\"' * 130_000 + b"\\",
    "quotes": b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[" + b'"' * 260_000,
    "brackets": b"[]" * 130_000,
    "brackets apart": b"[" * 33 + b"[],[],[" * 37_000,
    "colons": b'{"a":"' + b":" * 260_000 + b'"}',
    "quotes and spaces": b'{"a' + b'"  ' * 87_000 + b'"}',
    "keys": b'{"name":"a",' + b",".join(b'"%d":0' % i for i in range(20_000)) + b"}",
    "the same key": b'{"a":1,' + b'"a":1,' * 43_000 + b'"a":1}',
}


@BOTH
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_before_the_client_times_out(tenant, endpoint, bomb):
    """Each of these would take a naive parser minutes; here, the client's timeout of ten seconds is the limit."""
    assert len(bomb) <= MAX_BODY_BYTES
    assert tenant.admin.post(endpoint, content=bomb).status_code == 400


def test_a_regex_that_explodes_in_other_engines_is_decided_at_once(tenant):
    """RE2 takes linear time: a backtracking engine would take longer than the universe has existed."""
    agent = tenant.new_agent()
    constraint = {"text": {"regex": "^(a+)+$"}}
    tenant.new_policy(agent["id"], {"type": "parameter_constraint", "tools": ["*"], "parameters": constraint})
    decision = tenant.authorize(agent["id"], parameters={"text": "a" * 60_000 + "!"})
    assert decision["result"] == "denied"


@BOTH
@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/msgpack", "?"],
)
def test_the_body_is_json_whatever_its_content_type_says(tenant, endpoint, content_type):
    """`curl -d` sends another type; it is ignored, so nothing can be smuggled with it."""
    body = {"name": "a", "agent_id": tenant.new_agent()["id"], "tool_name": "t"}
    body = {"name": "a"} if endpoint == "/v1/agents" else body
    answer = tenant.admin.post(endpoint, content=json.dumps(body), headers={"Content-Type": content_type})
    assert answer.status_code in {200, 201}


def test_a_body_without_content_type_is_json_too(tenant):
    """A missing type is ignored, too."""
    request = tenant.admin.build_request("POST", "/v1/agents", content=b'{"name": "a"}')
    assert "Content-Type" not in request.headers
    assert tenant.admin.send(request).status_code == 201


def test_get_and_delete_ignore_a_body(tenant):
    """They read none, even though httpx sends it."""
    assert tenant.admin.request("GET", "/v1/agents", content=b"\xff").status_code == 200
    agent = tenant.new_agent()
    assert tenant.admin.request("DELETE", f"/v1/agents/{agent['id']}", content=b"\xff").status_code == 204


@pytest.mark.parametrize("levels", [1, 32, 33])
def test_33_levels_are_readable_with_the_body_itself(levels):
    """32 of parameters and the body around them."""
    require_readable(b"[" * levels + b"]" * levels)


def test_a_bracket_in_a_key_or_an_escaped_string_is_not_a_level():
    """An apparent end of a string need not be one."""
    require_readable(b'{"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[": "\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}')


def test_decode_json_gives_plain_values():
    """Strings, numbers, lists and objects, unchanged."""
    assert decode_json(b' {"a": [1, 2.5, "\\u00e9", null, true]} ') == {"a": [1, 2.5, "é", None, True]}


def test_keys_are_counted_at_every_level():
    """Also in lists in objects in lists."""
    assert count_keys({"a": [{"b": 1}, [{"c": {"d": 1}}]], "e": "f"}) == 5


def test_a_duplicate_key_is_noticed_by_its_count():
    """The slower parser is used only if there are more colons than decoded keys."""
    require_unique_keys(b'{"a": ":", "b": 1}', 2)
    with pytest.raises(Invalid):
        require_unique_keys(b'{"a": 1, "a": 2}', 1)


def test_a_body_that_is_too_large_is_not_parsed():
    """It is refused for its size alone."""
    with pytest.raises(PayloadTooLarge):
        require_readable(b"\xff" * (MAX_BODY_BYTES + 1))


def test_the_connection_goes_on_after_a_refusal(tenant):
    """A refused body leaves no bytes behind that could begin the next request."""
    with httpx.Client(base_url=tenant.replica.base_url, headers=tenant.admin.headers) as client:
        for body in (b"{", full_body(MAX_BODY_BYTES + 1), b'{"name": "a"}'):
            status = client.post("/v1/agents", content=body).status_code
    assert status == 201


_TEXT = st.text(alphabet='ab:"\\\n{}[]é', max_size=6)
_JSON = st.recursive(
    st.none() | st.integers() | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(_JSON, st.sampled_from([None, 1]), st.booleans())
def test_keys_are_counted_as_written(value, indent, ascii_only):
    """Whatever signs and escapes are in strings and names."""
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    assert keys_written(raw) == count_keys(value)


@given(_JSON, st.sampled_from([None, 1]))
def test_brackets_in_strings_are_not_counted(value, indent):
    """Depth and the number of objects count only the JSON's own brackets, in their order."""

    def brackets(inner):
        if isinstance(inner, dict):
            return "{" + "".join(map(brackets, inner.values())) + "}"
        return "[" + "".join(map(brackets, inner)) + "]" if isinstance(inner, list) else ""

    assert outside_strings(json.dumps(value, indent=indent).encode(), _but_brackets).decode() == brackets(value)


def test_the_first_duplicate_name_is_the_one_reported():
    """Of several duplicates, in the innermost object that has one."""
    for raw, name in ((b'{"a":1,"b":2,"b":3,"a":4}', "b"), (b'{"a":{"c":1,"d":":","c":0},"a":2}', "c")):
        with pytest.raises(Invalid, match=f'"{name}" is given twice in one object'):
            decode_json(raw)
