"""The API as an OpenAPI 3.1 document, made of what the endpoints declare.

Schemas are msgspec's own for the structs that decode bodies and encode answers. A field is described on its struct: in
the docstring's line `field: …`, or in the description of its type (`app.model.fields`).
"""

import inspect
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any, get_args, get_origin

from msgspec import to_builtins

from app import errors
from app.errors import AppError
from app.http.api.api_keys import CreateApiKey
from app.http.api.catalog import PutCatalog
from app.http.api.policies import CreatePolicy, LintPolicies
from app.http.api.policy_analyses import ComparePolicies
from app.http.api.replay import ReplayBody
from app.http.endpoint import JSON, Endpoint, errors_of, headers_of
from app.http.openapi.described_headers import OF_STATUS, REQUEST_ID, RequestHeader
from app.http.openapi.examples import example_of
from app.http.problems import (
    AUTHZEN,
    PROBLEMS,
    ErrorBody,
    Problem,
    ProblemDetails,
    has_problem_details,
    problem_details,
)
from app.model.agents import CALLED
from app.model.catalog import ToolMarks
from app.model.policies import PolicyKind
from app.model.policy_keys import CALLED as CALLED_POLICY
from app.policy_tools.struct_schemas.cross_field_requirements import (
    AGENT_ENTRIES,
    GROUP_ENTRIES,
    RULES_OF_A_KIND,
    WORKSPACE_ENTRIES,
)
from app.policy_tools.struct_schemas.described import described
from app.policy_tools.struct_schemas.queries import Parameter, parameters_of

VERSION = "1"
_REF = "#/components/schemas/{name}"
_ID = {"type": "string", "format": "uuid"}
_IN_PATHS: dict[str, dict[str, Any]] = {
    "agent_id": {"type": "string", **CALLED},
    "policy_id": {"type": "string", **CALLED_POLICY},
    "group": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9_-]+$"},
    "path": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_-]+$"},
    "task_id": {"type": "string", "minLength": 1, "maxLength": 350, "pattern": "^[A-Za-z0-9_-]+$"},
    "tool": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[A-Za-z0-9_-]+$"},
    "resource_type": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9_-]+$"},
    "resource_name": {"type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z0-9_-]+$"},
}
"""The pattern of a path parameter that need not be an id: an agent's alias, a policy's key, or the name of a group, a
tool or a resource. These characters need no escapes.
"""
_KEY_SCHEME = "apiKey"

_ABOUT = """Remit decides whether an AI agent may call a tool, and records every answer it gives.

Every request, except those about the service's own state, carries `Authorization: Bearer svc_…`. A key has scopes:
`admin` may do everything; `view` may read and explain, and changes nothing; `read` may do the same and ask for
decisions, which use up limits and approvals; `authorize` may only ask for decisions, and can be restricted to certain
agents; `audit` may read and verify the log and the trail of changes; `policies` may read and write agents and policies;
`approve` may read approvals and decide them; `request` may pin what the user asked for in a session.
A key belongs to one workspace; ids of other workspaces are answered as unknown.

Bodies are JSON objects of up to 256 KiB (calls 1040 KiB, sets of policies 1.5 MiB), nested up to 32 levels below the
body. The Content-Type is ignored. Unknown fields are refused (in /v1/authorize, ignored), and so are unknown query
parameters and duplicate keys. If a field's description says so, its name may be written in snake_case or camelCase.
Times are ISO 8601; in answers they are always UTC with milliseconds.

Every answer has an `X-Request-ID`: the caller's own, if it sent one. If the service limits how fast a key may ask,
answers carry `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`.

Below /access/ the standard AuthZEN holds: the Content-Type must be JSON, unknown fields are ignored, and answers with
status 400 or above have a message, as a JSON string. All others have an `ErrorBody`. The codes:

| Status | Code | When |
|---|---|---|
"""


_ASKS, _ASKS_FOR_ALL = {"const": "authorize"}, {"enum": ["read", "admin"]}
_NONE, _TEXT = {"type": "null"}, {"type": "string"}


