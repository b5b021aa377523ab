"""AuthZEN's certification scenario, step by step; each test names the section that it is."""

import json

import pytest

EVALUATION = "/access/v1/evaluation"
ALICE = {"type": "user", "id": "alice"}
BOB = {"type": "user", "id": "bob"}
ADMIN_BOB = BOB | {"properties": {"role": "admin"}}
READ, WRITE = {"name": "read"}, {"name": "write"}
ONE, TWO = {"type": "record", "id": "record-1"}, {"type": "record", "id": "record-2"}
ARCHIVED = TWO | {"properties": {"status": "archived"}}
CONTEXT = {"time": "2025-06-27T18:03-07:00", "ip": "192.168.1.1"}


def asked(subject, action, resource, **more):
    return {"subject": subject, "action": action, "resource": resource, **more}


def decided(answer):
    """The decision of an answer that has the form of one."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    body = answer.json()
    assert isinstance(body["decision"], bool)
    assert isinstance(body.get("context", {}), dict)
    return body["decision"]


DECISIONS = [
    ("2.2.1", asked(ALICE, READ, ONE), True),
    ("2.2.2", asked(BOB, WRITE, ONE), False),
    ("2.2.3", asked(ALICE, READ, ONE, context=CONTEXT), True),
    ("2.2.4", asked(ALICE, WRITE, ARCHIVED), False),
    ("2.2.5", asked(ADMIN_BOB, WRITE, ARCHIVED), True),
    ("2.2.6", asked(ALICE, {"name": "delete", "properties": {"soft": True}}, ONE), True),
    ("2.2.7", asked(ALICE, {"name": "delete", "properties": {"soft": False}}, ONE), False),
    (
        "2.2.8",
        asked(
            ALICE | {"properties": {"department": "Sales", "role": "manager"}},
            READ | {"properties": {"method": "GET"}},
            ONE | {"properties": {"status": "active", "owner": "bob"}},
        ),
        True,
    ),
    ("2.2.9", asked(ALICE, READ, ONE, foo="bar", futureField={"nested": True}), True),
    ("1.4, rule 2", asked(ALICE, WRITE, ONE), True),
    ("1.4, rule 3", asked(BOB, READ, ONE), True),
    ("1.6, rule 2", asked(ALICE, WRITE, ONE, context=CONTEXT), True),
    ("1.6, rule 3", asked(BOB, READ, ONE, context=CONTEXT), True),
    ("1.6, rule 4", asked(BOB, WRITE, ONE, context=CONTEXT), False),
]


@pytest.mark.parametrize(("section", "body", "wanted"), DECISIONS, ids=[section for section, *_ in DECISIONS])
def test_a_request_of_the_fixture_is_decided(pdp, section, body, wanted):
    """Sections 2.2 and 1.4; and 2.3, the form of the answer."""
    assert decided(pdp.post(EVALUATION, json=body)) is wanted


WHOLE = asked(ALICE, READ, ONE)
WRONG = {
    "2.4.1 subject": {name: value for name, value in WHOLE.items() if name != "subject"},
    "2.4.1 action": {name: value for name, value in WHOLE.items() if name != "action"},
    "2.4.1 resource": {name: value for name, value in WHOLE.items() if name != "resource"},
    "2.4.2 subject.type": asked({"id": "alice"}, READ, ONE),
    "2.4.2 subject.id": asked({"type": "user"}, READ, ONE),
    "2.4.2 action.name": asked(ALICE, {}, ONE),
    "2.4.2 resource.type": asked(ALICE, READ, {"id": "record-1"}),
    "2.4.2 resource.id": asked(ALICE, READ, {"type": "record"}),
    "2.4.6 subject": asked("alice", READ, ONE),
    "2.4.6 action.name": asked(ALICE, {"name": 123}, ONE),
    "further: action": asked(ALICE, "read", ONE),
    "further: resource": asked(ALICE, READ, ["record", "record-1"]),
    "further: resource.id": asked(ALICE, READ, {"type": "record", "id": 1}),
    "further: properties": asked(ALICE, READ, ONE | {"properties": "active"}),
    "further: context": asked(ALICE, READ, ONE, context="now"),
    "further: context, null": asked(ALICE, READ, ONE, context=None),
}


@pytest.mark.parametrize("section", WRONG)
def test_a_malformed_request_is_400_with_a_message(pdp, section):
    """Sections 2.4.1, 2.4.2 and 2.4.6."""
    answer = pdp.post(EVALUATION, json=WRONG[section])
    assert answer.status_code == 400
    assert isinstance(answer.json(), str)


@pytest.mark.parametrize("body", [b"{", b"", b" ", b"nonsense", b"[]", b'"text"', b"null", b'{"subject": '], ids=repr)
def test_a_body_that_is_not_a_json_object_is_400(pdp, body):
    """Sections 2.4.4 and 2.4.5."""
    assert pdp.post(EVALUATION, content=body, headers={"Content-Type": "application/json"}).status_code == 400


@pytest.mark.parametrize(
    "kind", [None, "", "text/plain", "application/xml", "application/jsonp", "application/x-www-form-urlencoded"]
)
def test_another_content_type_than_json_is_400(pdp, kind):
    """Section 2.4.3, whatever the body is."""
    headers = {} if kind is None else {"Content-Type": kind}
    request = pdp.build_request(
        "POST",
        EVALUATION,
        content=b'{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"record-1"}}',
        headers=headers,
    )
    assert pdp.send(request).status_code == 400


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8"]
)
def test_json_is_json_in_any_spelling(pdp, kind):
    """The media type's parameters and case do not matter (RFC 9110 8.3.1)."""
    request = pdp.build_request("POST", EVALUATION, json=WHOLE, headers={"Content-Type": kind})
    assert decided(pdp.send(request)) is True


