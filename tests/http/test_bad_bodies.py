"""Invalid bodies: each is refused with a path and a sentence, and nothing is written."""

import gzip
import json

import pytest

from app.model.agents import REFERENCE_RULES
from app.model.rules import TYPES
from app.model.webhooks import ENTRY_CODES

HIDDEN = {"NUL": "\x00", "bidi": "\u202e", "zero-width": "\u200b", "newline": "\n", "unassigned": "\u0378"}
DENY = {"type": "tool_denylist", "tools": ["file.delete"]}
RULE_TYPES = ", ".join(kind.__struct_config__.tag for kind in TYPES)


def nested(levels):
    """A value of this many levels."""
    return {"a": nested(levels - 1)} if levels > 1 else {}


def constraint(**fields):
    return [{"type": "parameter_constraint", "tools": ["*"], "parameters": {"amount": fields}}]


def window(**fields):
    return [{"type": "time_based", "tools": ["*"], "timeWindow": fields}]


def rate(max_calls, window_seconds=60):
    return [
        {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": max_calls, "windowSeconds": window_seconds}}
    ]


@pytest.fixture(scope="module")
def agent(tenant):
    return tenant.new_agent()


CONSTRAINT_FIELDS = (
    "regex, enum, min, max, required, notRegex, notEnum, notKind, above, below, minLength, maxLength, minItems, "
    "maxItems, contains, type, absent, equals, atMost, atLeast, path, host, emailDomain, cidr, "
    "fromRequest, command, approvedBefore, except"
)


def refused(answer, path, message):
    """Require a 400 with this place and message."""
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"] == [{"path": path, "message": message}]
    assert error["message"] == f"{path}: {message}"
    assert answer.headers["Content-Type"] == "application/json"


CALLS = "a whole number from 1 to 1000000"
POLICIES = {
    "name of another type": ({"name": 5}, "$.name", "must be text of 1 to 255 characters, not 5"),
    "empty name": ({"name": ""}, "$.name", "must be text of 1 to 255 characters, not empty text"),
    "name of 256": ({"name": "n" * 256}, "$.name", "must be text of 1 to 255 characters, not text of 256 characters"),
    "null name": ({"name": None}, "$.name", "must be text of 1 to 255 characters, not null"),
    "unknown field": (
        {"nam": "x"},
        "$.nam",
        (
            "is not a field here; there are name, rules, kind, priority, enabled, mode, key, "
            "agent_message, managed_by, keeps_requests, agent_id, group"
        ),
    ),
    "no rules": ({"rules": []}, "$.rules", "must be a list of 1 to 50 items, not an empty list"),
    "51 rules": ({"rules": [DENY] * 51}, "$.rules", "must be a list of 1 to 50 items, not a list of 51 items"),
    "rules no list": ({"rules": DENY}, "$.rules", "must be a list of 1 to 50 items, not an object"),
    "rule no object": ({"rules": ["x"]}, "$.rules[0]", 'must be an object, not "x"'),
    "priority -1": ({"priority": -1}, "$.priority", "must be a whole number from 0 to 1000, not -1"),
    "priority 1001": ({"priority": 1001}, "$.priority", "must be a whole number from 0 to 1000, not 1001"),
    "priority 1.5": ({"priority": 1.5}, "$.priority", "must be a whole number from 0 to 1000, not 1.5"),
    "priority as text": ({"priority": "5"}, "$.priority", 'must be a whole number from 0 to 1000, not "5"'),
    "enabled as text": ({"enabled": "yes"}, "$.enabled", 'must be true or false, not "yes"'),
    "enabled as number": ({"enabled": 1}, "$.enabled", "must be true or false, not 1"),
    "rule without type": (
        {"rules": [{"tools": ["a"]}]},
        "$.rules[0].type",
        f"is missing; it must be one of {RULE_TYPES}",
    ),
    "unknown type": (
        {"rules": [DENY, {"type": "denylist", "tools": ["a"]}]},
        "$.rules[1].type",
        f'must be one of {RULE_TYPES}, not "denylist"',
    ),
    "rule without tools": (
        {"rules": [{"type": "tool_denylist"}]},
        "$.rules[0].tools",
        "is missing; it must be a list of 1 to 1000 items",
    ),
    "no tools": (
        {"rules": [{**DENY, "tools": []}]},
        "$.rules[0].tools",
        "must be a list of 1 to 1000 items, not an empty list",
    ),
    "unknown field in a rule": (
        {"rules": [{**DENY, "effect": "deny"}]},
        "$.rules[0].effect",
        "is not a field here; there are type, tools, when, unless, approval",
    ),
    "unknown field of a later type": (
        {"rules": [{"type": "time_based", "tools": ["*"], "timewindow": {"allowedHours": [1]}}]},
        "$.rules[0].timewindow",
        "is not a field here; there are type, timeWindow, effect, tools, when, unless, approval",
    ),
    "missing field of a later type": (
        {"rules": [{"type": "rate_limit", "tools": ["*"]}]},
        "$.rules[0].rateLimit",
        "is missing; it must be an object with `maxCalls`",
    ),
    "star inside a pattern": (
        {"rules": [{**DENY, "tools": ["ok", "a*b"]}]},
        "$.rules[0].tools[1]",
        '"a*b": `*` stands alone or last, as in `file.*` and `get_*`; nowhere else',
    ),
    "unknown effect": (
        {"rules": [{**rate(1)[0], "effect": "warn"}]},
        "$.rules[0].effect",
        'must be one of deny, escalate, not "warn"',
    ),
    "regex that does not compile": (
        {"rules": constraint(regex="(")},
        "$.rules[0].parameters.amount.regex",
        "is not a regular expression in RE2 syntax: missing ): (",
    ),
    "regex with a look-ahead": (
        {"rules": constraint(regex="(?=a)")},
        "$.rules[0].parameters.amount.regex",
        "is not a regular expression in RE2 syntax: invalid perl operator: (?=",
    ),
    "regex that explodes": (
        {"rules": constraint(regex=r"((\pL{100}){10}){10}")},
        "$.rules[0].parameters.amount.regex",
        "is not a regular expression in RE2 syntax: invalid repetition size: {10}",
    ),
    "regex of 513": (
        {"rules": constraint(regex="a" * 513)},
        "$.rules[0].parameters.amount.regex",
        "must be text of up to 512 characters, not text of 513 characters",
    ),
    "constraint without anything": (
        {"rules": constraint()},
        "$.rules[0].parameters.amount",
        "needs at least one field, such as regex, enum, min, max or required",
    ),
    "min above max": (
        {"rules": constraint(min=5, max=1)},
        "$.rules[0].parameters.amount",
        "`min` 5 is above `max` 1; nothing can satisfy it",
    ),
    "min as text": ({"rules": constraint(min="5")}, "$.rules[0].parameters.amount.min", 'must be a number, not "5"'),
    "empty enum": (
        {"rules": constraint(enum=[])},
        "$.rules[0].parameters.amount.enum",
        "must be a list of 1 to 100 items, not an empty list",
    ),
    "object in an enum": (
        {"rules": constraint(enum=[1, {}])},
        "$.rules[0].parameters.amount.enum[1]",
        "must be text, a number, true or false or null, not an empty object",
    ),
    "unknown field in a constraint": (
        {"rules": constraint(maximum=5)},
        "$.rules[0].parameters.amount.maximum",
        f"is not a field here; there are {CONSTRAINT_FIELDS}",
    ),
    "parameter without a name": (
        {"rules": [{"type": "parameter_constraint", "tools": ["*"], "parameters": {"": {"min": 1}}}]},
        "$.rules[0].parameters",
        "has a name in it that is not text of 1 to 255 characters",
    ),
    "maxCalls 0": ({"rules": rate(0)}, "$.rules[0].rateLimit.maxCalls", f"must be {CALLS}, not 0"),
    "maxCalls 1.5": ({"rules": rate(1.5)}, "$.rules[0].rateLimit.maxCalls", f"must be {CALLS}, not 1.5"),
    "maxCalls -1": ({"rules": rate(-1)}, "$.rules[0].rateLimit.maxCalls", f"must be {CALLS}, not -1"),
    "maxCalls 10^12": ({"rules": rate(10**12)}, "$.rules[0].rateLimit.maxCalls", f"must be {CALLS}, not 1000000000000"),
    "maxCalls true": ({"rules": rate(True)}, "$.rules[0].rateLimit.maxCalls", f"must be {CALLS}, not true"),
    "window 0": (
        {"rules": rate(1, 0)},
        "$.rules[0].rateLimit.windowSeconds",
        'must be a whole number from 1 to 2678400 or "forever", not 0',
    ),
    "unknown zone": (
        {"rules": window(allowedHours=[1], timezone="Mars/Olympus")},
        "$.rules[0].timeWindow.timezone",
        '"Mars/Olympus" is not an IANA time zone such as Europe/Paris',
    ),
    "zone that is a path": (
        {"rules": window(allowedHours=[1], timezone="../../etc/passwd")},
        "$.rules[0].timeWindow.timezone",
        '"../../etc/passwd" is not an IANA time zone such as Europe/Paris',
    ),
    "hour 24": (
        {"rules": window(allowedHours=[9, 24])},
        "$.rules[0].timeWindow.allowedHours[1]",
        "must be a whole number from 0 to 23, not 24",
    ),
    "day 8": (
        {"rules": window(allowedDays=[8])},
        "$.rules[0].timeWindow.allowedDays[0]",
        "must be a whole number from 0 to 7, not 8",
    ),
    "no hours": (
        {"rules": window(allowedHours=[])},
        "$.rules[0].timeWindow.allowedHours",
        "must be a list of 1 to 24 items, not an empty list",
    ),
    "window of nothing": (
        {"rules": window(timezone="UTC")},
        "$.rules[0].timeWindow.allowedHours",
        "give allowedHours, allowedDays, windows or except",
    ),
}


@pytest.mark.parametrize(("fields", "path", "message"), POLICIES.values(), ids=POLICIES)
def test_a_wrong_policy_is_refused_and_not_written(tenant, agent, fields, path, message):
    """POST and PATCH give the same errors, and neither writes anything."""
    body = {"agent_id": agent["id"], "name": "refused", "rules": [DENY], **fields}
    before = tenant.reader.get("/v1/policies", params={"agent_id": agent["id"]}).json()

    refused(tenant.admin.post("/v1/policies", json=body), path, message)

    assert tenant.reader.get("/v1/policies", params={"agent_id": agent["id"]}).json() == before


@pytest.mark.parametrize(("fields", "path", "message"), POLICIES.values(), ids=POLICIES)
def test_a_wrong_change_of_a_policy_leaves_it_as_it_was(tenant, agent, fields, path, message):
    """The fields of PATCH are checked like those of POST; no change is made in part."""
    policy = tenant.new_policy(agent["id"])
    there_are = message.removesuffix(", agent_id, group")

    refused(tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"priority": 7, **fields}), path, there_are)

    assert tenant.reader.get(f"/v1/policies/{policy['id']}").json() == policy


