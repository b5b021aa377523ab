"""Unexpected failures become answers in one place: details are logged, but not shown."""

import json
import logging
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from litestar import get
from litestar.exceptions import ClientException, MethodNotAllowedException, NotFoundException, PermissionDeniedException
from litestar.testing import AsyncTestClient
from servers import ADMIN_KEY

from app.errors import AgentNotFound, AppError, Invalid
from app.http.application import build_application
from app.http.problems import as_app_error, encode_error

GET = SimpleNamespace(method="GET")


class Broken:
    """Parts with a programming error: everything that needs the store raises."""

    streams = None
    request_rates = SimpleNamespace(on=False)
    auth_failures = SimpleNamespace(locked_until=[0.0], wait_s=lambda *_: 0.0)
    metrics = SimpleNamespace(refused=lambda _code: None, ready=lambda _us: None)

    @property
    def decisions(self):
        return self

    def __getattr__(self, name):
        raise ZeroDivisionError(f"the password is hunter2, the key {ADMIN_KEY}")


@pytest.fixture
async def broken_client():
    """The application on broken services."""

    @asynccontextmanager
    async def services():
        yield Broken()

    async with AsyncTestClient(build_application(services), raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/agents"), ("POST", "/v1/authorize")])
async def test_an_unforeseen_failure_is_500_and_reveals_nothing(broken_client, caplog, method, path):
    """The answer is a sentence; the log has the traceback."""
    with caplog.at_level(logging.ERROR):
        answer = await broken_client.request(method, path, headers={"Authorization": f"Bearer {ADMIN_KEY}"})
    assert answer.status_code == 500
    message = "Something went wrong on our side; it has been logged"
    assert answer.json() == {"error": {"code": "INTERNAL_ERROR", "message": message, "details": []}}
    assert caplog.text.count("Traceback") >= 1
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (AgentNotFound("No agent has this id"), 404, "AGENT_NOT_FOUND"),
        (NotFoundException(), 404, "NOT_FOUND"),
        (MethodNotAllowedException(headers={"allow": "POST, OPTIONS"}), 405, "METHOD_NOT_ALLOWED"),
        (ClientException("Invalid host header"), 400, "VALIDATION_ERROR"),
        (PermissionDeniedException("x"), 400, "VALIDATION_ERROR"),
        (RuntimeError("x"), 500, "INTERNAL_ERROR"),
        (KeyError("x"), 500, "INTERNAL_ERROR"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_every_failure_is_one_of_ours(error, status, code):
    """Litestar's own errors are not shown to callers."""
    ours = as_app_error(GET, error)
    assert (ours.status, ours.code) == (status, code)


def test_an_error_without_details_has_an_empty_list():
    """A client can always loop over it."""
    assert json.loads(encode_error(AppError("sentence"))) == {
        "error": {"code": "INTERNAL_ERROR", "message": "sentence", "details": []}
    }


def test_an_error_about_a_place_names_it_twice():
    """For programs in `details`, for people in the message."""
    assert json.loads(encode_error(Invalid.at("$.name", "is missing")))["error"] == {
        "code": "VALIDATION_ERROR",
        "message": "$.name: is missing",
        "details": [{"path": "$.name", "message": "is missing"}],
    }


@pytest.mark.parametrize("text", [ADMIN_KEY, f"x{ADMIN_KEY}y", f"{ADMIN_KEY}{ADMIN_KEY}", f'"{ADMIN_KEY}"'])
def test_no_error_quotes_a_raw_key(text):
    """As a last line of defence, whoever wrote the message."""
    body = encode_error(Invalid.at(f"$.{text}", text)).decode()
    assert ADMIN_KEY not in body
    assert ADMIN_KEY[4:] not in body
    json.loads(body)


async def test_a_handler_that_somebody_adds_gets_the_same_bodies(broken_client):
    """Errors of routes that the test adds go through the same handlers."""

    @get("/added")
    async def added() -> None:
        raise AgentNotFound("No agent has this id")

    broken_client.app.register(added)
    answer = await broken_client.get("/added")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "AGENT_NOT_FOUND")