@pytest.mark.parametrize("body", [WHOLE, WRONG["2.4.1 subject"]])
def test_the_requests_id_is_echoed(pdp, body):
    """Sections 2.5.1 and 5.4, whatever the answer is."""
    sent = "bfe9eb29-ab87-4ca3-be83-a1d5d8305716"
    assert pdp.post(EVALUATION, json=body, headers={"X-Request-ID": sent}).headers.get_list("X-Request-ID") == [sent]


def test_a_request_needs_no_id(pdp):
    """Section 2.5.2."""
    assert decided(pdp.post(EVALUATION, json=WHOLE)) is True


@pytest.mark.parametrize("body", [WHOLE, asked(BOB, WRITE, ONE)])
def test_the_same_request_gets_the_same_decision(pdp, body):
    """Section 2.6."""
    assert len({decided(pdp.post(EVALUATION, json=body)) for _ in range(5)}) == 1


@pytest.mark.parametrize("key", [None, "Bearer nonsense", "Basic YTpi", "Bearer svc_" + "0" * 32])
def test_a_caller_without_a_valid_key_is_401(pdp, key):
    """Section 9.3 of the API: with the scheme that is expected."""
    request = pdp.build_request("POST", EVALUATION, json=WHOLE)
    del request.headers["Authorization"]
    if key:
        request.headers["Authorization"] = key
    answer = pdp.send(request)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert isinstance(answer.json(), str)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", EVALUATION), ("POST", f"{EVALUATION}/"), ("POST", "/access/v1/x")]
)
def test_what_is_not_served_is_refused_as_the_standard_does(pdp, method, path):
    """Section 10.1.2 of the API: with a message, also beyond a slash at the end; and with the request's id."""
    answer = pdp.request(method, path, json=WHOLE, headers={"X-Request-ID": "1"})
    wanted = (405, "OPTIONS, POST") if method == "GET" else (404, None)
    assert (answer.status_code, answer.headers.get("Allow")) == wanted
    assert (isinstance(answer.json(), str), answer.headers.get_list("X-Request-ID")) == (True, ["1"])