OTHERS = {
    "a share of nothing": (
        "/v1/webhooks",
        {"url": "https://x.example", "events": ["decision.denied"], "only": {"sample": 0}},
        "$.only.sample",
        "must be a number above 0 and at most 1, not 0",
    ),
    "events of no code": (
        "/v1/webhooks",
        {"url": "https://x.example", "events": ["decision.denied"], "only": {"codes": ["denied"]}},
        "$.only.codes[0]",
        f"must be one of {', '.join(ENTRY_CODES)}",
    ),
    "events of a pattern in the middle": (
        "/v1/webhooks",
        {"url": "https://x.example", "events": ["decision.denied"], "only": {"tools": ["a*b"]}},
        "$.only.tools[0]",
        '"a*b": `*` stands alone or last, as in `file.*` and `get_*`; nowhere else',
    ),
    "key without name": (
        "/v1/api-keys",
        {"scopes": ["read"]},
        "$.name",
        "is missing; it must be text of 1 to 255 characters",
    ),
    "key without scopes": ("/v1/api-keys", {"name": "k"}, "$.scopes", "is missing; it must be a list of 1 to 10 items"),
    "key of no scope": (
        "/v1/api-keys",
        {"name": "k", "scopes": []},
        "$.scopes",
        "must be a list of 1 to 10 items, not an empty list",
    ),
    "key of an unknown scope": (
        "/v1/api-keys",
        {"name": "k", "scopes": ["read", "write"]},
        "$.scopes[1]",
        'must be one of admin, read, view, authorize, audit, approve, policies, request, record, not "write"',
    ),
    "key that expires at no time": (
        "/v1/api-keys",
        {"name": "k", "scopes": ["read"], "expiresAt": ""},
        "$.expiresAt",
        "is not an ISO 8601 time from 1970 to 9999 such as 2026-11-20T12:34:56Z",
    ),
    "key that expires some day": (
        "/v1/api-keys",
        {"name": "k", "scopes": ["read"], "expiresAt": "tomorrow"},
        "$.expiresAt",
        "is not an ISO 8601 time from 1970 to 9999 such as 2026-11-20T12:34:56Z",
    ),
    "key with both spellings": (
        "/v1/api-keys",
        {"name": "k", "scopes": ["read"], "expiresAt": None, "expires_at": "2030-01-01T00:00:00Z"},
        "$.expiresAt",
        "expiresAt and expires_at are the same field but differ; give one of them",
    ),
    "agent without name": ("/v1/agents", {}, "$.name", "is missing; it must be text of 1 to 255 characters"),
    "agent with a status": (
        "/v1/agents",
        {"name": "a", "status": "active"},
        "$.status",
        "is not a field here; there are name, description, groups, alias, type",
    ),
    "agent with a long description": (
        "/v1/agents",
        {"name": "a", "description": "d" * 2001},
        "$.description",
        "must be text of up to 2000 characters or null, not text of 2001 characters",
    ),
    "agent that is a list": ("/v1/agents", [], "$", "must be an object with `name`, not an empty list"),
    "agent that is null": ("/v1/agents", None, "$", "must be an object with `name`, not null"),
    "agent that is text": ("/v1/agents", "name", "$", 'must be an object with `name`, not "name"'),
    "policy without agent": (
        "/v1/policies",
        {"name": "p", "rules": [DENY]},
        "$.agent_id",
        "is missing: a grant names agent_id or group; a guardrail with neither governs the whole workspace",
    ),
    "policy of a malformed agent": (
        "/v1/policies",
        {"agent_id": "4 2", "name": "p", "rules": [DENY]},
        "$.agent_id",
        REFERENCE_RULES,
    ),
    "policy of two agents": (
        "/v1/policies",
        {"agent_id": "0" * 8, "agentId": "1" * 8, "name": "p", "rules": [DENY]},
        "$.agent_id",
        "agent_id and agentId are the same field but differ; give one of them",
    ),
    "call without agent": ("/v1/authorize", {"tool_name": "t"}, "$.agent_id", "is missing; agentId is accepted, too"),
    "call of a malformed agent": (
        "/v1/authorize",
        {"agent_id": "4 2", "tool_name": "t"},
        "$.agent_id",
        REFERENCE_RULES,
    ),
    "call of an agent of another type": (
        "/v1/authorize",
        {"agentId": 42, "tool_name": "t"},
        "$.agentId",
        "must be text, not 42",
    ),
    "call without tool": (
        "/v1/authorize",
        {"agent_id": "0" * 8},
        "$.tool_name",
        "is missing; toolName is accepted, too",
    ),
    "call of two tools": (
        "/v1/authorize",
        {"agent_id": "0" * 8, "tool_name": "a", "toolName": "b"},
        "$.tool_name",
        "tool_name and toolName are the same field but differ; give one of them",
    ),
    "call of a tool of 256": (
        "/v1/authorize",
        {"agent_id": "0" * 8, "toolName": "t" * 256},
        "$.toolName",
        "must be text of 1 to 255 characters, not text of 256 characters",
    ),
    "call with an empty action": (
        "/v1/authorize",
        {"agent_id": "0" * 8, "tool_name": "t", "action": ""},
        "$.action",
        "must be text of 1 to 255 characters, not empty text",
    ),
    "call with a list of parameters": (
        "/v1/authorize",
        {"agent_id": "0" * 8, "tool_name": "t", "parameters": [1]},
        "$.parameters",
        "must be an object, not a list of 1 item",
    ),
}


