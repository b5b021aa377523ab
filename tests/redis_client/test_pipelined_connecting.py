"""How PipelinedClient connects, and what happens when it cannot."""

import asyncio
import ssl

import pytest
from scripted_server import OK, ScriptedServer, answer_of, echo

from app.errors import StoreUnavailable
from app.redis_client.pipelined import PipelinedClient
from app.redis_client.scripts import CHECK_KEY


@pytest.mark.parametrize("step", ["AUTH", "SELECT", "SCRIPT"])
async def test_a_server_that_hangs_up_in_the_handshake_is_unavailable(serve, connect, step):
    """At every step, once the previous step was answered."""

    async def answer(connection, command):
        await connection.say(OK)
        if step == "AUTH" or command[0] == {"SELECT": b"AUTH", "SCRIPT": b"SELECT"}[step]:
            connection.hang_up()

    server = await serve(answer, handshake=False)
    with pytest.raises(StoreUnavailable):
        await connect(server.url.replace("//", "//:pw@") + "/1", scripts=[CHECK_KEY, CHECK_KEY])


@pytest.mark.parametrize("reply", [b"-WRONGPASS invalid\r\n", b"-NOPERM this user\r\n", b"", b"?!\r\n"])
@pytest.mark.parametrize("step", [b"AUTH", b"SELECT", b"SCRIPT"])
async def test_an_opening_that_fails_leaves_nothing_behind(serve, step, reply):
    """No connection and no task, whether the server refuses, is silent or sends nonsense."""

    async def answer(connection, command):
        await connection.say(reply if command[0] == step else OK)

    server = await serve(answer, handshake=False)
    before = asyncio.all_tasks()
    link = PipelinedClient(server.url.replace("//", "//:pw@") + "/1", 50, [CHECK_KEY])

    with pytest.raises(StoreUnavailable):
        await link.open()

    await server.all_gone.wait()
    assert not {task for task in asyncio.all_tasks() - before if "ScriptedServer" not in repr(task)}


async def test_an_opening_that_is_cancelled_leaves_nothing_behind(serve):
    """Even while the server is silent in the handshake."""
    asked = asyncio.Event()

    async def answer(_, __):
        asked.set()

    server = await serve(answer, handshake=False)
    task = asyncio.create_task(PipelinedClient(server.url, 5_000, [CHECK_KEY]).open())
    await asked.wait()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await server.all_gone.wait()


async def test_closing_while_reconnecting_leaves_nothing_behind(serve, connect):
    """The connection being made is closed, too."""
    second = asyncio.Event()

    async def answer(connection, _):
        if connection.number == 0:
            await connection.say(OK)
            connection.hang_up()
        else:
            second.set()

    server = await serve(answer, handshake=False)
    link = await connect(server.url, scripts=[CHECK_KEY])
    await second.wait()

    await link.close()

    await server.all_gone.wait()


async def test_a_closed_client_fails_its_calls_and_takes_no_more(serve, connect):
    """No call hangs; closing it twice is harmless."""

    async def silent(_, __):
        pass

    server = await serve(silent)
    link = await connect(server.url)
    under_way = link.call("ECHO", "a")

    await link.close()
    await link.close()

    assert isinstance(under_way.exception(), StoreUnavailable)
    with pytest.raises(StoreUnavailable):
        link.call("ECHO", "b")


async def test_a_store_that_is_away_refuses_at_once(serve, connect):
    """I6: no queueing for a connection that may never come."""
    server = await serve(echo)
    link = await connect(server.url)
    await server.close()
    with pytest.raises(StoreUnavailable):
        await link.call("ECHO", "a")

    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        link.call("ECHO", "b")


async def test_the_link_comes_back_when_the_store_does(serve, connect):
    """On the same port, by itself."""
    server = await serve(echo)
    link = await connect(server.url)
    await server.close()
    with pytest.raises(StoreUnavailable):
        await link.call("ECHO", "a")

    back = ScriptedServer(echo)
    back.port = server.port
    await back.listen()

    assert await answer_of(link, "ECHO", "c") == "c"
    await link.close()
    await back.close()


