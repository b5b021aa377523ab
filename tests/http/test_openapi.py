"""The OpenAPI document: complete, valid, and true of the application."""

import copy
import functools
import inspect
import itertools
import json
import re
import zoneinfo
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import msgspec
import pytest
from approval_steps import answering, approve
from litestar.handlers import HTTPRouteHandler
from tenants import tenant_on

from app import errors
from app.http.api.authorize import AuthorizeBody
from app.http.api.authorize_batch import AuthorizeBatch
from app.http.api.catalog import PutCatalog
from app.http.api.explain import ExplainBody
from app.http.bodies import Body, decode_body
from app.http.doors import DOORS
from app.http.endpoint import errors_of
from app.http.openapi.document import all_errors, types_in
from app.http.openapi.examples import example_of
from app.http.problems import AUTHZEN, has_problem_details
from app.http.routes import ENDPOINTS, ROUTES, document, encoded_document
from app.http.tool_calls import Reading
from app.model.text import HIDDEN, FieldError, require_tool_name, require_visible
from app.policy_tools.struct_schemas.queries import parameters_of
from app.redaction.redactor import Redactor

DOCS = Path(__file__).parents[2] / "docs"
API = document()
DOORS_BY_PATH = {door.path: door for door in DOORS.values()}
SCHEMAS = API["components"]["schemas"]
BODIES = {each.body: example_of(each.body) for each in ENDPOINTS if each.body is not None}
SHOWN = [each.answer for each in ENDPOINTS if each.answer not in (None, str, dict[str, Any])]
ANSWERS = {each: example_of(each) for answer in SHOWN for each in types_in(answer)}
DESCRIBED = [(path, method, each) for path, methods in API["paths"].items() for method, each in methods.items()]
IDS = [f"{method} {path}" for path, method, _ in DESCRIBED]


def handlers():
    """Method, path and handler of everything the application serves."""
    for handler in ROUTES:
        path = re.sub(r":\w+}", "}", next(iter(handler.paths)))
        for method in getattr(handler, "http_methods", ["POST"]):
            yield method, path, handler


SENT = [(b"x-remit-agent", b"00000000-0000-7000-8000-000000000000"), (b"content-type", b"application/json")]


