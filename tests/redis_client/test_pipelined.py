"""PipelinedClient and server replies: complete, in pieces, wrong, or missing."""

import asyncio
import contextlib
import gc
import logging

import pytest
from scripted_server import answer_of, bulk, echo

from app.errors import StoreUnavailable
from app.redis_client.replies import StoreAway
from app.redis_client.scripts import CHECK_KEY


async def test_a_fragmented_reply_is_one_reply(serve, connect):
    """However the bytes are split."""

    async def answer(connection, command):
        reply = b"*3\r\n$2\r\nab\r\n:7\r\n*1\r\n" + bulk(command[1])
        await connection.say(*(reply[at : at + 1] for at in range(len(reply))))

    server = await serve(answer)
    link = await connect(server.url)

    replies = await asyncio.gather(*(link.call("ECHO", str(n)) for n in range(10)))

    assert replies == [["ab", 7, [str(n)]] for n in range(10)]


async def test_replies_of_a_megabyte_come_whole_and_in_order(serve, connect):
    """Large and small ones alternately."""
    server = await serve(echo)
    link = await connect(server.url)
    texts = [str(n) * (1_000_000 if n % 2 else 1) for n in range(8)]

    assert await asyncio.gather(*(link.call("ECHO", text) for text in texts)) == texts


async def test_invalid_utf_8_does_not_break_the_order(serve, connect):
    """A reply that is not UTF-8 still counts as one."""

    async def answer(connection, command):
        await connection.say(bulk(b"\xff\xfe" if command[1] == b"bad" else command[1]))

    server = await serve(answer)
    link = await connect(server.url)

    bad, good = await asyncio.gather(link.call("ECHO", "bad"), link.call("ECHO", "good"))

    assert (bad.encode(errors="surrogateescape"), good) == (b"\xff\xfe", "good")


async def test_half_a_reply_is_no_reply(serve, connect):
    """Every pending call fails, and the client reconnects by itself."""

    async def answer(connection, command):
        if connection.number == 0:
            await connection.say(b"$10\r\nabc")
            connection.hang_up()
        else:
            await echo(connection, command)

    server = await serve(answer)
    link = await connect(server.url)

    outcomes = await asyncio.gather(link.call("ECHO", "a"), link.call("ECHO", "b"), return_exceptions=True)

    assert [isinstance(each, StoreAway) for each in outcomes] == [True, True]
    assert await answer_of(link, "ECHO", "again") == "again"


async def test_a_silent_server_is_unavailable_and_the_connection_is_given_up(serve, connect):
    """I6: no answer within the deadline is a refusal; the next connection works."""

    async def answer(connection, command):
        if connection.number:
            await echo(connection, command)

    server = await serve(answer)
    link = await connect(server.url, timeout_ms=30)

    with pytest.raises(StoreUnavailable, match="in time"):
        await link.call("ECHO", "silence")

    assert await answer_of(link, "ECHO", "again") == "again"


@pytest.mark.parametrize("nonsense", [b"+one too many\r\n", b"!?\r\n", b"$-7\r\n", b"*1000000000000\r\n"])
async def test_a_server_that_breaks_the_protocol_is_left(serve, connect, caplog, nonsense):
    """Nothing it sends afterwards belongs to any call."""

    async def answer(connection, command):
        await connection.say(bulk(command[1]), nonsense if connection.number == 0 else b"")

    server = await serve(answer)
    link = await connect(server.url, timeout_ms=200)
    with contextlib.suppress(StoreUnavailable):
        await link.call("ECHO", "a")

    while server.accepted == 1:
        with contextlib.suppress(StoreUnavailable):
            await link.call("ECHO", "b")
        await asyncio.sleep(0)

    assert await answer_of(link, "ECHO", "c") == "c"
    assert "broke the protocol" in caplog.text


async def test_a_client_that_lost_trust_in_its_connection_opens_a_new_one(serve, connect):
    """If one reply did not match its command, all others are doubtful."""
    server = await serve(echo)
    link = await connect(server.url)

    await link.reset_connections()

    assert await answer_of(link, "ECHO", "a") == "a"
    assert server.accepted == 2