def _owned_entries(*names: str) -> dict[str, Any]:
    """The fields of these names have policies of the agent or the group named beside them; with neither, of the
    workspace.
    """
    return {
        "oneOf": [
            {
                "required": ["agent_id"],
                "properties": {"agent_id": _TEXT, "group": _NONE} | dict.fromkeys(names, AGENT_ENTRIES),
            },
            {
                "required": ["group"],
                "properties": {"agent_id": _NONE, "group": _TEXT} | dict.fromkeys(names, GROUP_ENTRIES),
            },
            {"properties": {"agent_id": _NONE, "group": _NONE} | dict.fromkeys(names, WORKSPACE_ENTRIES)},
        ]
    }


CROSS_FIELD_OF_BODIES: dict[str, dict[str, Any]] = {
    CreateApiKey.__name__: {
        "anyOf": [
            {"properties": {"agents": {"type": "null"}, "sessionFrom": {"type": "null"}}},
            {"properties": {"scopes": {"contains": _ASKS, "items": {"not": _ASKS_FOR_ALL}}}},
        ]
    },
    CreatePolicy.__name__: {
        **RULES_OF_A_KIND,
        "oneOf": [
            {"required": ["agent_id"], "properties": {"agent_id": _TEXT, "group": _NONE}},
            {"required": ["group"], "properties": {"agent_id": _NONE, "group": _TEXT}},
            {
                "required": ["kind"],
                "properties": {
                    "kind": {"const": PolicyKind.GUARDRAIL.value},
                    "agent_id": _NONE,
                    "group": _NONE,
                },
            },
        ],
    },
    LintPolicies.__name__: _owned_entries("policies"),
    ReplayBody.__name__: _owned_entries("policies"),
    ComparePolicies.__name__: _owned_entries("before", "after"),
    ToolMarks.__name__: {"minProperties": 1},
    PutCatalog.__name__: {"oneOf": [{"required": ["tools"]}, {"required": ["result"]}]},
}
"""Requirements by the name of the struct."""


def types_in(answer: Any) -> tuple[Any, ...]:
    """The type of a list's items, or those of which an answer has one."""
    return get_args(answer) or (answer,)


def document_of(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The document as plain values. Raises LookupError if a body or an answer has no example."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    table = "\n".join(f"| {error.status} | `{error.code}` | {sentence_of(error)} |" for error in all_errors())
    return {
        "openapi": "3.1.0",
        "info": {"title": "Remit API", "version": VERSION, "description": _ABOUT + table},
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(endpoint.tag for endpoint in endpoints)],
        "paths": paths,
        "components": {
            "schemas": _schemas(endpoints),
            "securitySchemes": {
                _KEY_SCHEME: {"type": "http", "scheme": "bearer", "description": "An API key: svc_ and 32 hex digits."}
            },
        },
    }


@cache
def all_errors() -> list[type[AppError]]:
    """Every class of `app.errors`, by status; each code belongs to one class."""
    classes = [error for _, error in inspect.getmembers(errors, inspect.isclass) if issubclass(error, AppError)]
    return sorted(classes, key=lambda error: (error.status, error.code))


def sentence_of(error: type[AppError]) -> str:
    """When the error is raised, in a sentence. The base class is for unexpected errors."""
    text = inspect.getdoc(error) or ""
    return "Something went wrong on our side; it has been logged." if error is AppError else " ".join(text.split())


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": _operation_id(endpoint),
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "security": [{_KEY_SCHEME: [scope.value]} for scope in endpoint.scopes],
        "responses": _responses(endpoint),
    }
    required = " or ".join(f"`{scope.value}`" for scope in endpoint.scopes)
    scope = f"Needs a key with the scope {required}." if required else ""
    described["description"] = " ".join(filter(None, (endpoint.description, scope)))
    names = re.findall(r"{(\w+)}", endpoint.path)
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _IN_PATHS.get(name, _ID)} for name in names
    ]
    parameters += [_parameter("query", field, field.also) for field in parameters_of(endpoint.query)]
    parameters += [_parameter("header", header) for header in endpoint.request_headers]
    if parameters:
        described["parameters"] = parameters
    if endpoint.body is not None:
        named = {name: {"value": value} for name, value in example_of(endpoint.body).items()}
        content = {"schema": _ref(endpoint.body), "examples": named}
        described["requestBody"] = {"required": True, "content": {JSON: content}}
    return described