@functools.cache
def validator(name):
    """Checks a value against a schema of the document, formats included."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": API["components"]}
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True, ignore_unknown_formats=True)


NAMED = {"group", "tool", "resource_type", "resource_name", "issuer_name"}
"""What a path names without an id."""


def test_the_table_has_every_route_and_no_other():
    """Every route has an entry, and every entry a route."""
    table = [(each.method, each.path) for each in ENDPOINTS]
    assert sorted(table) == sorted((method, path) for method, path, _ in handlers())
    assert len(set(table)) == len(table)


@pytest.mark.parametrize("operation", ENDPOINTS, ids=lambda each: f"{each.method} {each.path}")
def test_the_table_agrees_with_the_handler(operation):
    """In scope, body and status."""
    handler = next(found for method, path, found in handlers() if (method, path) == (operation.method, operation.path))
    if not isinstance(handler, HTTPRouteHandler):
        assert operation is DOORS_BY_PATH[operation.path].endpoint
        return
    taken = inspect.signature(handler.fn).parameters
    # An approval is of a call as it was written, and a whole catalogue is longer than other bodies.
    as_bytes = {("POST", "/v1/explain"): ExplainBody, ("PUT", "/v1/catalog"): PutCatalog}
    as_bytes |= {(each.method, each.path): each.body for each in ENDPOINTS if each.path.startswith(AUTHZEN)}
    as_bytes |= {("POST", "/v1/authorize/batch"): AuthorizeBatch}  # of calls as they were written
    read = as_bytes.get((operation.method, operation.path))
    assert operation.body is (get_args(taken["data"].annotation)[0] if "data" in taken else read)
    scopes = [guard.scopes for guard in handler.guards or () if hasattr(guard, "scopes")]
    assert scopes == ([operation.scopes] if operation.scopes else [])
    assert operation.status == handler.status_code
    named = [name for name in taken if name.endswith("_id") or name in NAMED]
    assert re.findall(r"{(\w+)}", operation.path) == named


@pytest.mark.parametrize(
    "operation",
    # Doors refuse with sentences of their own.
    [each for each in ENDPOINTS if each.scopes and each.path not in DOORS_BY_PATH],
    ids=lambda each: f"{each.method} {each.path}",
)
def test_an_unknown_parameter_is_refused_before_the_body_is_read(tenant, operation):
    """By every endpoint; the refusal lists the parameters of its document."""
    answer = tenant.admin.request(operation.method, operation.path, params={"zzz": "1"}, content=b"{")
    names = ", ".join(each.name for each in parameters_of(operation.query)) or "none"
    message = f"is not a query parameter here; there are {names}"
    told = f"zzz: {message}" if operation.path.startswith(AUTHZEN) else [{"path": "zzz", "message": message}]
    assert answer.status_code == 400
    if has_problem_details(operation.path):
        assert answer.json()["detail"] == told
    else:
        assert answer.json() == told if isinstance(told, str) else answer.json()["error"]["details"] == told


def test_every_parameter_says_what_it_means():
    """In a line of its struct's docstring, or in its type's description."""
    for query in {each.query for each in ENDPOINTS}:
        assert [each.name for each in parameters_of(query) if not each.description.endswith(".")] == [], query


@pytest.mark.slow
def test_the_document_is_valid_openapi_3_1():
    """A copy is checked against the OpenAPI Initiative's meta-schema, because Schemathesis modifies its input."""
    import schemathesis  # noqa: PLC0415 - it takes two seconds to load

    assert API["openapi"] == "3.1.0"
    schemathesis.openapi.from_dict(copy.deepcopy(API)).validate()


def test_every_schema_is_valid_json_schema():
    """In OpenAPI 3.1's dialect, with every reference resolved."""
    for schema in SCHEMAS.values():
        jsonschema_rs.meta.validate(schema)
    every = [{"$ref": f"#/components/schemas/{name}"} for name in SCHEMAS]
    assert jsonschema_rs.Draft202012Validator({"anyOf": every, "components": API["components"]})


def objects_in(schema, name=""):
    """Every schema of an object in this one, with the name that generators of types give it."""
    for word, each in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if isinstance(each, dict) and each.get("type") == "object":
            yield name + str(word)[:1].upper() + str(word)[1:], each
        if isinstance(each, dict | list) and word not in {"default", "example", "examples", "enum"}:
            yield from objects_in(each, name if word == "properties" else name + str(word)[:1].upper() + str(word)[1:])


def test_generators_of_types_can_read_it():
    """An object that may have any field says so, or it becomes a type without fields; and no type's name is that of
    another: `context` of `Approval` becomes `ApprovalContext`.
    """
    for name, each in objects_in(SCHEMAS):
        assert each.keys() & {"properties", "additionalProperties"}, name
        if name not in SCHEMAS or SCHEMAS[name] is not each:
            assert name not in SCHEMAS


def test_the_document_is_served_to_everybody_as_it_is(replica):
    """Without a key; twice the same bytes."""
    with replica.client(key="nonsense") as client:
        first, second = client.get("/openapi.json"), client.get("/openapi.json")
    assert first.json() == json.loads(json.dumps(API))
    assert first.headers["Content-Type"] == "application/json"
    assert first.content == second.content


def test_the_document_is_made_once():
    """Generating it takes milliseconds, which no request should pay."""
    assert document() is document()
    assert encoded_document() is encoded_document()


def test_every_operation_has_an_id_of_its_own():
    ids = [each["operationId"] for _, _, each in DESCRIBED]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(("path", "method", "operation"), DESCRIBED, ids=IDS)
