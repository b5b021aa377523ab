"""Bodies made to block the event loop are refused with a sentence or read normally; bench/stalls.py times them."""

import json

import pytest

from app.errors import Invalid, PayloadTooLarge
from app.http.api.authorize import read_call
from app.http.api.policies import CreatePolicy
from app.http.bodies import MAX_LARGE_EXPONENTS, MAX_NESTED, decode_body, decode_json
from app.http.tool_calls import MAX_NAMES, Reading
from app.model.rules import MANY_PATTERNS
from app.redaction.recording import MAX_RECORDED_BYTES
from app.redaction.redactor import Redactor
from app.settings import Settings
from bench.harness.hostile import AGENT, JSON_BOMBS, LARGE_CALLS, LARGEST, POLICY_BOMBS, REFUSED

ID = "00000000-0000-7000-8000-000000000000"
DEEP = "$: values are nested more than 32 levels deep"
NESTED = f"$: contains more than {MAX_NESTED} objects and lists"
NAMES = f"$: contains more than {MAX_NAMES} names"
LONG = f"at most {MAX_RECORDED_BYTES} are kept"
EXPONENTS = f"$: contains more than {MAX_LARGE_EXPONENTS} numbers with exponents of three digits"
REFUSALS = {
    "open brackets": DEEP,
    "open objects": DEEP,
    "brackets in pairs": DEEP,
    "33 levels, then flat": DEEP,
    "empty lists": NESTED,
    "empty objects": NESTED,
    "32 levels, side by side": NESTED,
    "many secret names": NESTED,
    "an unknown field, large": NESTED,
    "a text that does not end": "$: is not JSON: it ends too early, or a \\u escape lacks its other half",
    "half a surrogate": "$: is not JSON: it ends too early, or a \\u escape lacks its other half",
    "what is no UTF-8": "$: is not JSON: its text is not UTF-8",
    "many names": NAMES,
    "names of many words": LONG,
    "one name of many words": LONG,
    "floats": LONG,
    "texts": LONG,
    "64 KiB of secrets": LONG,
    "a name given twice at the end": NAMES,
    "64 KiB, and a name given twice at the end": '$: "n0" is given twice in one object',
    "a long number": "$: contains a number that is too large",
    "exponents": EXPONENTS,
    "an exponent too large": EXPONENTS,
}


@pytest.fixture(scope="module")
def redactor():
    return Redactor(Settings().redact.split(","))


@pytest.mark.parametrize("name", REFUSALS)
def test_a_bomb_is_refused_for_what_is_wrong_with_it(name, redactor):
    """With one place and one sentence, and without quoting it at length."""
    with pytest.raises(PayloadTooLarge if REFUSALS[name] is LONG else Invalid) as refused:
        read_call(JSON_BOMBS[name], Reading(redactor, "w"))
    assert REFUSALS[name] in refused.value.message
    assert len(refused.value.message) < 200


@pytest.mark.parametrize("name", sorted(JSON_BOMBS.keys() - REFUSALS.keys()))
def test_a_large_but_valid_body_is_read(name, redactor):
    """Long strings, white space, 64 KiB of lists or names: the bounds leave room for real uses."""
    request = read_call(JSON_BOMBS[name], Reading(redactor, "w"))
    assert len(request.recorded_parameters) <= MAX_RECORDED_BYTES


@pytest.mark.parametrize("name", JSON_BOMBS)
def test_no_bomb_is_accepted_as_a_policy(name):
    """Whatever it contains, the answer is one of our errors."""
    with pytest.raises(Invalid):
        decode_body(JSON_BOMBS[name], CreatePolicy)


LARGE_READ = {
    *("a text", "a text of escapes", "a text of escaped quotes", "a text of backslashes", "Chinese", "white space"),
    "a text of numbers and brackets",
}


@pytest.mark.parametrize("name", LARGE_CALLS)
def test_a_megabyte_is_read_if_the_log_can_keep_it(name, redactor):
    """Whatever its strings contain; a body that is large in any other way is refused."""
    assert LARGEST - 4096 <= len(LARGE_CALLS[name]) <= LARGEST
    if name in LARGE_READ:
        request = read_call(LARGE_CALLS[name], Reading(redactor, "w"))
        assert len(request.recorded_parameters) <= MAX_RECORDED_BYTES
    else:
        with pytest.raises((Invalid, PayloadTooLarge)):
            read_call(LARGE_CALLS[name], Reading(redactor, "w"))


@pytest.mark.parametrize("over", [False, True])
def test_objects_and_lists_are_counted_outside_strings(over):
    """Exactly up to the bound, not counting those in strings and names."""
    inner = [[] for _ in range(MAX_NESTED - 2 + over)]
    raw = json.dumps({"[{": '[[[{"\\', "a": inner}).encode()
    if over:
        with pytest.raises(Invalid, match="objects and lists"):
            decode_json(raw)
    else:
        assert decode_json(raw)["a"] == inner


