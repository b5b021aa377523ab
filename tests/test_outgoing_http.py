"""Requests to other services end: in time, within their size, at the first answer."""

import asyncio
from contextlib import asynccontextmanager, suppress

import httpcore
import pytest

from app.outgoing_http import Unanswered, request


@asynccontextmanager
async def answering(*pieces, hangs=False):
    """The URL of a service that answers so, and the requests that it gets."""
    requests, ends = [], []

    async def answer(reader, writer):
        ends.append(asyncio.current_task())
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.writelines(pieces)
        if hangs:
            await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/there", requests
        await asyncio.gather(*ends)


async def ask(url, seconds=60.0, most=10):
    return await request("POST", url, [("User-Agent", "Remit")], b"sent", seconds=seconds, most=most)


async def test_any_status_is_an_answer_and_redirects_are_not_followed():
    """Whoever asks decides what a status means."""
    moved = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 2\r\n\r\nno"
    async with answering(moved) as (url, requests):
        answer = await ask(url)
    assert (answer.status, answer.body) == (302, b"no")
    assert (b"Location", b"/elsewhere") in answer.headers
    assert [each.split(b"\r\n")[0] for each in requests] == [b"POST /there HTTP/1.1"]


@pytest.mark.parametrize(
    ("pieces", "message", "cause"),
    [
        ((), "gave no answer (TimeoutError)", TimeoutError),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nslow",), "gave no answer (TimeoutError)", TimeoutError),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", b"x" * 11), "answered more than 10 bytes", type(None)),
        ((b"nonsense\r\n\r\n",), "gave no answer (RemoteProtocolError)", httpcore.RemoteProtocolError),
    ],
)
async def test_what_gives_no_whole_answer_is_unanswered(pieces, message, cause):
    """Silent, slow, endless or something else than HTTP: each with what it did."""
    async with answering(*pieces, hangs=True) as (url, _):
        with pytest.raises(Unanswered) as found:
            await ask(url, seconds=0.2 if cause is TimeoutError else 60.0)
    assert str(found.value) == message
    assert isinstance(found.value.cause, cause)


async def test_nobody_there_is_unanswered_once():
    """There is no second attempt, which might do a thing twice."""
    with pytest.raises(Unanswered, match="ConnectError"):
        await ask("http://127.0.0.1:9/")
    async with answering() as (url, requests):
        with pytest.raises(Unanswered):
            await ask(url)
    assert len(requests) == 1


async def test_a_body_that_is_not_wanted_is_not_read():
    """The answer is there when its head is."""
    async with answering(b"HTTP/1.1 204 Done\r\nContent-Length: 9\r\n\r\n", hangs=True) as (url, _):
        assert await ask(url, most=0) == (204, [(b"Content-Length", b"9")], b"")