def test_every_operation_is_described(path, method, operation):
    """With a sentence, each path parameter, and examples of request and answer."""
    assert operation["summary"]
    in_path = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"]
    assert in_path == re.findall(r"{(\w+)}", path)
    # The identity provider sends a form to the console, and so does Slack; a gateway's question has no body.
    if method in {"post", "patch"} and not path.startswith(("/console/", "/v1/slack", "/access/v1/ext-authz/")):
        assert operation["requestBody"]["content"]["application/json"]["examples"]
    for status, response in operation["responses"].items():
        for media, content in response.get("content", {}).items():
            if media == "application/json" and path != "/openapi.json":
                assert content.get("example") or content.get("examples"), status


def test_every_field_says_what_it_means():
    """In a line of its struct's docstring, or in its type's description."""
    fields = {
        (name, field): told for name, each in SCHEMAS.items() for field, told in each.get("properties", {}).items()
    }
    assert [each for each, told in fields.items() if not told["description"].strip()] == []


def test_the_other_spelling_of_a_field_is_described():
    """The schema has the specification's spelling, and its description names the other."""
    for kind in BODIES:
        properties = SCHEMAS[kind.__name__]["properties"]
        for alias, field in getattr(kind, "aliases", {}).items():
            assert f"`{alias}` is accepted, too" in properties[field]["description"], (kind, field)
            assert alias not in properties, kind


def test_the_other_spelling_of_a_query_parameter_is_described():
    """In the same way as for bodies."""
    [described] = (each for each in API["paths"]["/v1/audit-logs"]["get"]["parameters"] if each["name"] == "rule_type")
    assert described["description"].endswith(" `ruleType` is accepted, too.")


EXAMPLES = [(kind, name, value) for kind, examples in BODIES.items() for name, value in examples.items()]


@pytest.mark.parametrize(
    ("kind", "name", "value"), EXAMPLES, ids=[f"{kind.__name__}: {name}" for kind, name, _ in EXAMPLES]
)
def test_an_example_of_a_body_is_accepted(kind, name, value):
    """By the schema and by the code that reads it."""
    validator(kind.__name__).validate(value)
    raw = msgspec.json.encode(value)
    door = next((door for door in DOORS.values() if door.endpoint.body is kind), None)
    if door is not None:
        assert door.read(raw, Reading(Redactor([]), "w", headers=SENT))
    elif issubclass(kind, Body):
        assert isinstance(decode_body(raw, kind), kind)
    else:
        assert isinstance(msgspec.json.decode(raw, type=kind), kind)


@pytest.mark.parametrize(("kind", "value"), ANSWERS.items(), ids=[kind.__name__ for kind in ANSWERS])
def test_an_example_of_an_answer_is_a_valid_answer(kind, value):
    """It has exactly the fields of the encoded struct, in the document's formats."""
    validator(kind.__name__).validate(value)
    fields = msgspec.structs.fields(kind)
    assert list(value) == [field.encode_name for field in fields if field.required or field.encode_name in value]


asking_tenant = tenant_on("asking_replica")


def test_examples_of_bodies_do_what_they_claim(asking_tenant):
    """When sent in the table's order, at any hour, with existing ids; a person approves what needs approval."""
    agent = asking_tenant.admin.post("/v1/agents", json=BODIES[openapi_kind("CreateAgent")]["an agent"])
    assert agent.status_code == 201
    for policy in BODIES[openapi_kind("CreatePolicy")].values():
        at_any_hour = [rule for rule in policy["rules"] if rule["type"] != "time_based"]
        body = {**policy, "rules": at_any_hour, "agent_id": agent.json()["id"]}
        assert asking_tenant.admin.post("/v1/policies", json=body).status_code == 201
    existing, results = {"agent_id": agent.json()["id"]}, {}
    with answering(asking_tenant) as person:
        for name, call in BODIES[AuthorizeBody].items():
            ids = {field: value for field, value in existing.items() if field in call}
            decision = asking_tenant.reader.post("/v1/authorize", json={**call, **ids}).json()
            validator("DecisionView").validate(decision)
            results[name] = decision["result"]
            if decision["result"] == "escalated":
                existing["approval_id"] = decision["approval"]["id"]
                approve(person, existing["approval_id"])
    assert results == {
        "a refund": "escalated",
        "the least there can be": "allowed",
        "by the agent's alias": "allowed",
        "once a person has approved it": "allowed",
    }
    for entry in asking_tenant.log(agent_id=agent.json()["id"]):
        validator("AuditEntry").validate(entry)