EVALUATIONS = "/access/v1/evaluations"
EXECUTE_ALL = {"evaluations_semantic": "execute_all"}
ANY = object()
BATCHES = [
    ("3.2.1", {"subject": ALICE, "action": READ, "evaluations": [{"resource": ONE}, {"resource": TWO}]}, [ANY, ANY]),
    ("3.2.2", {"subject": BOB, "resource": ONE, "evaluations": [{"action": READ}, {"action": WRITE}]}, [True, False]),
    (
        "3.2.3",
        {
            "subject": ALICE,
            "action": WRITE,
            "evaluations": [{"resource": ONE | {"properties": {"status": "active"}}}, {"resource": ARCHIVED}],
        },
        [True, False],
    ),
    (
        "3.2.4",
        {"action": WRITE, "resource": ARCHIVED, "evaluations": [{"subject": ALICE}, {"subject": ADMIN_BOB}]},
        [False, True],
    ),
    ("3.2.5", {"evaluations": [asked(ALICE, READ, ONE), asked(BOB, WRITE, ONE)]}, [True, False]),
    (
        "3.2.6",
        {
            "subject": ALICE,
            "action": READ,
            "context": {"time": "2025-06-27T18:03-07:00"},
            "evaluations": [
                {"resource": ONE},
                {"resource": TWO, "context": {"time": "2025-06-27T19:00-07:00", "source": "batch-override"}},
            ],
        },
        [ANY, ANY],
    ),
    (
        "3.2.7",
        asked(ALICE, WRITE, ONE | {"properties": {"status": "active"}}, evaluations=[{}, {"resource": ARCHIVED}]),
        [True, False],
    ),
    (
        "3.4.1",
        {
            "subject": ALICE,
            "action": READ,
            "options": EXECUTE_ALL,
            "evaluations": [{"resource": ONE}, {}],
        },
        [True, False],
    ),
    ("further: no object", asked(ALICE, READ, ONE, evaluations=["record-1", {}]), [False, True]),
    ("further: no text", asked(ALICE, READ, ONE, evaluations=[{"action": {"name": 1}}, {}]), [False, True]),
    ("further: null", asked(ALICE, READ, ONE, evaluations=[{"resource": None}, {}]), [False, True]),
    ("further: no merging", asked(ALICE, READ, ONE, evaluations=[{"resource": {"id": "record-2"}}, {}]), [False, True]),
    (
        "further: unknown subject",
        asked(ALICE, READ, ONE, evaluations=[{"subject": ALICE | {"id": "x"}}, {}]),
        [False, True],
    ),
    ("further: unknown options", asked(ALICE, READ, ONE, evaluations=[{}], options={"another": "value"}), [True]),
    (
        "semantic: all",
        {
            "subject": BOB,
            "resource": ONE,
            "options": EXECUTE_ALL,
            "evaluations": [{"action": WRITE}, {"action": READ}, {"action": WRITE}],
        },
        [False, True, False],
    ),
    (
        "semantic: first deny",
        {
            "subject": BOB,
            "resource": ONE,
            "options": {"evaluations_semantic": "deny_on_first_deny"},
            "evaluations": [{"action": READ}, {"action": WRITE}, {"action": READ}],
        },
        [True, False],
    ),
    (
        "semantic: first error",
        {
            "subject": BOB,
            "resource": ONE,
            "options": {"evaluations_semantic": "deny_on_first_deny"},
            "evaluations": [{"action": READ}, {}, {"action": READ}],
        },
        [True, False],
    ),
    (
        "semantic: first permit",
        {
            "subject": BOB,
            "resource": ONE,
            "options": {"evaluations_semantic": "permit_on_first_permit"},
            "evaluations": [{"action": WRITE}, {"action": READ}, {"action": WRITE}],
        },
        [False, True],
    ),
]


