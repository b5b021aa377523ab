"""Every door to the hot path is bounded, authenticated and observed alike, whatever it reads and answers."""

import asyncio
import json
import threading
from contextlib import asynccontextmanager
from functools import cache
from types import SimpleNamespace

import httpx
import pytest
from far_ends import FarEnd
from msgspec.structs import replace

from app.errors import AppError
from app.http.doors import DOORS
from app.http.hot_path import IN_THE_LOOP_BYTES
from app.http.protocol.head import read_head
from app.main import create_app
from app.settings import Settings

MAX_CALL_BYTES = Settings().call_bytes_max


def plain(agent, text):
    body = {"agent_id": agent, "tool_name": "file.read", "parameters": {"text": text}}
    return {}, body


def hook(agent, text):
    body = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Read", "tool_input": {"text": text}}
    return {"X-Remit-Agent": agent}, body


def evaluation(agent, text):
    body = {
        "subject": {"type": "agent", "id": agent},
        "action": {"name": "call"},
        "resource": {"type": "tool", "id": "file.read", "properties": {"text": text}},
    }
    return {"Content-Type": "application/json"}, body


def gateway(agent, text):
    return {"X-Remit-Agent": agent}, {"text": text}


CALLS = {
    "/v1/authorize": plain,
    "/v1/hooks/claude-code": hook,
    "/access/v1/evaluation": evaluation,
    "/access/v1/ext-authz/{path}": gateway,
}
"""A call as each door wants it: its headers and its body, with an agent and a string of any length."""

every_door = pytest.mark.parametrize("door", DOORS.values(), ids=lambda door: door.path)
every_body = pytest.mark.parametrize(
    "door", [door for door in DOORS.values() if door.read_at is None], ids=lambda door: door.path
)
"""The doors at which the body is the question; at others, method and target are."""


def open_to(monkeypatch, door, read):
    """The door reads calls in this way."""
    changed = replace(door, read=read, read_at=door.read_at and (lambda _method, _rest: read))
    monkeypatch.setitem(DOORS, door.target, changed)


class Caller:
    """Sends calls to one door of an application in this process. codes: of the refusals so far."""

    def __init__(self, door, tenant, agent, client, services, codes):
        self.door, self.agent, self.services, self.codes = door, agent, services, codes
        self._tenant, self._client = tenant, client

    async def send(self, text="x", *, key=None, query="", **headers):
        own, body = CALLS[self.door.path](self.agent, text)
        sent = {"Authorization": f"Bearer {key or self._tenant.read_key}", **own, **headers}
        return await self._client.post(
            self.door.path.replace("{path}", "x") + query, content=json.dumps(body), headers=sent
        )

    async def is_refused(self, code, text="x", **how):
        """Whether the call was refused for this reason and no other, by the codes that metrics count."""
        before = len(self.codes)
        answer = await self.send(text, **how)
        assert answer.headers["X-Request-ID"]
        return self.codes[before:] == [code]


@cache
def usual(store_url):
    """Making an application takes a quarter of a second; this one opens its services anew each time it starts."""
    return application(store_url)


def application(store_url, **settings):
    return create_app(Settings(redis_url=store_url, store_timeout_ms=10_000, **settings))


@asynccontextmanager
async def calling(store, tenant, monkeypatch, door, **settings):
    """A caller of this door, with an agent that may call everything."""
    app = application(store.url, **settings) if settings else usual(store.url)
    async with app.lifespan():
        services, codes = app.state.services, []
        monkeypatch.setattr(services.metrics, "refused", codes.append)
        agent = (await asyncio.to_thread(tenant.new_agent))["id"]
        await asyncio.to_thread(tenant.new_policy, agent)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://remit") as client:
            yield Caller(door, tenant, agent, client, services, codes)


@every_door
async def test_a_call_is_decided_and_logged_under_the_callers_request_id(store, tenant, monkeypatch, door):
    async with calling(store, tenant, monkeypatch, door) as caller:
        answer = await caller.send(**{"X-Request-ID": "mine"})
        assert (answer.status_code, answer.headers["X-Request-ID"]) == (200, "mine")
        assert len(await asyncio.to_thread(tenant.log, agent_id=caller.agent)) == 1
        assert caller.codes == []


@every_body
async def test_a_retry_with_the_same_idempotency_key_gets_the_first_answer(store, tenant, monkeypatch, door):
    async with calling(store, tenant, monkeypatch, door) as caller:
        once = {"Idempotency-Key": door.path}
        first, again = [await caller.send(**once) for _ in range(2)]
        assert first.content == again.content
        assert again.headers["Idempotency-Replayed"] == "true"
        assert await caller.is_refused("IDEMPOTENCY_CONFLICT", "y", **once)


@every_door
async def test_keys_scopes_and_sizes_are_checked(store, tenant, monkeypatch, door):
    """Each refusal leaves no entry."""
    audit_only = tenant.new_key(["audit"])["key"]
    async with calling(store, tenant, monkeypatch, door) as caller:
        assert await caller.is_refused("UNAUTHORIZED", key="svc_" + "0" * 32)
        assert await caller.is_refused("INSUFFICIENT_SCOPE", key=audit_only)
        assert await caller.is_refused("PAYLOAD_TOO_LARGE", "x" * MAX_CALL_BYTES)
        assert await asyncio.to_thread(tenant.log, agent_id=caller.agent) == []