def _operation_id(endpoint: Endpoint) -> str:
    words = re.findall(r"[a-z]+", endpoint.path.removeprefix("/v1"))
    return "_".join([endpoint.method.lower(), *(word for word in words if word != "id")])


def _parameter(carrier: str, parameter: Parameter | RequestHeader, also: str | None = None) -> dict[str, Any]:
    description = parameter.description + (f" `{also}` is accepted, too." if also else "")
    return {"name": parameter.name, "in": carrier, "description": description, "schema": parameter.schema}


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    done: dict[str, Any] = {"description": "Done." if endpoint.answer is None else "The answer."}
    done["headers"] = _headers(headers_of(endpoint), required=REQUEST_ID)
    if endpoint.answer is not None:
        done["content"] = {media: _answer(endpoint.answer) for media in endpoint.media}
    responses = {str(endpoint.status): done}
    if endpoint.waiting is not None:
        later = {"description": "Nothing has changed yet: the change waits for a second person."}
        responses["202"] = {**later, "content": {JSON: _answer(endpoint.waiting)}, "headers": done["headers"]}
    by_status: dict[int, list[type[AppError]]] = {}
    for error in errors_of(endpoint):
        by_status.setdefault(error.status, []).append(error)
    for status, classes in by_status.items():
        always = {**OF_STATUS.get(status, {}), **REQUEST_ID}
        responses[str(status)] = {**_refusal(classes, endpoint.path), "headers": _headers(always, required=always)}
    return responses


def _headers(headers: dict[str, str], required: Collection[str]) -> dict[str, Any]:
    return {
        name: {"description": sentence, "required": name in required, "schema": {"type": "string"}}
        for name, sentence in headers.items()
    }


def _answer(kind: Any) -> dict[str, Any]:
    if kind is str:
        return {"schema": {"type": "string"}}
    if kind == dict[str, Any]:
        return {"schema": {"type": "object", "additionalProperties": True}}
    first, *others = types_in(kind)
    if get_origin(kind) is list:
        return {"schema": {"type": "array", "items": _ref(first)}, "example": [example_of(first)]}
    schema = {"oneOf": [_ref(each) for each in (first, *others)]} if others else _ref(first)
    return {"schema": schema, "example": example_of(first)}


def _refusal(classes: Iterable[type[AppError]], path: str) -> dict[str, Any]:
    examples: dict[str, Any] = {}
    sentences, of_standard, has_details = [], path.startswith(AUTHZEN), has_problem_details(path)
    for error in classes:
        sentence = sentence_of(error)
        details = [{"path": "$.name", "message": "is missing; it must be text of 1 to 255 characters"}]
        shown = details if error is errors.Invalid else []
        message = f"{details[0]['path']}: {details[0]['message']}" if shown else sentence
        value: Any = message if of_standard else {"error": {"code": error.code, "message": message, "details": shown}}
        examples[error.code] = {"value": to_builtins(problem_details(error, message)) if has_details else value}
        sentences.append(f"`{error.code}`: {sentence}")
    schema: dict[str, str] = {"type": "string"} if of_standard else _ref(ErrorBody)
    media, schema = (PROBLEMS, _ref(ProblemDetails)) if has_details else (JSON, schema)
    return {"description": " ".join(sentences), "content": {media: {"schema": schema, "examples": examples}}}


def _ref(kind: type) -> dict[str, str]:
    return {"$ref": _REF.format(name=kind.__name__)}


def _schemas(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    answers = [types_in(endpoint.answer) for endpoint in endpoints if endpoint.answer not in (str, dict[str, Any])]
    answers += [types_in(endpoint.waiting) for endpoint in endpoints]
    used = dict.fromkeys(filter(None, (*(endpoint.body for endpoint in endpoints), *chain.from_iterable(answers))))
    schemas = described((*used, ErrorBody, ProblemDetails), _REF, CROSS_FIELD_OF_BODIES)
    schemas[Problem.__name__]["properties"]["code"]["enum"] = [error.code for error in all_errors()]
    return schemas