@pytest.mark.parametrize(("section", "body", "wanted"), BATCHES, ids=[section for section, *_ in BATCHES])
def test_a_batch_is_decided_in_order(pdp, section, body, wanted):
    """Sections 3.2, 3.3 and 3.4.1, and 7.1.2 of the API: one answer for each evaluation, in their order."""
    answer = pdp.post(EVALUATIONS, json=body)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json"), answer.text
    assert list(answer.json()) == ["evaluations"]
    found = answer.json()["evaluations"]
    assert all(isinstance(each["decision"], bool) and isinstance(each.get("context", {}), dict) for each in found)
    assert len(found) == len(wanted)
    assert [each["decision"] for each, one in zip(found, wanted, strict=True) if one is not ANY] == [
        one for one in wanted if one is not ANY
    ]


def test_an_evaluation_that_fails_says_why(pdp):
    """Section 7.2.1 of the API: with the status that it would have by itself."""
    body = {"subject": ALICE, "action": READ, "evaluations": [{"resource": ONE}, {}]}
    error = pdp.post(EVALUATIONS, json=body).json()["evaluations"][1]["context"]["error"]
    assert (error["status"], error["message"].startswith("$.resource")) == (400, True)


@pytest.mark.parametrize("more", [{}, {"evaluations": []}], ids=["3.4.2", "3.4.3"])
def test_without_evaluations_it_is_a_single_one(pdp, more):
    """Sections 3.4.2 and 3.4.3."""
    assert decided(pdp.post(EVALUATIONS, json=WHOLE | more)) is True


@pytest.mark.parametrize("section", WRONG)
def test_a_single_one_that_is_malformed_is_400(pdp, section):
    """As at the other endpoint."""
    assert pdp.post(EVALUATIONS, json=WRONG[section]).status_code == 400


@pytest.mark.parametrize(
    "more",
    [
        {"evaluations": {}},
        {"evaluations": "all"},
        {"evaluations": [{}], "subject": "alice"},
        {"evaluations": [{}], "options": "all"},
        {"evaluations": [{}], "options": {"evaluations_semantic": "some"}},
        {"evaluations": [{}] * 1001},
    ],
    ids=str,
)
def test_a_payload_that_is_malformed_as_a_whole_is_400(pdp, more):
    """Section 7.2.1 of the API: the first type of error."""
    answer = pdp.post(EVALUATIONS, json=WHOLE | more)
    assert (answer.status_code, isinstance(answer.json(), str)) == (400, True)


@pytest.mark.parametrize("kind", [None, "text/plain"])
def test_a_batch_of_another_content_type_is_400(pdp, kind):
    """Section 5.1."""
    headers = {} if kind is None else {"Content-Type": kind}
    request = pdp.build_request("POST", EVALUATIONS, content=json.dumps(WHOLE), headers=headers)
    request.headers.pop("Content-Type", None) if kind is None else None
    assert pdp.send(request).status_code == 400


def test_a_batchs_request_id_is_echoed(pdp):
    """Section 5.4."""
    answer = pdp.post(EVALUATIONS, json=WHOLE, headers={"X-Request-ID": "of a batch"})
    assert answer.headers.get_list("X-Request-ID") == ["of a batch"]


SEARCH = "/access/v1/search/{}".format
USER, RECORD = {"type": "user"}, {"type": "record"}
ARCHIVED_TWO = TWO | {"properties": {"status": "archived"}}
SEARCHES = [
    ("4.2.1", "subject", asked(USER, READ, ONE), {"alice", "bob"}),
    ("4.2.2", "subject", asked(USER, READ, ONE, context=CONTEXT), {"alice", "bob"}),
    ("4.2.3", "subject", asked(ALICE, READ, ONE), {"alice", "bob"}),
    ("4.2.4", "subject", asked(USER, WRITE, ARCHIVED_TWO), {"bob"}),
    ("4.3.1", "resource", asked(ALICE, READ, RECORD), {"record-1"}),
    ("4.3.2", "resource", asked(ALICE, READ, RECORD, context=CONTEXT), {"record-1"}),
    ("4.3.3", "resource", asked(ALICE, READ, ONE), {"record-1"}),
    ("4.3.4", "resource", asked(ADMIN_BOB, WRITE, RECORD), {"record-2"}),
    ("4.4.1", "action", {"subject": ALICE, "resource": ONE}, {"read", "write"}),
    ("4.4.2", "action", {"subject": ALICE, "resource": ONE, "context": CONTEXT}, {"read", "write"}),
    ("4.4.3", "action", {"subject": ADMIN_BOB, "resource": ARCHIVED_TWO}, {"write"}),
]