@pytest.mark.parametrize("over", [False, True])
def test_large_exponents_are_counted_outside_strings(over):
    """1e300 and 1E-300 count; 1e30 and lookalikes in strings do not."""
    numbers = ",".join(["1e300", "1.5E-300"] * (MAX_LARGE_EXPONENTS // 2) + ["1e30"] * 1000 + ["1e300"] * over)
    raw = f'{{"a":[{numbers}],"b":"{"1e300," * 1000}"}}'.encode()
    if over:
        with pytest.raises(Invalid, match="exponents of three digits"):
            decode_json(raw)
    else:
        assert len(decode_json(raw)["a"]) == MAX_LARGE_EXPONENTS + 1000


@pytest.mark.parametrize("over", [False, True])
def test_names_are_counted_outside_strings(over, redactor):
    """More names cannot fit into the parameters, whatever their values; strings full of colons can."""
    names = MAX_NAMES - 5 + over  # beside agent_id, tool_name, parameters, a and x
    body = {"agent_id": ID, "tool_name": "t", "parameters": {"a": '":' * 9_000}, "x": dict.fromkeys(range(names), 0)}
    raw = json.dumps(body).encode()
    if over:
        with pytest.raises(Invalid, match=f"more than {MAX_NAMES} names"):
            read_call(raw, Reading(redactor, "w"))
    else:
        assert read_call(raw, Reading(redactor, "w")).parameters == {"a": '":' * 9_000}


def test_a_secret_may_be_as_long_as_any_string(redactor):
    """It is judged, but not stored."""
    body = {"agent_id": ID, "tool_name": "t", "parameters": {"password": "x" * (MAX_RECORDED_BYTES + 1)}}
    assert (
        read_call(json.dumps(body).encode(), Reading(redactor, "w")).recorded_parameters == b'{"password":"[REDACTED]"}'
    )


@pytest.mark.parametrize("spaced", ['{"a":1,"b":{"c":2}}', '{"a" : 1, "b" : {"c" : 2}}', '{"a"\n:1,"b"\t:{"c"  :2}}'])
def test_duplicate_keys_are_found_however_they_are_spaced(spaced):
    """White space before a colon is allowed, and a repeated key is found there too."""
    assert decode_json(spaced.encode()) == {"a": 1, "b": {"c": 2}}
    with pytest.raises(Invalid, match='"b" is given twice'):
        decode_json(spaced.replace('"c"', '"b":0,"b"').encode())


@pytest.fixture(scope="module")
def agent(tenant):
    return tenant.new_agent()["id"]


@pytest.mark.parametrize("pattern", REFUSED)
@pytest.mark.parametrize("beside", [0, MANY_PATTERNS], ids=["alone", "among many"])
def test_a_pattern_that_is_refused_is_400_at_its_place(tenant, agent, pattern, beside):
    """The same sentence whether it was compiled on the loop or, with many others, in a thread."""
    named = {f"p{number}": {"regex": f"^{number}$"} for number in range(beside)} | {"last": {"regex": pattern}}
    rules = [{"type": "parameter_constraint", "tools": ["*"], "parameters": named}]
    answer = tenant.admin.post("/v1/policies", json={"agent_id": agent, "name": "p", "rules": rules})

    assert answer.status_code == 400
    (detail,) = answer.json()["error"]["details"]
    assert detail["path"] == "$.rules[0].parameters.last.regex"
    assert "is not a regular expression in RE2 syntax" in detail["message"]


def test_a_policy_of_many_patterns_is_made_read_and_decides(tenant, agent):
    """It is compiled in a thread each time, without a visible difference."""
    named = {f"p{number}": {"regex": f"^{number}$", "required": False} for number in range(3 * MANY_PATTERNS)}
    rules = [{"type": "parameter_constraint", "tools": ["many.*"], "parameters": named}]
    made = tenant.new_policy(agent, *rules)

    assert tenant.reader.get(f"/v1/policies/{made['id']}").json() == made
    assert made in tenant.reader.get("/v1/policies", params={"agent_id": agent}).json()
    assert tenant.admin.patch(f"/v1/policies/{made['id']}", json={"rules": rules}).json()["rules"] == rules
    assert tenant.authorize(agent, "many.a", parameters={"p7": "7"})["allowed"] is True
    assert tenant.authorize(agent, "many.a", parameters={"p7": "8"})["allowed"] is False


@pytest.mark.parametrize(
    "name", ["unknown fields", "51 rules", "tools that are none", "patterns, each larger than allowed"]
)
def test_a_large_policy_that_is_wrong_is_refused(tenant, agent, name):
    """At the first wrong place."""
    body = POLICY_BOMBS[name].replace(AGENT.encode(), agent.encode())
    answer = tenant.admin.post("/v1/policies", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"][0]["path"].startswith("$.rules")