def openapi_kind(name):
    return next(kind for kind in BODIES if kind.__name__ == name)


def test_the_example_of_a_refused_refund_is_what_its_policy_answers(tenant):
    """The document's worked example is real."""
    agent = tenant.new_agent()
    policy = BODIES[openapi_kind("CreatePolicy")]["refunds within bounds"]
    rules = [rule for rule in policy["rules"] if rule["type"] != "time_based"]
    made = tenant.new_policy(agent["id"], *rules, name=policy["name"], priority=policy["priority"])
    call = BODIES[AuthorizeBody]["a refund"]
    decision = tenant.authorize(agent["id"], call["tool_name"], action=call["action"], parameters=call["parameters"])
    example = ANSWERS[next(kind for kind in ANSWERS if kind.__name__ == "DecisionView")]
    same = ("allowed", "result", "rule", "reason", "retryAfterSeconds")
    assert {name: decision[name] for name in same} == {name: example[name] for name in same}
    assert decision["policyId"] == made["id"]


def test_every_code_is_in_the_document():
    """As a possible value of `code`, and in the table of its description."""
    assert set(SCHEMAS["Problem"]["properties"]["code"]["enum"]) == set(errors.codes())
    for error in all_errors():
        assert f"| {error.status} | `{error.code}` |" in API["info"]["description"]


def test_the_errors_of_an_operation_are_those_of_the_table():
    """With one answer per status, and an example of every code."""
    for operation in ENDPOINTS:
        responses = API["paths"][operation.path][operation.method.lower()]["responses"]
        described = {
            (int(status), code)
            for status, response in responses.items()
            if int(status) >= 400
            for content in response["content"].values()
            for code in content["examples"]
        }
        wanted = {(error.status, error.code) for error in errors_of(operation)}
        assert described == wanted, (operation.method, operation.path)


def test_every_error_can_come_from_some_operation():
    """Except errors of paths, methods and connections, which belong to no operation."""
    of_none = {"METHOD_NOT_ALLOWED", "REQUEST_TIMEOUT", "HEAD_TOO_LARGE"}
    assert {error.code for each in ENDPOINTS for error in errors_of(each)} == set(errors.codes()) - of_none


def test_the_example_in_docs_errors_is_what_is_answered(tenant):
    """The page shows the service's own body."""
    page = (DOCS / "errors.md").read_text()
    example = json.loads(re.search(r"```json\n(.+?)```", page, re.DOTALL)[1])
    rule = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 0, "windowSeconds": 1}}
    body = {"agent_id": tenant.new_agent()["id"], "name": "p", "rules": [rule]}
    assert tenant.admin.post("/v1/policies", json=body).json() == example


def test_the_pattern_of_visible_text_refuses_only_what_the_service_refuses():
    """The pattern leaves out the rarest hidden characters, but a valid character never fails it."""
    hidden = re.compile(f"[{HIDDEN}]")
    for code in (*range(0xD800), *range(0xE000, 0x10000)):
        if hidden.match(chr(code)):
            with pytest.raises(FieldError):
                require_visible("name", chr(code))


TOOLS = {
    "a name": SCHEMAS["AuthorizeBody"]["properties"]["tool_name"],
    "a pattern": SCHEMAS["ToolDenylist"]["properties"]["tools"]["items"],
}


@pytest.mark.parametrize("schema", TOOLS.values(), ids=TOOLS)
def test_the_document_takes_the_spaces_in_tools_that_the_service_takes(schema):
    """For every Unicode space: at either end, in the middle, and doubled."""
    valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    spaces = [chr(code) for code in range(0x10000) if chr(code).isspace()]
    texts = [text for space in spaces for text in (space, f"{space}a", f"a{space}", f"a{space}b", f"a{space}{space}b")]
    for text in [*texts, "a b c", "a bc  d", "get"]:
        assert valid(text) == is_tool_name(text), repr(text)