def found(pdp, what, body):
    """What a search finds, in an answer that has the form of one."""
    answer = pdp.post(SEARCH(what), json=body)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json"), answer.text
    got = answer.json()
    assert isinstance(got["page"]["next_token"], str)
    assert got["page"]["count"] == len(got["results"])
    if what != "action":
        assert all(each["type"] == body[what]["type"] for each in got["results"])
    return [each["name" if what == "action" else "id"] for each in got["results"]], got["page"]["next_token"]


@pytest.mark.parametrize(("section", "what", "body", "wanted"), SEARCHES, ids=[section for section, *_ in SEARCHES])
def test_a_search_finds_what_is_permitted(pdp, section, what, body, wanted):
    """Sections 4.2 to 4.4."""
    results, _ = found(pdp, what, body)
    assert wanted <= set(results)


@pytest.mark.parametrize(
    ("first", "second"), [("4.2.1", "4.2.2"), ("4.2.1", "4.2.3"), ("4.3.1", "4.3.3"), ("4.4.1", "4.4.2")]
)
def test_context_and_the_searched_id_change_nothing(pdp, first, second):
    """Sections 4.2.3, 4.3.3 and 1.6."""
    bodies = {section: (what, body) for section, what, body, _ in SEARCHES}
    assert found(pdp, *bodies[first]) == found(pdp, *bodies[second])


def evaluated(what, body, name):
    """The evaluation of a result: with the properties that the catalogue has."""
    entity = {"action": {"name": name}, "subject": USER | {"id": name}, "resource": RECORD | {"id": name}}[what]
    if what == "resource":
        entity |= {"properties": {"status": {"record-1": "active", "record-2": "archived"}[name]}}
    if what == "subject" and name == "bob":
        entity |= {"properties": {"role": "admin"}}
    return body | {what: entity}


@pytest.mark.parametrize(("section", "what", "body", "wanted"), SEARCHES, ids=[section for section, *_ in SEARCHES])
def test_results_are_exactly_those_that_are_then_permitted(pdp, section, what, body, wanted):
    """Section 8.1 of the API: what is found is permitted, and nothing else is."""
    all_names = {
        "subject": ["alice", "bob"],
        "resource": ["record-1", "record-2"],
        "action": ["delete", "read", "write"],
    }
    permitted = [name for name in all_names[what] if decided(pdp.post(EVALUATION, json=evaluated(what, body, name)))]
    assert found(pdp, what, body)[0] == permitted


def test_pages_lead_through_all_results(pdp):
    """Sections 4.5.1 to 4.5.3: the token alone leads on."""
    body, page = asked(USER, READ, ONE), {"limit": 1, "properties": {"order": "id"}}
    first, token = found(pdp, "subject", body | {"page": page})
    assert token
    second, end = found(pdp, "subject", body | {"page": {"token": token}})
    assert (first + second, end) == (["alice", "bob"], "")
    assert found(pdp, "subject", body | {"page": page | {"token": token}}) == (second, end)