@every_body
async def test_queries_and_compressed_bodies_are_refused(store, tenant, monkeypatch, door):
    """Neither leaves an entry."""
    async with calling(store, tenant, monkeypatch, door) as caller:
        assert await caller.is_refused("VALIDATION_ERROR", query="?dry_run=true")
        assert await caller.is_refused("UNSUPPORTED_ENCODING", **{"Content-Encoding": "gzip"})
        assert await asyncio.to_thread(tenant.log, agent_id=caller.agent) == []


@every_door
async def test_a_bound_key_asks_about_no_other_agent_at_any_door(store, tenant, monkeypatch, door):
    """Named by its id or by its alias; no refusal leaves an entry."""
    other = await asyncio.to_thread(tenant.new_agent)
    bound = (await asyncio.to_thread(tenant.new_key, ["authorize"], agents=[other["id"]]))["key"]
    async with calling(store, tenant, monkeypatch, door) as caller:
        agent, alias = caller.agent, f"of-{list(CALLS).index(door.path)}"
        await asyncio.to_thread(tenant.admin.patch, f"/v1/agents/{agent}", json={"alias": alias})
        for caller.agent in (agent, alias):
            assert await caller.is_refused("INSUFFICIENT_SCOPE", key=bound)
        assert await asyncio.to_thread(tenant.log, agent_id=agent) == []


@every_door
async def test_an_address_that_fails_too_often_is_locked_out(store, tenant, monkeypatch, door):
    """With other wrong keys, and with a key that has not worked here."""
    async with calling(store, tenant, monkeypatch, door, auth_failures_per_minute=2) as caller:
        for _ in range(2):
            assert await caller.is_refused("UNAUTHORIZED", key="svc_" + "0" * 32)
        assert await caller.is_refused("LOCKED_OUT", key="svc_" + "0" * 32)
        assert await caller.is_refused("LOCKED_OUT")


@every_door
async def test_a_key_that_asks_too_fast_is_refused_and_sees_it_coming(store, tenant, monkeypatch, door):
    """The first request shows the key to the replica and is not counted."""
    async with calling(store, tenant, monkeypatch, door, requests_per_second=1) as caller:
        await caller.send()
        assert (await caller.send()).headers["X-RateLimit-Remaining"] == "0"
        for _ in range(50):  # a bucket of one is full again after a second
            if await caller.is_refused("RATE_LIMITED"):
                break
        assert caller.codes == ["RATE_LIMITED"]


@every_door
async def test_a_large_call_waits_for_room(store, tenant, monkeypatch, door):
    """Its size counts from before its body is read until it is answered."""
    async with calling(store, tenant, monkeypatch, door) as caller:
        room = caller.services.decisions.large_calls
        assert (await caller.send("x" * 70_000)).status_code == 200
        assert room.total == 0
        for other in ("one", "another"):  # keys of the workspace, of which each gets half
            while room.has_room(tenant.id, other, 64 * 1024):
                room.enter(tenant.id, other, 64 * 1024)
        assert await caller.is_refused("OVERLOADED", "x" * 70_000)
        assert (await caller.send()).status_code == 200


@every_door
async def test_a_long_body_is_read_in_a_thread(store, tenant, monkeypatch, door):
    """In the loop, it would delay the calls of others."""
    threads = []

    def read(raw, reading):
        threads.append(threading.current_thread() is threading.main_thread())
        return door.read(raw, reading)

    open_to(monkeypatch, door, read)
    async with calling(store, tenant, monkeypatch, door) as caller:
        for size in (10, 1_000, IN_THE_LOOP_BYTES):
            assert (await caller.send("x" * size)).status_code == 200
    assert threads == [True, True, False]


@every_door
async def test_a_bug_in_a_door_is_a_refusal(store, tenant, monkeypatch, door):
    """Logged, and not a closed connection."""

    def read(_raw, _reading):
        raise RuntimeError("a bug")

    open_to(monkeypatch, door, read)
    async with calling(store, tenant, monkeypatch, door) as caller:
        assert await caller.is_refused(AppError.code)


@every_body
def test_other_methods_are_refused_and_options_lists_them(tenant, door):
    """With a slash at the end it is another path, at which nothing is served."""
    assert tenant.admin.get(door.path).status_code == 405
    assert tenant.admin.get(door.path).headers["Allow"] == "OPTIONS, POST"
    assert tenant.admin.get(f"{door.path}/").status_code == 404
    answer = tenant.admin.options(door.path)
    assert (answer.status_code, answer.headers["Allow"]) == (204, "OPTIONS, POST")


@every_door
async def test_the_fast_lane_takes_short_calls_at_every_door(door):
    """Past ASGI and the router; in any other spelling, or with a query, they take the long way."""
    dispatch = FarEnd(services=SimpleNamespace(decisions=object())).connection._dispatch
    asks = ["POST %b", *(["GET %bx", "PUT %bx/y/?a"] if door.read_at else [])]
    for line in asks:
        direct = dispatch.open(None, read_head(line.encode() % door.target + b" HTTP/1.1\r\nHost: h\r\n")).door
        assert direct.endpoint is door.endpoint
    for line in [] if door.read_at else ["GET %b", "POST %b/", "POST %b?a"]:
        head = read_head(line.encode() % door.target + b" HTTP/1.1\r\nHost: h\r\n")
        assert dispatch.open(None, head).door is None


def test_doors_are_found_by_their_target():
    """Each has an example; the target of some is only the beginning of a request's, which is part of the question."""
    assert {door.path for door in DOORS.values()} == {*CALLS}
    for target, door in DOORS.items():
        assert target == door.target
        assert target.endswith(b"/") is (door.read_at is not None)