@pytest.mark.parametrize("code", ["LOADING", "OOM", "MISCONF", "BUSY", "NOREPLICAS", "ERR"])
async def test_a_command_that_the_store_refuses_is_unavailable_and_the_connection_stays(serve, connect, code):
    """I6: the message has the error's code, but not its text, which may contain arguments."""

    async def answer(connection, command):
        await connection.say(f"-{code} secret text\r\n".encode() if command[1] == b"bad" else bulk(command[1]))

    server = await serve(answer)
    link = await connect(server.url)

    with pytest.raises(StoreUnavailable, match=code) as caught:
        await link.call("ECHO", "bad")

    assert "secret" not in str(caught.value)
    assert await link.call("ECHO", "good") == "good"
    assert server.accepted == 1


@pytest.mark.parametrize(
    ("reply", "passes"),
    [
        ("LOADING Redis is loading the dataset in memory", True),
        ("ERR max number of clients reached", True),
        ("ERR unknown command", False),
        ("NOAUTH Authentication required.", False),
    ],
)
async def test_what_passes_by_itself_is_told_apart(serve, connect, reply, passes):
    """A start waits for a store that is loading or full of clients, and for none that refuses it."""

    async def answer(connection, _command):
        await connection.say(f"-{reply}\r\n".encode())

    link = await connect((await serve(answer)).url)

    with pytest.raises(StoreUnavailable) as caught:
        await link.call("ECHO", "a")

    assert isinstance(caught.value, StoreAway) is passes


async def test_a_store_that_became_a_replica_is_left(serve, connect):
    """On READONLY, because the URL's name may lead to another machine by now."""

    async def answer(connection, command):
        await connection.say(b"-READONLY You can't write\r\n" if connection.number == 0 else bulk(command[1]))

    server = await serve(answer)
    link = await connect(server.url)

    with pytest.raises(StoreUnavailable, match="READONLY"):
        await link.call("ECHO", "a")

    assert await answer_of(link, "ECHO", "b") == "b"
    assert server.accepted == 2


async def test_a_script_that_the_store_has_lost_is_sent_once_more(serve, connect):
    """NOSCRIPT means that it did not run; anything else is not retried."""

    async def answer(connection, command):
        await connection.say(b"-NOSCRIPT none\r\n" if command[0] == b"EVALSHA" else b"*1\r\n+valid\r\n")

    server = await serve(answer)
    link = await connect(server.url)

    assert await link.prepare(CHECK_KEY, ["k"], 1, [])("") == ["valid"]
    assert server.names() == ["EVALSHA", "EVAL"]


async def test_a_script_whose_reply_was_lost_is_not_sent_again(serve, connect):
    """It may have run, and a decision that runs twice counts twice."""

    async def answer(connection, _):
        connection.hang_up()

    server = await serve(answer)
    link = await connect(server.url)

    with pytest.raises(StoreUnavailable, match="not known"):
        await link.prepare(CHECK_KEY, ["k"], 1, [])("")

    assert [command[0] for _, command in server.commands] == [b"EVALSHA"]


async def test_an_error_that_nobody_waits_for_is_not_logged(serve, connect, caplog):
    """Its caller has gone, so the operator need not know."""

    async def answer(connection, command):
        await connection.say(b"-ERR no\r\n" if command[1] == b"bad" else bulk(command[1]))

    server = await serve(answer)
    link = await connect(server.url)
    caplog.set_level(logging.DEBUG, logger="asyncio")

    link.call("ECHO", "bad")
    await link.call("ECHO", "good")
    link.call("ECHO", "bad")
    await link.close()
    gc.collect()

    assert "never retrieved" not in caplog.text


async def test_a_cancelled_call_does_not_shift_the_others(serve, connect):
    """Its reply is read and dropped."""
    held = asyncio.Event()

    async def answer(connection, command):
        await held.wait()
        await echo(connection, command)

    server = await serve(answer)
    link = await connect(server.url)
    calls = [link.call("ECHO", str(n)) for n in range(6)]
    for call in calls[::2]:
        call.cancel()
    held.set()

    assert await asyncio.gather(*calls[1::2]) == ["1", "3", "5"]