@pytest.mark.parametrize(
    "changed",
    [
        {"action": WRITE},
        {"resource": TWO},
        {"context": CONTEXT},
        {"subject": {"type": "agent"}},
        {"page": {"limit": 2}},
        {"page": {"token": "nonsense"}},
        {"page": {"token": "W10="}},
        {"page": {"token": 1}},
        {"page": {"limit": -1}},
        {"page": {"limit": "1"}},
        {"page": {"properties": {"order": "name"}}},
        {"page": {"properties": "by name"}},
        {"page": "first"},
    ],
    ids=str,
)
def test_a_token_is_of_its_search_alone(pdp, changed):
    """Section 8.2 of the API: a search that has changed mid-way is an error."""
    body = asked(USER, READ, ONE, page={"limit": 1})
    _, token = found(pdp, "subject", body)
    page = {"token": token} | (changed["page"] if isinstance(changed.get("page"), dict) else {})
    if isinstance(changed.get("page"), str):
        page = changed["page"]
    assert pdp.post(SEARCH("subject"), json=body | changed | {"page": page}).status_code == 400


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("action", {"subject": USER | {"id": "nonexistent-user"}, "resource": ONE}),
        ("action", {"subject": ALICE, "resource": RECORD | {"id": "nonexistent"}}),
        ("action", {"subject": {"type": "spaceship", "id": "alice"}, "resource": ONE}),
        ("action", {"subject": ALICE, "resource": {"type": "spaceship", "id": "record-1"}}),
        ("subject", asked({"type": "spaceship"}, READ, ONE)),
        ("subject", asked(USER, READ, RECORD | {"id": "nonexistent"})),
        ("subject", asked(USER, READ, {"type": "spaceship", "id": "record-1"})),
        ("subject", asked(USER, {"name": "fly"}, ONE)),
        ("resource", asked(USER | {"id": "nonexistent-user"}, READ, RECORD)),
        ("resource", asked(ALICE, READ, {"type": "spaceship"})),
        ("resource", asked({"type": "spaceship", "id": "alice"}, READ, RECORD)),
        ("resource", asked(ALICE, {"name": "fly"}, RECORD)),
        ("resource", asked(USER | {"id": "not an agent's name!"}, READ, RECORD)),
    ],
    ids=str,
)
def test_a_search_for_what_is_unknown_finds_nothing(pdp, what, body):
    """Sections 4.6.1 and 4.6.2, at all three endpoints."""
    assert found(pdp, what, body) == ([], "")


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("subject", {"subject": USER, "resource": ONE}),
        ("resource", {"action": READ, "resource": RECORD}),
        ("action", {"subject": ALICE}),
        ("subject", asked(USER, READ, RECORD)),
        ("resource", asked(USER, READ, RECORD)),
        ("action", {"subject": USER, "resource": ONE}),
        ("action", {"subject": ALICE, "resource": RECORD}),
        ("subject", asked({}, READ, ONE)),
        ("subject", asked("user", READ, ONE)),
        ("resource", asked(ALICE, READ, {})),
        ("subject", []),
        ("resource", asked(ALICE, {"name": 1}, RECORD)),
        ("subject", asked(USER | {"properties": 1}, READ, ONE)),
        ("subject", asked(USER, READ | {"properties": "soft"}, ONE)),
        ("subject", asked(USER, READ, ONE | {"properties": []})),
        ("resource", asked(ALICE | {"properties": None}, READ, RECORD)),
        ("resource", asked(ALICE, READ, RECORD | {"properties": True})),
        ("action", {"subject": ALICE | {"properties": 1}, "resource": ONE}),
        ("action", {"subject": ALICE, "resource": ONE | {"properties": 1}}),
        ("subject", asked(USER, READ, RECORD | {"id": "nonexistent"}, context="now")),
        ("action", {"subject": ALICE, "resource": ONE, "page": {"properties": 1}}),
    ],
    ids=str,
)
def test_a_malformed_search_is_400(pdp, what, body):
    """Sections 4.7.1 and 4.7.2."""
    answer = pdp.post(SEARCH(what), json=body)
    assert (answer.status_code, isinstance(answer.json(), str)) == (400, True)


def test_a_limit_is_at_least_0(pdp):
    """Section 8.2.1 of the API; the message names the bound that there is."""
    for limit in (-1, 0.5, 1234567.5):
        answer = pdp.post(SEARCH("subject"), json=asked(USER, READ, ONE, page={"limit": limit}))
        assert answer.json() == f"$.page.limit: must be a whole number of at least 0, not {limit}"
    assert found(pdp, "subject", asked(USER, READ, ONE, page={"limit": 0}))[0] == []


