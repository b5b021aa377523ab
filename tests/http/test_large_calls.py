"""Calls of up to 1 MiB: judged whole, logged shortened, and bounded."""

import json
import select
import socket
import threading
from contextlib import ExitStack

import httpx
import pytest
from approval_steps import SECRET
from msgspec.structs import replace
from servers import Replica
from tenants import Tenant

from app.errors import Overloaded
from app.http.api.authorize import AUTHORIZE
from app.http.bodies import MAX_BODY_BYTES
from app.http.doors import DOORS
from app.http.hot_path import IN_THE_LOOP_BYTES
from app.main import create_app
from app.redaction.recording import MAX_RECORDED_BYTES, QUICK_BYTES
from app.redaction.signer import Purpose, Signer
from app.runtime.fairness.shares import LargeCalls
from app.settings import Settings

MAX_CALL_BYTES = Settings().call_bytes_max

BEYOND = "413 PAYLOAD_TOO_LARGE"


@pytest.fixture
def writer(store, asking_replica):
    """A workspace whose one agent may write files with a certain ending."""
    tenant = Tenant(store.url, asking_replica)
    tenant.agent = tenant.new_agent()["id"]
    rules = [{"type": "parameter_constraint", "tools": ["file.write"], "parameters": {"content": {"regex": "end$"}}}]
    tenant.new_policy(tenant.agent, *rules)
    yield tenant
    tenant.close()


def body_of(tenant, size, end="end"):
    """A call of exactly this many bytes, and the text in it."""
    call = {"agent_id": tenant.agent, "tool_name": "file.write", "parameters": {"path": "a", "content": end}}
    text = "x" * (size - len(json.dumps(call))) + end
    return json.dumps(call | {"parameters": {"path": "a", "content": text}}).encode(), text


def test_a_parameter_of_1_mib_is_judged(writer):
    """Together with what surrounds it, as an MCP proxy sends it."""
    parameters = {"content": "x" * ((1 << 20) - 3) + "end"}
    call = {"agent_id": writer.agent, "tool_name": "file.write", "parameters": parameters}
    answer = writer.reader.post("/v1/authorize", json=call | {"context": {"session": "s" * 255}})
    assert answer.json()["allowed"]


@pytest.mark.parametrize(("end", "allowed"), [("end", True), ("END", False)])
def test_a_call_of_1_mib_is_judged_to_its_last_byte(writer, end, allowed):
    """The policy sees the whole string; the entry has its beginning, length and MAC."""
    body, text = body_of(writer, MAX_CALL_BYTES, end)
    answer = writer.reader.post("/v1/authorize", content=body)

    assert (answer.status_code, answer.json()["allowed"]) == (200, allowed)
    (entry,) = writer.log()
    mac = Signer([SECRET.encode()]).mac(Purpose.LONG_TEXT, f"{writer.id} {text}".encode())
    assert entry["parameters"] == {
        "path": "a",
        "content": {"beginning": text[:256], "length": len(text), "hmac": mac},
    }


def test_a_byte_more_is_413_however_it_is_sent(writer):
    """Announced or in chunks, on the direct path and through the ASGI server."""
    body, _ = body_of(writer, MAX_CALL_BYTES + 1)
    for path in ("/v1/authorize", "/v1/authorize?"):
        for content in (body, iter([body])):
            answer = writer.reader.post(path, content=content)
            assert f"{answer.status_code} {answer.json()['error']['code']}" == BEYOND
            assert f"more than {MAX_CALL_BYTES} bytes" in answer.json()["error"]["message"]
    assert writer.log() == []


@pytest.mark.slow
def test_the_setting_bounds_the_body(store):
    """A smaller limit accepts less."""
    small = Replica(store.url, REMIT_CALL_BYTES_MAX=str(64 * 1024), REMIT_COMPACT="false")
    tenant = Tenant(store.url, small)
    try:
        tenant.agent = tenant.new_agent()["id"]
        assert tenant.reader.post("/v1/authorize", content=body_of(tenant, 64 * 1024)[0]).status_code == 200
        assert tenant.reader.post("/v1/authorize", content=body_of(tenant, 64 * 1024 + 1)[0]).status_code == 413
    finally:
        tenant.close()
        small.stop()