def test_the_document_takes_a_space_before_the_star_as_the_service_does():
    valid = jsonschema_rs.Draft202012Validator(TOOLS["a pattern"]).is_valid
    for text in ["*", "a*", "a *", "a b*", "a b *", "a  *", " *", "a\u00a0*", "a* "]:
        assert valid(text) == is_tool_name(text), repr(text)
    assert not valid("a*b")
    assert not valid("**")


def is_tool_name(text):
    try:
        require_tool_name("tools[0]", text)
    except FieldError:
        return False
    return True


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ({"type": "tool_allowlist", "tools": ["file.*", "."]}, {"tools": [".*"]}),
        (
            {"type": "time_based", "tools": ["*"], "timeWindow": {"allowedHours": [1], "timezone": "Europe/Paris"}},
            {"timeWindow": {"allowedHours": [1], "timezone": ""}},
        ),
    ],
)
def test_the_document_refuses_what_the_service_refuses(tenant, rule, wrong):
    """Such as a pattern for names that begin with a dot, or an empty zone."""
    policy = {"agent_id": tenant.new_agent()["id"], "name": "p", "rules": [rule]}
    for given, is_right in ((rule, True), (rule | wrong, False)):
        body = policy | {"rules": [given]}
        assert validator("CreatePolicy").is_valid(body) is is_right
        assert tenant.admin.post("/v1/policies", json=body).status_code == (201 if is_right else 400)


OWNERS = {
    "an agent": {"agent_id": "owner-bot"},
    "a group": {"group": "clerks"},
    "the workspace": {},
    "the workspace, named by nulls": {"agent_id": None, "group": None},
    "an agent and a group": {"agent_id": "owner-bot", "group": "clerks"},
}
ENTRIES = {
    "a grant": {},
    "a guardrail": {"kind": "guardrail"},
    "a grant of a group": {"group": "clerks"},
    "a guardrail of a group": {"kind": "guardrail", "group": "clerks"},
}
FITTING = {
    ("an agent", "a grant"),
    ("an agent", "a guardrail"),
    ("a group", "a grant"),
    ("a group", "a guardrail"),
    ("a group", "a grant of a group"),
    ("a group", "a guardrail of a group"),
    ("the workspace", "a guardrail"),
    ("the workspace, named by nulls", "a guardrail"),
}


REPLAYED = {("a group", "a guardrail of a group"), ("the workspace", "a guardrail")}
"""Of the lists that fit, those that are replayed: each is a process."""


def test_the_document_takes_the_owners_of_a_list_that_the_service_takes(tenant):
    """A policy of the whole workspace is a guardrail, and no policy of a list names an owner of another kind."""
    tenant.new_agent(alias="owner-bot")
    rules = [{"type": "tool_denylist", "tools": ["file.delete"]}]
    for case in itertools.product(OWNERS, ENTRIES):
        owner, entry = case
        body = OWNERS[owner] | {"policies": [{"name": "p", "rules": rules} | ENTRIES[entry]]}
        is_right = case in FITTING
        for path, schema in (("/v1/policies/lint", "LintPolicies"), ("/v1/replay", "ReplayBody")):
            assert validator(schema).is_valid(body) is is_right, (path, case)
            if path != "/v1/replay" or not is_right or case in REPLAYED:
                answer = tenant.admin.post(path, json=body)
                assert answer.status_code == (200 if is_right else 400), (path, case, answer.text)


def test_every_zone_fits_the_document():
    """The pattern matches every zone name except the machine's own."""
    schema = SCHEMAS["TimeWindow"]["properties"]["timezone"]
    valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    assert all(valid(zone) for zone in zoneinfo.available_timezones() - {"localtime", "posixrules"})
    assert not any(valid(zone) for zone in ("", " ", "/", "Europe/", "../etc/passwd", "Europe/Paris "))
