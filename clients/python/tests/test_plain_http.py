"""The clients' own connections: reused where possible, by one request at a time."""

import asyncio
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from cases import PATIENT, YES
from service import answer

from remit_client import AsyncRemit, MalformedAnswer, NotAnOutage, Refused, Remit, Unavailable, calls
from remit_client import _sync as synchronous
from remit_client._async import plain_http
from remit_client._async.plain_http import PlainConnections
from remit_client.gate import Run, ToolCall, gates

KEY = "svc_" + "0" * 32


async def test_one_connection_carries_one_request_after_another(faulty):
    server = faulty(answer(200, YES))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        for _ in range(5):
            assert (await remit.authorize("bot", "tool")).allowed
    assert server.connections == 1


async def test_a_connection_that_the_server_has_closed_is_not_used(faulty):
    """Whether or not the event loop has noticed."""
    server = faulty(answer(200, YES))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        for _ in range(3):
            assert (await remit.authorize("bot", "tool")).allowed
            server.hang_up()
    assert server.connections == 3


@pytest.mark.parametrize("header", ["Connection: close", "X: a\r\nConnection: Close"])
async def test_a_connection_that_the_server_wants_to_close_is_not_used(header, faulty):
    server = faulty(answer(200, YES, header))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        for _ in range(3):
            assert (await remit.authorize("bot", "tool")).allowed
    assert server.connections == 3


async def test_a_connection_that_was_idle_for_too_long_is_not_used(faulty, monkeypatch):
    monkeypatch.setattr(plain_http, "IDLE_S", -1)
    server = faulty(answer(200, YES))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        for _ in range(3):
            assert (await remit.authorize("bot", "tool")).allowed
    assert server.connections == 3


async def test_an_idle_connection_is_closed_although_nothing_asks_again(faulty, monkeypatch):
    monkeypatch.setattr(plain_http, "IDLE_S", 0.001)
    server = faulty(answer(200, YES))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        assert (await remit.authorize("bot", "tool")).allowed
        assert await asyncio.to_thread(server.was_left.wait, 60)


async def test_adapters_of_one_client_share_its_connections(faulty):
    """A program may make one for each run, and the service counts the connections of an address."""
    server = faulty(answer(200, YES))
    for kind in (Remit, AsyncRemit):
        remit, before = kind(server.url, KEY, **PATIENT), server.connections
        for _ in range(3):
            in_thread, awaited = gates(remit, "bot")
            assert isinstance(in_thread.judge(ToolCall("tool", {})), Run)
            assert isinstance(await awaited.judge(ToolCall("tool", {})), Run)
        assert server.connections == before + 2, "one of each kind"


async def test_concurrent_requests_share_a_limited_number_of_connections(faulty, monkeypatch):
    """Each has its own answer, and none waits for ever."""
    monkeypatch.setattr(plain_http, "MOST_AT_ONCE", 5)
    server = faulty(answer(200, YES, "X-Request-ID: {id}"))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        answers = await asyncio.gather(*(remit.authorize("bot", str(number)) for number in range(50)))
    assert len(answers) == len(server.asked) == 50
    assert server.connections <= 5


async def test_waiting_for_a_connection_ends_at_the_deadline(faulty, monkeypatch):
    monkeypatch.setattr(plain_http, "MOST_AT_ONCE", 1)
    server = faulty(None)
    async with AsyncRemit(server.url, KEY, timeout=30) as patient, AsyncRemit(server.url, KEY, timeout=0.2) as hasty:
        hasty._connections = patient._connections
        first = asyncio.create_task(patient.authorize("bot", "first"))
        await asyncio.to_thread(server.was_asked.wait, 10)
        with pytest.raises(NotAnOutage, match="calls at once"):
            await hasty.authorize("bot", "second")
        first.cancel()
    assert len(server.asked) == 1


async def test_a_header_cannot_begin_another_request(faulty):
    server = faulty(answer(200, []))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        call = calls.any_other("GET", "/v1/agents")
        for value in ("x\r\nX-Evil: 1", "x\n", "x\0"):
            object.__setattr__(call, "headers", {"If-None-Match": value})
            with pytest.raises(Unavailable, match="Illegal header"):
                await remit.send(call)
    assert not server.asked


async def test_an_endless_answer_is_given_up(faulty, monkeypatch):
    from remit_client import http_answers  # noqa: PLC0415 - beside what it changes

    monkeypatch.setattr(http_answers, "MAX_ANSWER_BYTES", 100)
    server = faulty(answer(200, ["x" * 100_000]))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        with pytest.raises(MalformedAnswer, match="64 MiB"):
            await remit.send(calls.list_changes())