SPREAD = {
    "numbers": lambda size: {"a": [10] * (size // 3)},
    "short texts": lambda size: {"a": ["x" * 2_000] * (size // 2_004)},
    "names": lambda size: {"x" * 2_000 + str(number): 0 for number in range(size // 2_010)},
}


@pytest.mark.parametrize("made", SPREAD.values(), ids=SPREAD)
@pytest.mark.parametrize("size", [MAX_RECORDED_BYTES + 4096, MAX_BODY_BYTES + 4096, MAX_CALL_BYTES - 4096])
def test_parameters_that_do_not_fit_into_an_entry_are_413(writer, made, size):
    """Only long strings are shortened, and an entry has a bound."""
    call = {"agent_id": writer.agent, "tool_name": "file.write", "parameters": made(size)}
    answer = writer.reader.post("/v1/authorize", json=call)
    assert f"{answer.status_code} {answer.json()['error']['code']}" == BEYOND
    assert writer.log() == []


def test_the_hook_of_a_coding_agent_takes_large_files(writer):
    """Because its Write tool sends whole files."""
    rules = [{"type": "parameter_constraint", "tools": ["Write"], "parameters": {"content": {"regex": "end$"}}}]
    writer.new_policy(writer.agent, *rules)
    call = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "tool_name": "Write",
        "tool_input": {"content": "x" * 900_000 + "end"},
    }
    headers = {"X-Remit-Agent": writer.agent}
    answer = writer.reader.post("/v1/hooks/claude-code", json=call, headers=headers).json()
    assert answer["hookSpecificOutput"]["permissionDecision"] == "allow"


def test_an_approval_is_bound_to_all_of_a_large_call(writer):
    """One byte in the middle makes it another call, although the entries differ only in the MAC."""
    writer.new_policy(writer.agent, {"type": "approval_required", "tools": ["*"]}, name="asks", kind="guardrail")
    body, _ = body_of(writer, 500_000)
    middle = len(body) // 2
    other = body[:middle] + b"y" + body[middle + 1 :]

    asked = [writer.reader.post("/v1/authorize", content=each).json()["approval"]["id"] for each in (body, other, body)]

    assert asked[0] == asked[2] != asked[1]


def test_the_same_key_for_another_large_body_is_409(writer):
    """Bytes beyond the beginning count, too."""
    headers = {"Idempotency-Key": "large"}
    first, other = (body_of(writer, 300_000, end)[0] for end in ("end", "END"))
    assert writer.reader.post("/v1/authorize", content=first, headers=headers).status_code == 200
    assert writer.reader.post("/v1/authorize", content=other, headers=headers).status_code == 409


# What one caller can take from the others.


async def test_a_large_call_is_read_in_a_thread(store, tenant, monkeypatch):
    """A small one is read in the loop, which is faster; the limit is lower if secrets must be looked for."""
    threads = []

    def read(*args):
        threads.append(threading.current_thread() is threading.main_thread())
        return AUTHORIZE.read(*args)

    monkeypatch.setitem(DOORS, AUTHORIZE.target, replace(AUTHORIZE, read=read))
    tenant.agent = tenant.new_agent()["id"]
    app = create_app(Settings(redis_url=store.url, store_timeout_ms=10_000))
    async with app.lifespan():
        transport = httpx.ASGITransport(app)
        headers = {"Authorization": f"Bearer {tenant.read_key}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://remit", headers=headers) as client:
            for size in (1_000, IN_THE_LOOP_BYTES, IN_THE_LOOP_BYTES + 1, MAX_CALL_BYTES):
                answer = await client.post("/v1/authorize", content=body_of(tenant, size)[0])
                assert answer.status_code == 200
            for size in (QUICK_BYTES, QUICK_BYTES + 100):
                body = body_of(tenant, size)[0].replace(b"xxxxxxxx", b"password", 1)
                assert (await client.post("/v1/authorize", content=body)).status_code == 200
    assert threads == [True, True, False, False, True, False]


def test_a_workspace_has_its_share_and_others_have_theirs():
    """Whatever another workspace announces. An answered call makes room."""
    room = LargeCalls(in_all=40, per_workspace=20)
    for workspace_id, key, size in (("a", "a1", 10), ("a", "a2", 10), ("b", "b1", 10), ("b", "b2", 5)):
        room.enter(workspace_id, key, size)
    assert not room.has_room("a", "a3")
    assert not room.has_room("c", "c1", 6)
    with pytest.raises(Overloaded):
        room.enter("c", "c1", 6)
    room.enter("c", "c1", 5)
    room.leave("b", "b1", 10)
    room.leave("b", "b2", 5)
    room.enter("c", "c2", 10)
    assert room.total == 35
    for left in (("a", "a1", 10), ("a", "a2", 10), ("c", "c1", 5), ("c", "c2", 10)):
        room.leave(*left)
    assert (room.total, len(room._of_workspaces), len(room._of_keys)) == (0, 0, 0)


def test_a_key_has_half_of_its_workspace():
    """The rest is for the other keys; a person with sessions in two workspaces has half of each."""
    room = LargeCalls(in_all=40, per_workspace=20)
    room.enter("a", "storm", 10)
    assert not room.has_room("a", "storm")
    assert room.has_room("a", "calm", 10)
    assert room.has_room("b", "storm", 10)


def test_megabytes_announced_but_never_sent_block_only_the_key(writer, store, asking_replica):
    """Eight of them fill the key's share: one more is 503 and nothing is decided; other keys and workspaces go on."""
    other = Tenant(store.url, asking_replica)
    other.agent = other.new_agent()["id"]
    body, _ = body_of(writer, MAX_CALL_BYTES)
    head = (
        f"POST /v1/authorize HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {writer.read_key}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    writer.authorize(writer.agent, "file.read")  # the replica knows the key, so it waits for the bodies
    with ExitStack() as stack:
        stack.callback(other.close)
        address = ("127.0.0.1", asking_replica.port)
        sent = {}
        for count in [len(body) - 1] * 8 + [40 * 1024]:
            sender = stack.enter_context(socket.create_connection(address, 10))
            sender.sendall(head + body[:count])
            sent[sender] = count

        [refused] = select.select(sent, [], [], 10)[0]  # whichever the replica came to last
        answer = refused.recv(4096)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b'"OVERLOADED"' in answer

        assert other.reader.post("/v1/authorize", content=body_of(other, MAX_CALL_BYTES)[0]).status_code == 200
        assert writer.admin.post("/v1/authorize", content=body).status_code == 200
        assert writer.authorize(writer.agent, "file.read")["allowed"] is False
        del sent[refused]
        for each, count in sent.items():
            each.sendall(body[count:])
            assert each.recv(4096).startswith(b"HTTP/1.1 200 ")
    assert writer.reader.post("/v1/authorize", content=body).status_code == 200


def test_a_stranger_is_refused_before_its_body_is_read(writer, asking_replica):
    """None of its body is kept."""
    head = (
        f"POST /v1/authorize HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer svc_{'0' * 32}\r\n"
        f"Content-Length: {MAX_CALL_BYTES}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", asking_replica.port), timeout=10) as connection:
        connection.sendall(head)
        assert connection.recv(4096).startswith(b"HTTP/1.1 401 ")