@pytest.mark.parametrize(("endpoint", "body", "path", "message"), OTHERS.values(), ids=OTHERS)
def test_a_wrong_body_is_refused_with_its_place(tenant, endpoint, body, path, message):
    """Keys, agents, policies and calls alike."""
    refused(tenant.admin.post(endpoint, content=json.dumps(body)), path, message)


@pytest.mark.parametrize("character", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize(
    ("endpoint", "field", "body"),
    [
        ("/v1/agents", "name", {}),
        ("/v1/api-keys", "name", {"scopes": ["read"]}),
        ("/v1/policies", "name", {"agent_id": "0" * 8, "rules": [DENY]}),
        ("/v1/authorize", "tool_name", {"agent_id": "0" * 8}),
        ("/v1/authorize", "action", {"agent_id": "0" * 8, "tool_name": "t"}),
    ],
)
def test_a_name_may_not_contain_hidden_characters(tenant, endpoint, field, body, character):
    """Rejected, not stripped: two systems would read it differently."""
    answer = tenant.admin.post(endpoint, json={**body, field: f"ab{character}c"})
    message = f"has the invisible character U+{ord(character):04X} at position 2; remove it"
    refused(answer, f"$.{field}", message)


def test_a_hidden_character_in_a_tool_pattern_is_named_by_its_code(tenant, agent):
    """The error itself contains no hidden characters."""
    body = {"agent_id": agent["id"], "name": "p", "rules": [{**DENY, "tools": ["a", "b\u202ec"]}]}
    answer = tenant.admin.post("/v1/policies", json=body)
    refused(answer, "$.rules[0].tools[1]", "has the invisible character U+202E at position 1; remove it")
    assert "\u202e" not in answer.text


def test_a_parameter_name_with_a_hidden_character_is_shown_by_its_code(tenant, agent):
    """The path names the parameter so that a person can read it."""
    rules = [{"type": "parameter_constraint", "tools": ["*"], "parameters": {"a\u202eb": {"min": 1}}}]
    answer = tenant.admin.post("/v1/policies", json={"agent_id": agent["id"], "name": "p", "rules": rules})
    path = "$.rules[0].parameters.a\\u{202e}b"
    refused(answer, path, "has the invisible character U+202E at position 1; remove it")


def test_the_failing_entry_of_an_object_is_named(tenant, agent):
    """Even with valid names before and after it."""
    parameters = {"first": {"min": 1}, "second": {"min": "1"}, "third": {"max": "1"}}
    rules = [DENY, {"type": "parameter_constraint", "tools": ["*"], "parameters": parameters}]
    answer = tenant.admin.post("/v1/policies", json={"agent_id": agent["id"], "name": "p", "rules": rules})
    refused(answer, "$.rules[1].parameters.second.min", 'must be a number, not "1"')


def test_an_agent_of_a_policy_cannot_be_changed(tenant, agent):
    """PATCH has no field agent_id."""
    policy = tenant.new_policy(agent["id"])
    answer = tenant.admin.patch(f"/v1/policies/{policy['id']}", json={"agent_id": agent["id"]})
    refused(
        answer,
        "$.agent_id",
        "is not a field here; there are name, rules, kind, priority, enabled, mode, key, agent_message, managed_by, "
        "keeps_requests",
    )


def test_a_revoked_agent_stays_revoked(tenant):
    """`revoked` is final: the refusal says what to do instead."""
    agent = tenant.new_agent()
    path = f"/v1/agents/{agent['id']}"
    assert tenant.admin.patch(path, json={"status": "revoked"}).status_code == 200
    answer = tenant.admin.patch(path, json={"status": "active", "name": "risen"})
    message = "A revoked agent stays revoked; create another agent"
    assert answer.status_code == 409
    assert answer.json() == {"error": {"code": "AGENT_REVOKED", "message": message, "details": []}}
    assert tenant.reader.get(path).json()["name"] == "an agent"


@pytest.mark.parametrize("spelling", ["agent_id", "agentId"])
def test_parameters_are_at_most_32_levels_deep(tenant, agent, spelling):
    """32 are accepted and 33 refused, not counting the body around them."""
    body = {spelling: agent["id"], "tool_name": "t", "parameters": nested(32)}
    assert tenant.reader.post("/v1/authorize", json=body).status_code == 200
    answer = tenant.reader.post("/v1/authorize", json={**body, "parameters": nested(33)})
    refused(answer, "$", "values are nested more than 32 levels deep")


def test_brackets_in_strings_do_not_count_as_levels(tenant, agent):
    """Only real nesting counts."""
    body = {"agent_id": agent["id"], "tool_name": "t", "parameters": {"text": '[{"' * 100, "list": [[], []] * 50}}
    assert tenant.reader.post("/v1/authorize", json=body).status_code == 200


def test_parameters_of_which_the_log_would_keep_more_than_64_kib_are_refused(tenant, agent):
    """The log does not shorten them further, so their size is limited."""
    body = {"agent_id": agent["id"], "tool_name": "t", "parameters": {"texts": ["x" * 2045] * 31 + ["x" * 2034]}}
    assert tenant.reader.post("/v1/authorize", json=body).status_code == 200
    body["parameters"]["texts"][0] += "x"
    answer = tenant.reader.post("/v1/authorize", json=body)
    message = "have 65537 bytes as JSON even with long texts shortened; at most 65536 are kept"
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert answer.json()["error"]["details"] == [{"path": "$.parameters", "message": message}]


def test_a_whole_number_may_be_written_as_a_float(tenant, agent):
    """JSON has one kind of number, and some writers end all of theirs in .0."""
    policy = tenant.new_policy(agent["id"], *rate(5.0, 60.0), *window(allowedHours=[9.0]), priority=7.0)
    assert (policy["priority"], policy["rules"][0]["rateLimit"]["maxCalls"]) == (7, 5)
    body = {"agent_id": agent["id"], "name": "p", "rules": [DENY], "priority": 1e300}
    refused(
        tenant.admin.post("/v1/policies", json=body), "$.priority", "must be a whole number from 0 to 1000, not 1e+300"
    )


def test_unknown_fields_of_a_call_are_ignored(tenant, agent):
    """A PEP can send what it has."""
    body = {"agent_id": agent["id"], "tool_name": "t", "trace": {"id": 7}, "parameterz": None}
    assert tenant.reader.post("/v1/authorize", json=body).status_code == 200


def test_both_spellings_may_be_given_if_they_agree(tenant, agent):
    """Equal values are not ambiguous."""
    both = {"agent_id": agent["id"], "agentId": agent["id"]}
    policy = tenant.admin.post("/v1/policies", json={**both, "name": "p", "rules": [DENY]})
    call = tenant.reader.post("/v1/authorize", json={**both, "tool_name": "t", "toolName": "t"})
    assert (policy.status_code, call.status_code) == (201, 200)


@pytest.mark.parametrize("path", ["/v1/agents", "/v1/authorize", "/v1/authorize/batch", "/v1/explain", "/v1/catalog"])
def test_an_encoded_body_is_415_with_what_is_accepted(tenant, path):
    """RFC 9110, sections 8.4 and 12.5.3: whether or not the body is what the header says."""
    method, body = "PUT" if path == "/v1/catalog" else "POST", json.dumps({"name": "an agent"}).encode()
    for encoding, sent in (("gzip", gzip.compress(body)), ("GZIP", body), ("identity, br", body)):
        answer = tenant.admin.request(method, path, content=sent, headers={"Content-Encoding": encoding})
        assert (answer.status_code, answer.headers["Accept-Encoding"]) == (415, "identity")
        assert answer.json()["error"] == {
            "code": "UNSUPPORTED_ENCODING",
            "message": f"Bodies are not decoded: send this one without `Content-Encoding: {encoding}`, as it is",
            "details": [],
        }
    as_it_is = tenant.admin.request(method, path, content=body, headers={"Content-Encoding": "Identity"})
    assert as_it_is.status_code in {201, 400}