async def test_a_server_that_hangs_up_at_once_is_retried_with_growing_pauses(serve, connect):
    """Each short-lived connection counts as a failure and lengthens the pause."""
    pauses = []
    enough = asyncio.Event()

    async def answer(connection, _):
        await connection.say(OK)
        connection.hang_up()

    async def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 12:
            enough.set()
        await asyncio.sleep(0)

    server = await serve(answer, handshake=False)
    link = await connect(server.url, scripts=[CHECK_KEY], sleep=pause)
    await enough.wait()
    await link.close()

    # One at once when the first was lost; from then on a pause before each.
    assert server.accepted <= len(pauses) + 2
    assert all(
        0.5 * longest <= taken <= longest for taken, longest in zip(pauses, (0.01, 0.02, 0.05, 0.1), strict=False)
    )
    assert all(0.25 <= taken <= 0.5 for taken in pauses[5:])


async def test_no_bug_stops_the_reconnecting(serve, connect, monkeypatch):
    """A client that gave up for good would mean 503 until a restart."""
    server = await serve(echo)
    link = await connect(server.url)
    right = link._connect
    failures = [ValueError("unforeseen"), KeyError("unforeseen")]

    async def sometimes_wrong():
        if failures:
            raise failures.pop()
        return await right()

    monkeypatch.setattr(link, "_connect", sometimes_wrong)
    await link.reset_connections()

    assert await answer_of(link, "ECHO", "back") == "back"
    assert not failures


@pytest.mark.parametrize(
    ("login", "wanted"),
    [
        (":s%40cret@", [[b"AUTH", b"s@cret"]]),
        ("remit:pw@", [[b"AUTH", b"remit", b"pw"]]),
        ("remit@", [[b"AUTH", b"remit", b""]]),
        ("", []),
    ],
)
async def test_the_url_logs_in_and_selects_the_database(serve, connect, login, wanted):
    """Before anything else is sent, and again on every new connection."""
    server = await serve(echo)
    link = await connect(server.url.replace("//", f"//{login}") + "/3", scripts=[CHECK_KEY])
    await link.reset_connections()
    await answer_of(link, "ECHO", "a")

    for number in (0, 1):
        sent = [command for connection, command in server.commands if connection == number]
        assert sent[: len(wanted) + 1] == [*wanted, [b"SELECT", b"3"]]
        assert sent[len(wanted) + 1][:2] == [b"SCRIPT", b"LOAD"]


async def test_a_unix_socket_is_a_url_too(serve, connect, tmp_path):
    """As with the embedded store."""
    path = tmp_path / "s"
    server = await serve(echo, path=path)
    link = await connect(f"unix://:pw@{path}?db=2")

    assert await link.call("ECHO", "a") == "a"
    assert server.names() == ["AUTH", "SELECT", "ECHO"]


async def test_tls_checks_the_certificate_and_then_works(serve, connect, certificate):
    """rediss:// with an authority that the URL names; without it the server is not trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.chain, certificate.key)
    server = await serve(echo, tls=context)
    url = f"rediss://127.0.0.1:{server.port}/0"

    link = await connect(f"{url}?ssl_ca_certs={certificate.chain}")

    texts = [str(n) * 50_000 for n in range(8)]
    assert await asyncio.gather(*(link.call("ECHO", text) for text in texts)) == texts
    with pytest.raises(StoreUnavailable):
        await connect(url)


async def test_tls_with_a_server_that_speaks_none_is_unavailable(serve, connect):
    """A handshake that cannot succeed ends instead of hanging."""

    async def silent(_, __):
        pass

    server = await serve(silent)
    with pytest.raises(StoreUnavailable):
        await connect(f"rediss://127.0.0.1:{server.port}/0", timeout_ms=100)
    await server.all_gone.wait()
