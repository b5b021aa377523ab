"""Streamed answers: how many a key may have, and what ends them."""

import asyncio
import json
import time
from contextlib import ExitStack, asynccontextmanager
from types import SimpleNamespace

import httpx
import pytest
from servers import Replica
from tenants import tenant_on

from app.errors import Unauthorized
from app.http.open_streams import while_valid
from app.store.shared_polling import Polled


@pytest.fixture(scope="module")
def narrow(store):
    """A replica that lets a key have two streams."""
    running = Replica(store.url, REMIT_STREAMS_PER_KEY="2", REMIT_COMPACT="false")
    yield running
    running.stop()


tenant = tenant_on("narrow")


def open_stream(stack, tenant, key, path="/v1/audit-logs/stream"):
    """A stream whose first event has arrived."""
    headers = {"Authorization": f"Bearer {key}"}
    url = f"{tenant.admin.base_url}{path}"
    answer = stack.enter_context(httpx.stream("GET", url, headers=headers, timeout=30))
    lines = answer.iter_lines() if answer.status_code == 200 else None
    if lines is not None:
        assert next(lines).startswith(("id: ", ": listening"))
    return answer, lines


@pytest.mark.slow
def test_a_key_has_a_limited_number_of_streams(tenant):
    """One more is 429 with a message; other keys are not affected, and a closed stream makes room."""
    with ExitStack() as all_streams:
        with ExitStack() as two:
            for _ in range(2):
                open_stream(two, tenant, tenant.read_key)
            refused, _ = open_stream(two, tenant, tenant.read_key)
            refused.read()
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "TOO_MANY_STREAMS")
            assert "has 2 streams and exports open on this replica" in refused.json()["error"]["message"]
            assert tenant.reader.get("/v1/audit-logs/export").status_code == 429
            assert open_stream(all_streams, tenant, tenant.admin_key)[0].status_code == 200
        # A closed stream is noticed when something is written to it, which is at once.
        until(lambda: tenant.reader.get("/v1/audit-logs/export").status_code == 200)
        assert open_stream(all_streams, tenant, tenant.read_key)[0].status_code == 200


def until(claim):
    deadline = time.monotonic() + 60
    while not claim():
        assert time.monotonic() < deadline


@pytest.mark.slow
def test_an_export_gives_its_place_back(tenant):
    """However often exports are run."""
    assert {tenant.reader.get("/v1/audit-logs/export").status_code for _ in range(6)} == {200}


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/audit-logs/stream", "/v1/approvals/stream"])
def test_an_idle_stream_ends_when_its_key_is_revoked(tenant, path):
    """Even without any event."""
    made = tenant.new_key(["read"])
    with ExitStack() as stack:
        _, lines = open_stream(stack, tenant, made["key"], path)
        tenant.admin.delete(f"/v1/api-keys/{made['id']}").raise_for_status()
        assert [line for line in lines if line.startswith(("data", ":"))] == []


@pytest.mark.slow
def test_a_key_has_a_limited_number_of_approval_streams(tenant):
    """They count together with streams of the log; a closed one makes room."""
    found = []
    while not found or (found[-1] == 200 and len(found) < 5):  # a stream ends if its key cannot be checked in time
        key = tenant.new_key(["read"])["key"]
        with ExitStack() as streams, httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=30) as reader:
            for path in ("/v1/approvals/stream", "/v1/audit-logs/stream"):
                open_stream(streams, tenant, key, path)
            third, lines = open_stream(streams, tenant, key, "/v1/approvals/stream")
            found.append(third.status_code)
            if lines is None:
                assert json.loads(third.read())["error"]["code"] == "TOO_MANY_STREAMS"
            streams.close()
            until(lambda: reader.get(f"{tenant.admin.base_url}/v1/audit-logs/export").status_code == 200)
    assert found[-1] == 429, found


async def test_an_export_ends_without_its_end_when_its_key_is_revoked():
    """Nothing more is sent, so the export does not look complete."""
    known = Polled("caller")

    @asynccontextmanager
    async def on(_raw_key, _wake):
        yield known

    async def pieces():
        for each in (b"one", b"two", b"end"):
            yield each

    streams, sent = SimpleNamespace(callers=SimpleNamespace(on=on), stopping=asyncio.Event()), []
    async for piece in while_valid(streams, "svc_", pieces()):
        sent.append(piece)
        known.show("caller", Unauthorized("revoked") if len(sent) == 2 else None)
        await asyncio.sleep(0)
    assert sent == [b"one", b"two"]


async def test_an_export_ends_without_its_end_when_the_replica_stops():
    """The replica does not wait for a slow reader; without its end, the file is recognisably incomplete."""

    @asynccontextmanager
    async def on(_raw_key, _wake):
        yield Polled("caller")

    async def pieces():
        for each in (b"one", b"two", b"end"):
            yield each

    streams, sent = SimpleNamespace(callers=SimpleNamespace(on=on), stopping=asyncio.Event()), []
    async for piece in while_valid(streams, "svc_", pieces()):
        sent.append(piece)
        streams.stopping.set()
    assert sent == [b"one"]
