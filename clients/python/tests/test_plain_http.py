"""The connections that `AsyncRemit` opens by itself: used again where they can be, by one question at a time."""

import asyncio
import os

import pytest
from cases import PATIENT, YES
from service import answer

from remit_client import AsyncRemit, MalformedAnswer, Unavailable, calls
from remit_client._async import plain_http
from remit_client._async.plain_http import PlainConnections

KEY = "svc_" + "0" * 32


async def test_one_question_after_another_takes_one_connection(faulty):
    server = faulty(answer(200, YES))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        for _ in range(5):
            assert (await remit.authorize("bot", "tool")).allowed
    assert server.connections == 1


async def test_a_connection_that_the_server_has_left_is_not_used(faulty):
    """Whether the event loop has seen it or not."""
    server = faulty(answer(200, YES))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        for _ in range(3):
            assert (await remit.authorize("bot", "tool")).allowed
            server.hang_up()
    assert server.connections == 3


@pytest.mark.parametrize("header", ["Connection: close", "X: a\r\nConnection: Close"])
async def test_a_connection_that_the_server_wants_to_end_is_not_used(header, faulty):
    server = faulty(answer(200, YES, header))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        for _ in range(3):
            assert (await remit.authorize("bot", "tool")).allowed
    assert server.connections == 3


async def test_a_connection_that_was_idle_for_long_is_not_used(faulty, monkeypatch):
    monkeypatch.setattr(plain_http, "IDLE_S", -1)
    server = faulty(answer(200, YES))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        for _ in range(3):
            assert (await remit.authorize("bot", "tool")).allowed
    assert server.connections == 3


async def test_many_questions_at_once_share_a_number_of_connections(faulty, monkeypatch):
    """Each has its own answer, and none waits for ever."""
    monkeypatch.setattr(plain_http, "MOST_AT_ONCE", 5)
    server = faulty(answer(200, YES, "X-Request-ID: {id}"))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        answers = await asyncio.gather(*(remit.authorize("bot", str(number)) for number in range(50)))
    assert len(answers) == len(server.asked) == 50
    assert server.connections <= 5


async def test_who_waits_for_a_connection_waits_no_longer_than_the_deadline(faulty, monkeypatch):
    monkeypatch.setattr(plain_http, "MOST_AT_ONCE", 1)
    server = faulty(None)
    async with AsyncRemit(server.url, KEY, timeout=30) as patient, AsyncRemit(server.url, KEY, timeout=0.2) as hasty:
        hasty._connections = patient._connections
        first = asyncio.create_task(patient.authorize("bot", "first"))
        await asyncio.to_thread(server.was_asked.wait, 10)
        with pytest.raises(Unavailable, match="did not answer within"):
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


async def test_an_answer_without_end_is_given_up(faulty, monkeypatch):
    from remit_client import http_answers  # noqa: PLC0415 - beside what it changes

    monkeypatch.setattr(http_answers, "MAX_ANSWER_BYTES", 100)
    server = faulty(answer(200, ["x" * 100_000]))
    async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
        with pytest.raises(MalformedAnswer, match="64 MiB"):
            await remit.send(calls.list_changes())


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_proxies_and_options_are_left_to_httpx(name, monkeypatch):
    for one in {key for key in os.environ if key.lower().endswith("_proxy")}:
        monkeypatch.delenv(one)
    url = "http://127.0.0.1:1"
    assert isinstance(AsyncRemit(url, KEY)._connections, PlainConnections)
    assert not isinstance(AsyncRemit(url, KEY, http_options={"http2": False})._connections, PlainConnections)
    monkeypatch.setenv(name, "http://127.0.0.1:2")
    assert not isinstance(AsyncRemit(url, KEY)._connections, PlainConnections)