def test_a_limit_is_whole_in_either_notation(pdp):
    """In JSON, 1.0 is a whole number, and the same as 1: a token of one goes with the other."""
    body = asked(USER, READ, ONE)
    first, token = found(pdp, "subject", body | {"page": {"limit": 1.0}})
    assert first == ["alice"]
    assert found(pdp, "subject", body | {"page": {"limit": 1, "token": token}})[0] == ["bob"]


@pytest.mark.parametrize("what", ["subject", "resource", "action"])
def test_a_search_is_json_and_echoes_its_id(pdp, what):
    """Section 5."""
    body = next(body for _, each, body, _ in SEARCHES if each == what) | {"unknown": {"is": "ignored"}}
    answer = pdp.post(SEARCH(what), json=body, headers={"X-Request-ID": "mine"})
    assert (answer.status_code, answer.headers.get_list("X-Request-ID")) == (200, ["mine"])
    sent = pdp.post(SEARCH(what), content=json.dumps(body), headers={"Content-Type": "text/plain"})
    assert sent.status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        asked(ALICE, READ, ONE | {"properties": {"id": "record-2"}}),
        asked(ALICE, READ, ONE | {"properties": {"\\u0069d": 1}}),
        asked(ALICE, READ, ONE, context={"subject": ADMIN_BOB}),
        asked(ALICE, READ, ONE, context={"resource": TWO}),
        asked(ALICE, READ, ONE, context={"action": WRITE}),
    ],
    ids=str,
)
def test_two_spellings_of_one_entity_are_refused(pdp, body):
    """A policy would read one, and whoever enforces the decision might act on the other."""
    content = json.dumps(body).replace("\\\\u", "\\u")
    answer = pdp.post(EVALUATION, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert decided(pdp.post(EVALUATION, json=asked(ALICE, READ, ONE | {"properties": {"id": "record-1"}}))) is True


def test_the_log_has_what_was_asked_in_the_standards_words(pdp, tenant):
    """Subject, action and resource are in the entry's context, and a past decision is explained from it."""
    answer = pdp.post(EVALUATION, json=asked(ADMIN_BOB, WRITE, ARCHIVED, context=CONTEXT)).json()
    entry = tenant.admin.get(f"/v1/audit-logs/{answer['context']['evaluation_id']}").json()
    assert (entry["action"], entry["toolName"]) == ("write", "record.write")
    assert entry["parameters"] == {"id": "record-2", "status": "archived"}
    assert entry["context"] == CONTEXT | {"subject": ADMIN_BOB, "action": WRITE, "resource": TWO}
    explained = tenant.admin.get(f"/v1/audit-logs/{entry['id']}/explanation").json()
    assert explained["result"] == "allowed"


@pytest.mark.slow
def test_an_evaluation_is_tried_in_shadow_and_judged_again_by_a_replay(pdp, tenant):
    """By rules about the entities, which the log has as the standard names them."""
    carol = tenant.new_agent(alias="carol", type="worker")["id"]  # no user, for whom other tests search
    managers = {"subject.properties.role": {"enum": ["manager"]}}
    draft = {"type": "parameter_constraint", "tools": ["record.*"], "context": managers}
    tenant.new_policy(carol)
    tenant.new_policy(carol, draft, kind="guardrail", mode="shadow")
    roles = {"manager": "allowed", "clerk": "denied"}
    for role, wanted in roles.items():
        subject = {"type": "worker", "id": "carol", "properties": {"role": role}}
        answer = pdp.post(EVALUATION, json=asked(subject, READ, ONE)).json()
        entry = tenant.admin.get(f"/v1/audit-logs/{answer['context']['evaluation_id']}").json()
        assert (entry["result"], entry.get("shadow", entry)["result"]) == ("allowed", wanted)

    draft_alone = [{"name": "a draft", "rules": [draft]}]
    replayed = pdp.post("/v1/replay", json={"agent_id": carol, "policies": draft_alone}, timeout=60)

    report = json.loads(replayed.text.splitlines()[-1])["report"]
    assert report["judged"] == len(roles)
    assert [(each["becomes"], each["toolName"]) for each in report["flips"]] == [("denied", "record.read")]