class TestWithoutAnEventLoop:
    """`Remit`, whose threads share its connections."""

    def test_one_connection_carries_one_request_after_another(self, faulty):
        server = faulty(answer(200, YES))
        with Remit(server.url, KEY, **PATIENT) as remit:
            for _ in range(5):
                assert remit.authorize("bot", "tool").allowed
        assert server.connections == 1

    def test_a_connection_that_the_server_has_closed_is_not_used(self, faulty):
        server = faulty(answer(200, YES))
        with Remit(server.url, KEY, **PATIENT) as remit:
            for _ in range(3):
                assert remit.authorize("bot", "tool").allowed
                server.hang_up()
        assert server.connections == 3

    def test_a_connection_that_the_server_wants_to_close_is_not_used(self, faulty):
        server = faulty(answer(200, YES, "Connection: close"))
        with Remit(server.url, KEY, **PATIENT) as remit:
            for _ in range(3):
                assert remit.authorize("bot", "tool").allowed
        assert server.connections == 3

    def test_a_connection_that_was_idle_for_too_long_is_not_used(self, faulty, monkeypatch):
        monkeypatch.setattr(synchronous.plain_http, "IDLE_S", -1)
        server = faulty(answer(200, YES))
        with Remit(server.url, KEY, **PATIENT) as remit:
            for _ in range(3):
                assert remit.authorize("bot", "tool").allowed
        assert server.connections == 3

    def test_threads_share_a_limited_number_of_connections(self, faulty, monkeypatch):
        """Each has its own answer, and none waits for ever."""
        monkeypatch.setattr(synchronous.plain_http, "MOST_AT_ONCE", 5)
        server = faulty(answer(200, YES, "X-Request-ID: {id}"))
        with Remit(server.url, KEY, **PATIENT) as remit, ThreadPoolExecutor(20) as threads:
            answers = list(threads.map(lambda number: remit.authorize("bot", str(number)), range(100)))
        assert len(answers) == len(server.asked) == 100
        assert server.connections <= 5

    def test_waiting_for_a_connection_ends_at_the_deadline(self, faulty, monkeypatch):
        monkeypatch.setattr(synchronous.plain_http, "MOST_AT_ONCE", 1)
        server = faulty(None)
        with Remit(server.url, KEY, timeout=30) as patient, Remit(server.url, KEY, timeout=0.2) as hasty:
            hasty._connections = patient._connections

            def ask_first():
                with pytest.raises(Unavailable):
                    patient.authorize("bot", "first")

            first = threading.Thread(target=ask_first)
            first.start()
            assert server.was_asked.wait(10)
            with pytest.raises(NotAnOutage, match="calls at once"):
                hasty.authorize("bot", "second")
            server.hang_up()
            first.join()
        assert len(server.asked) == 1

    def test_a_header_cannot_begin_another_request(self, faulty):
        server = faulty(answer(200, []))
        with Remit(server.url, KEY, **PATIENT) as remit:
            call = calls.any_other("GET", "/v1/agents")
            object.__setattr__(call, "headers", {"If-None-Match": "x\r\nX-Evil: 1"})
            with pytest.raises(Unavailable, match="Illegal header"):
                remit.send(call)
        assert not server.asked

    def test_an_answer_to_half_a_request_is_read(self):
        """A server that refuses the body answers and hangs up; the caller needs the answer, not the broken pipe."""
        refusal = answer(413, {"error": {"code": "PAYLOAD_TOO_LARGE", "message": "at most 1 MiB"}})

        def refuse(listening):
            connection, _ = listening.accept()
            connection.recv(1000)
            connection.sendall(refusal)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 20):
                pass

        with socket.create_server(("127.0.0.1", 0)) as listening:
            threading.Thread(target=refuse, args=(listening,), daemon=True).start()
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with Remit(url, KEY, **PATIENT) as remit, pytest.raises(Refused, match="at most 1 MiB"):
                remit.authorize("bot", "tool", {"text": "x" * 10_000_000})

    def test_the_next_address_is_tried_where_one_refuses(self, faulty, monkeypatch):
        """For a name with an address of each family."""
        server = faulty(answer(200, YES))
        port = int(server.url.rpartition(":")[2])
        with socket.create_server(("127.0.0.1", 0)) as taken:
            closed = taken.getsockname()[1]
        both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", one)) for one in (closed, port)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
        with Remit("http://remit.example", KEY, **PATIENT) as remit:
            assert remit.authorize("bot", "tool").allowed


@pytest.mark.parametrize("client", [AsyncRemit, Remit])
@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_proxies_and_options_are_left_to_httpx(name, client, monkeypatch):
    for one in {key for key in os.environ if key.lower().endswith("_proxy")}:
        monkeypatch.delenv(one)
    url = "http://127.0.0.1:1"
    plain = (PlainConnections, synchronous.plain_http.PlainConnections)
    assert isinstance(client(url, KEY)._connections, plain)
    assert not isinstance(client(url, KEY, http_options={"http2": False})._connections, plain)
    monkeypatch.setenv(name, "http://127.0.0.1:2")
    assert not isinstance(client(url, KEY)._connections, plain)
