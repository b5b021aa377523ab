"""Every policy that the API accepts can be evaluated, and everything that judges calls agrees about it."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from profiles import examples

from app.policy_tools.files.test_file import read_test_file
from app.policy_tools.files.test_run import run_tests

HOUR = 3600
PROFILE = settings(
    max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
TOOLS = ["pay", "mail.send", "mail.read", "get_page", "pay *"]
tools = st.lists(st.sampled_from(["*", "*", "pay", "mail.*", "get_*", "mail.send"]), min_size=1, max_size=2)
names = st.sampled_from(
    ["x", "a", "o.x", "o.p", "l[*]", "l[*].x", "a.b.c", "l[*][*]", "é ü", "o..x", "x.", "L", "path", "password", "[x"]
)
NUMBERS = [0, 1, 1.0, -0.0, 0.1, -1, 2**53, 2**53 + 1, 10**40, -(10**40), 1e308, 5e-324]
TEXTS = [
    *("", "a", "A", "é", "e\u0301", "\ud7ff", "\U0001f600", "true", "1", "0x7f.1", "127.1", "10.0.0.1", "10.0.0.0/8"),
    *(
        "/repo/x",
        "/repo/../x",
        "/repo/..%2fx",
        "corp.com",
        "https://corp.com./",
        "https://CORP.com:443/x",
        "//corp.com",
    ),
    *("a@corp.com", '"a b"@corp.com', "a@b@corp.com", "::ffff:10.0.0.1", "fe80::1%eth0", "*.10.0.0.1", "10.0.0.0/010"),
    *("2026-11-20", "2026-11-20T12:00:00Z", "2026-13-40", "NaN", "[::1]", "::1", "/", "/repo/", "*.corp.com", "*."),
    *("xn--bcher-kva.example", "xn--a", "bücher.example", "corp.com:0", "corp\u3002com", "co\u00adrp.com", "::/0"),
]
PATTERNS = ["", "^a$", "(?i)CORP", r"\d+", "[é-ü]", "(a|b)*c", r"\pL", "(?m)^$", "[", "(?=a)", r"(a)\1", "a{1000}"]
scalars = st.sampled_from([*NUMBERS, *TEXTS, True, False, None])
MEANT = {
    "path": ["/", "/repo", "/repo/", "/a/../b", "repo", "/%2e"],
    "host": ["corp.com", "*.corp.com", "10.0.0.1", "[::1]", "bücher.example", "*.10.0.0.1", "https://corp.com"],
    "emailDomain": ["corp.com", "*.corp.com", "10.0.0.1", "*.10.0.0.1", "bücher.example", "localhost", "a@corp.com"],
    "cidr": ["10.0.0.0/8", "10.0.0.1", "::/0", "fe80::/10", "10.0.0.0/010", "10.0.0.1/8", "::ffff:10.0.0.0/104"],
}
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "p", "b", "b.c", ""]), inner, max_size=2)
    ),
    max_leaves=5,
)
calls_values = st.dictionaries(
    st.sampled_from(["x", "x.", "a", "o", "o.x", "l", "L", "path", "é ü", "password", "[x", "session", "request"]),
    values,
    max_size=4,
)
operands = st.sampled_from([{"parameter": "x"}, {"parameter": "o.x"}, {"context": "x"}, {"context": "session"}])
FIELDS = {
    "min": st.sampled_from(NUMBERS),
    "below": st.sampled_from(NUMBERS),
    "required": st.booleans(),
    "maxLength": st.integers(0, 5),
    "minItems": st.integers(0, 2),
    "contains": scalars,
    "equals": operands,
    "atMost": operands,
    "regex": st.sampled_from(PATTERNS),
    "notRegex": st.sampled_from(PATTERNS),
    "enum": st.lists(scalars, min_size=1, max_size=3),
    "notEnum": st.lists(scalars, min_size=1, max_size=3),
    "notKind": st.sampled_from([["card"], ["secret", "iban"]]),
    "type": st.sampled_from(["string", "integer", ["null", "array"]]),
    "absent": st.just(True),
    "fromRequest": st.sampled_from(["exact", "text"]),
    "command": st.sampled_from(
        [
            {"root": "/repo", "allow": [{"run": "ls", "flags": "usual", "paths": "inside"}], "unread": "escalate"},
            {"root": {"context": "x"}, "allow": [{"run": "git", "first": ["log", "show"]}], "deny": [{"run": "rm"}]},
            {"deny": [{"run": "git", "first": "push"}]},
            {"root": "/", "allow": [{"run": "ls"}]},
            {"root": "/repo", "allow": [{"run": "sudo"}]},
        ]
    ),
    **{
        name: st.lists(st.sampled_from(some), min_size=1, max_size=2).map(
            lambda drawn, of="under" if name == "path" else "in": {of: drawn}
        )
        for name, some in MEANT.items()
    },
}
FIELDS["host"] |= st.sampled_from(
    [{"networks": ["10.0.0.0/8", "private"]}, {"in": ["corp.com"], "notNetworks": ["private"]}, {"networks": ["::/0x"]}]
)
FIELDS["path"] |= st.sampled_from(
    [{"under": [{"context": "x"}], "notAmong": ["hidden"]}, {"under": ["/Repo"], "ignoreCase": True}]
)
constraints = st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=2, unique=True).flatmap(
    lambda chosen: st.fixed_dictionaries({name: FIELDS[name] for name in chosen})
)
anywhere = st.fixed_dictionaries(
    {"notRegex": st.sampled_from(PATTERNS)},
    optional={
        "except": st.just(["x"]),
        "regex": st.sampled_from(PATTERNS),
        "notKind": st.just(["card", "iban", "secret"]),
    },
)
named = st.dictionaries(names, constraints, min_size=1, max_size=2)
named |= st.tuples(named, anywhere).map(lambda drawn: drawn[0] | {"**": drawn[1]})
circumstances = st.fixed_dictionaries(
    {"parameters": named}, optional={"context": named, "ifMissing": st.sampled_from(["skip", "apply"])}
)
per = st.lists(
    st.sampled_from(["tool", "key", "agent", "parameters.x", "parameters.o.x", "context.session", "context.a.b"]),
    min_size=1,
    max_size=2,
    unique=True,
)
schemas = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", ["object", "null"]]),
        "properties": st.dictionaries(
            st.sampled_from(["x", "l", "o"]),
            st.sampled_from(
                [
                    True,
                    False,
                    {"type": "number", "multipleOf": 0.1},
                    {"pattern": "^a"},
                    {"enum": [1, None, "é"]},
                    {"items": {"minimum": 0}, "uniqueItems": True},
                    {"$ref": "#/$defs/n"},
                    {"not": {"const": 1.0}},
                ]
            ),
        ),
        "$defs": st.just({"n": {"anyOf": [{"type": "string"}, {"exclusiveMaximum": 3}]}}),
        "required": st.just(["x"]),
        "additionalProperties": st.sampled_from([False, {"type": "string"}]),
        "propertyNames": st.just({"maxLength": 3}),
        "patternProperties": st.just({"[": {}}) | st.just({"^x": {"type": "string"}}),
    },
)
within = st.sampled_from([{}, {"withinSeconds": HOUR}])


DRAWN = set()
"""The types of rules that are drawn."""


def rule(kind, **fields):
    DRAWN.add(kind)
    made = {"type": st.just(kind), "tools": tools, **fields}
    lists = ("tool_grant", "tool_allowlist", "tool_denylist", "approval_required")
    effect = {} if kind in (*lists, "denial_breaker") else {"effect"}
    optional = dict.fromkeys(effect, st.sampled_from(["deny", "escalate"]))
    if kind != "denial_breaker":
        optional |= {"when": circumstances} if len(kind) % 2 else {"unless": circumstances}
    return st.fixed_dictionaries(made, optional=optional)


rules = st.one_of(
    rule("tool_grant"),
    rule("tool_allowlist"),
    rule("tool_denylist"),
    rule("approval_required"),
    rule("parameter_constraint", parameters=named),
    rule("parameter_constraint", context=named),
    rule("parameter_schema", schema=schemas),
    rule(
        "rate_limit",
        rateLimit=st.fixed_dictionaries(
            {"maxCalls": st.integers(1, 2), "windowSeconds": st.just(HOUR) | st.just("forever")},
            optional={"per": per, "refundable": st.booleans()},
        ),
    ),
    rule(
        "rate_limit",
        rateLimit=st.fixed_dictionaries(
            {"maxCalls": st.integers(1, 2), "calendar": st.just("month")},
            optional={"per": per, "refundable": st.booleans(), "timezone": st.sampled_from(["Asia/Kathmandu", "Mars"])},
        ),
    ),
    rule(
        "budget",
        budget=st.fixed_dictionaries(
            {"max": st.sampled_from([0, 1, 2.5, 10**9]), "windowSeconds": st.just(HOUR)},
            optional={"per": per, "parameter": names, "context": names},
        ),
    ),
    rule("sequence", sequence=st.tuples(tools, within).map(lambda drawn: {"forbiddenAfter": drawn[0], **drawn[1]})),
    rule("sequence", sequence=tools.map(lambda drawn: {"requiresBefore": drawn})),
    rule("pinned_request"),
    rule(
        "time_based",
        timeWindow=st.sampled_from(
            [
                {"allowedDays": [0, 1, 2, 3, 4, 5, 6], "timezone": "Asia/Kathmandu"},
                {"windows": [{"from": "00:00", "to": "24:00"}], "except": ["2020-02-29/2020-03-01"]},
                {"except": ["2020-01-01"], "timezone": "Pacific/Apia"},
                {"windows": [{"from": "09:00", "to": "09:00"}]},
                {"except": ["2021-02-29"]},
            ]
        ),
    ),
    rule(
        "denial_breaker",
        denialBreaker=st.sampled_from([{"action": "suspend"}, {"action": "escalate"}, {"action": "deny"}]).map(
            lambda acts: {"maxDenials": 2, "windowSeconds": HOUR} | acts
        )
        | per.map(lambda of: {"maxDenials": 2, "windowSeconds": HOUR, "action": "deny", "per": of}),
    ),
)
policies = st.lists(
    st.fixed_dictionaries(
        {"rules": st.lists(rules, min_size=1, max_size=3)},
        optional={"kind": st.just("guardrail"), "priority": st.sampled_from([0, 7]), "mode": st.just("shadow")},
    ),
    min_size=1,
    max_size=4,
)
calls = st.lists(
    st.fixed_dictionaries(
        {"tool_name": st.sampled_from(TOOLS), "parameters": calls_values},
        optional={"context": calls_values | st.just({"session": "s", "x": 1})},
    ),
    min_size=1,
    max_size=4,
)
ALIKE = ("result", "policyId", "rule", "reason", "code", "nextAction")


@PROFILE
@given(bodies=policies, asked=calls)
def test_every_stored_policy_can_be_evaluated_and_all_tools_agree(tenant, tmp_path, bodies, asked):
    """No accepted policy makes a call fail; explain, lint, policy tests and the log agree."""
    agent_id, taken = tenant.new_agent()["id"], []
    for number, body in enumerate(bodies):
        policy = {"name": f"p{number}", **body}
        answer = tenant.admin.post("/v1/policies", json=policy | {"agent_id": agent_id})
        if answer.status_code == 201:
            taken.append(policy | {"id": answer.json()["id"]})
        else:
            assert answer.status_code == 400, answer.text
            for detail in answer.json()["error"]["details"]:
                assert detail["path"].startswith("$.rules")
                assert len(detail["message"]) > 10
    made = [
        call | {"got": judged(tenant, {"agent_id": agent_id} | call, {each["id"]: each["name"] for each in taken})}
        for call in (in_a_session_of(agent_id, each) for each in asked)
    ]
    drafts = [{name: value for name, value in each.items() if name != "id"} for each in taken]
    if not drafts:
        return
    linted = tenant.admin.post("/v1/policies/lint", json={"policies": drafts})
    assert linted.status_code in (200, 400), linted.text
    assert_tests_agree(tmp_path, drafts, made)


def in_a_session_of(agent_id, call):
    """The call in a session that no other example has had."""
    session = call.get("context", {}).get("session")
    if not isinstance(session, str) or not session:
        return call
    return call | {"context": call["context"] | {"session": f"{session} {agent_id}"}}


def judged(tenant, call, policy_names):
    """What explain and authorize both say."""
    told, given_answer = (tenant.reader.post(path, json=call) for path in ("/v1/explain", "/v1/authorize"))
    assert (told.status_code, given_answer.status_code) == (200, 200), (told.text, given_answer.text)
    told, answer = told.json(), given_answer.json()
    assert [told[name] for name in ALIKE] == [answer[name] for name in ALIKE]
    [entry] = tenant.log(agent_id=call["agent_id"], limit=1)
    assert [entry[name] for name in ALIKE[:3]] == [answer[name] for name in ALIKE[:3]]
    wanted = {"result": answer["result"], "reason": answer["reason"]}
    if answer["policyId"]:
        wanted |= {"policy": policy_names[answer["policyId"]], "rule": answer["rule"]["index"]}
    return wanted


def assert_tests_agree(folder, policies_taken, made):
    """`remit policies test` gives each call what the service gave it."""
    (folder / "agent.json").write_text(json.dumps({"agent": {"name": "tested"}, "policies": policies_taken}))
    steps = [
        {"tool": call["tool_name"], "parameters": call["parameters"], "want": call["got"]}
        | ({"context": call["context"]} if "context" in call else {})
        for call in made
    ]
    last = {name: value for name, value in steps[-1].items() if name != "want"}
    test = {"name": "as it was answered", "before": steps[:-1], "call": last, "want": steps[-1]["want"]}
    (folder / "agent.test.json").write_text(json.dumps({"tests": [test]}))
    [outcome] = run_tests(read_test_file(folder / "agent.test.json"))
    assert outcome.passed, outcome.problem


def test_a_replay_of_the_whole_language_flips_nothing(tenant):
    """It replays every call of the test above by the policies of its time."""
    answer = tenant.reader.post("/v1/replay", json={}, timeout=120)
    report = json.loads(answer.text.splitlines()[-1])["report"]
    assert (report["flipped"], report["unjudged"]["unreadable"]) == (0, 0)
    assert report["judged"] > 0
