"""PipelinedLink against a server that misbehaves on the wire."""

import asyncio
import contextlib
import gc
import logging
import ssl

import pytest
from scripted_server import OK, ScriptedServer, bulk, echo

from app.errors import StoreUnavailable
from app.store.link import PipelinedLink, _Wire
from app.store.scripts import CHECK_KEY


@pytest.fixture
async def stack():
    """Closes what a test opened, the latest first."""
    async with contextlib.AsyncExitStack() as opened:
        yield opened


@pytest.fixture
def serve(stack):
    """Starts a scripted server."""

    async def start(answer, *, handshake=True, **options) -> ScriptedServer:
        server = await ScriptedServer(answer, handshake=handshake).listen(**options)
        stack.push_async_callback(server.close)
        return server

    return start


@pytest.fixture
def connect(stack):
    """Opens a link."""

    async def start(url, timeout_ms=2_000, **options) -> PipelinedLink:
        link = PipelinedLink(url, timeout_ms, **options)
        await link.open()
        stack.push_async_callback(link.close)
        return link

    return start


async def answer_of(link, *command):
    """The reply, asked for again until the link has reconnected."""
    while True:
        try:
            return await link.call(*command)
        except StoreUnavailable:
            await asyncio.sleep(0.005)


async def test_a_reply_that_comes_in_fragments_is_one_reply(serve, connect):
    """Every split of the bytes gives the same replies."""

    async def answer(connection, command):
        reply = b"*3\r\n$2\r\nab\r\n:7\r\n*1\r\n" + bulk(command[1])
        await connection.say(*(reply[at : at + 1] for at in range(len(reply))))

    server = await serve(answer)
    link = await connect(server.url)

    replies = await asyncio.gather(*(link.call("ECHO", str(n)) for n in range(10)))

    assert replies == [["ab", 7, [str(n)]] for n in range(10)]


async def test_replies_of_a_megabyte_come_whole_and_in_order(serve, connect):
    """Large and small ones in turn."""
    server = await serve(echo)
    link = await connect(server.url)
    texts = [str(n) * (1_000_000 if n % 2 else 1) for n in range(8)]

    assert await asyncio.gather(*(link.call("ECHO", text) for text in texts)) == texts


async def test_bytes_that_are_no_text_do_not_break_the_order(serve, connect):
    """A reply that is not UTF-8 is still one reply."""

    async def answer(connection, command):
        await connection.say(bulk(b"\xff\xfe" if command[1] == b"bad" else command[1]))

    server = await serve(answer)
    link = await connect(server.url)

    bad, good = await asyncio.gather(link.call("ECHO", "bad"), link.call("ECHO", "good"))

    assert (bad.encode(errors="surrogateescape"), good) == (b"\xff\xfe", "good")


async def test_a_server_that_dies_in_the_middle_of_a_reply_gave_none(serve, connect):
    """Every call under way fails, and the link comes back by itself."""

    async def answer(connection, command):
        if connection.number == 0:
            await connection.say(b"$10\r\nabc")
            connection.hang_up()
        else:
            await echo(connection, command)

    server = await serve(answer)
    link = await connect(server.url)

    outcomes = await asyncio.gather(link.call("ECHO", "a"), link.call("ECHO", "b"), return_exceptions=True)

    assert [type(each) for each in outcomes] == [StoreUnavailable, StoreUnavailable]
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


class Hand:
    """A loop's clock that a test turns by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, object]] = []

    def time(self) -> float:
        return self.now

    def create_future(self):
        return asyncio.get_running_loop().create_future()

    def call_soon(self, act):
        """Writing is not what these tests look at."""

    def call_later(self, delay, act):
        self.due.append((self.now + delay, act))
        return self

    def cancel(self) -> None:
        self.due.clear()

    def turn_to(self, now: float) -> None:
        """What is due by `now` happens, each at its own time."""
        while self.due and min(self.due, key=lambda each: each[0])[0] <= now:
            self.due.sort(key=lambda each: each[0])
            self.now, act = self.due.pop(0)
            act()
        self.now = now


class Socket:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.aborted = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def abort(self) -> None:
        self.aborted = True


@pytest.fixture
def hand():
    return Hand()


@pytest.fixture
async def wire(hand):
    """A wire with a deadline of one second, on a clock turned by hand."""
    made = _Wire(hand, 1.0, lambda _commands: None)
    made.connection_made(Socket())
    return made


@pytest.mark.parametrize("sent_at", [0.0, 0.1, 0.3, 0.999, 7.25])
async def test_a_call_is_late_at_its_deadline_and_not_before(hand, wire, sent_at):
    """Whenever it was sent: after one second, and the moment in which the loop reads once more, it is given up."""
    hand.turn_to(sent_at)
    wire.send(b"PING")

    hand.turn_to(sent_at + 0.999)
    assert not wire._transport.aborted
    hand.turn_to(sent_at + 1.01)
    assert wire._transport.aborted


async def test_a_wire_whose_replies_flow_is_not_late(hand, wire):
    """The deadline is each call's own, not the connection's."""
    for tenth in range(1, 100):
        future = wire.send(b"PING")
        hand.turn_to(tenth / 10)
        wire.data_received(b"+PONG\r\n")
        assert await future == "PONG"
    assert not wire._transport.aborted


async def test_a_reply_that_the_loop_had_no_time_to_read_is_not_late(hand, wire):
    """The socket is read once more before a call is given up: it may be we who were late."""
    future = wire.send(b"PING")
    hand.now = 5.0
    [(_, check)] = hand.due
    hand.due.clear()

    check()
    wire.data_received(b"+PONG\r\n")
    hand.turn_to(5.9)

    assert await future == "PONG"
    assert not wire._transport.aborted


async def test_commands_of_one_tick_leave_in_one_write(serve, connect):
    """And in the order in which they were called."""
    made = _Wire(asyncio.get_running_loop(), 1.0, lambda _commands: None)
    made.connection_made(Socket())
    futures = [made.send(b"one"), made.send(b"two")]
    await asyncio.sleep(0)
    futures.append(made.send(b"three"))
    await asyncio.sleep(0)

    assert made._transport.written == [b"onetwo", b"three"]
    made.connection_lost(None)
    assert all(future.done() for future in futures)


async def test_a_wire_that_was_lost_takes_no_more_commands(wire):
    """What is sent between the loss and the reconnection fails at once, and waits for nobody."""
    wire.connection_lost(None)
    with pytest.raises(StoreUnavailable):
        wire.send(b"PING")


async def test_a_wire_that_was_lost_watches_no_deadline(hand, wire):
    """Or every reconnection would leave a timer behind."""
    wire.connection_lost(None)
    assert hand.due == []


@pytest.mark.parametrize("step", ["AUTH", "SELECT", "SCRIPT"])
async def test_a_server_that_hangs_up_in_the_handshake_is_unavailable(serve, connect, step):
    """At every step of it, after the step before was answered."""

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
    """No connection and no task, whether the server refuses, says nothing or talks nonsense."""

    async def answer(connection, command):
        await connection.say(reply if command[0] == step else OK)

    server = await serve(answer, handshake=False)
    before = asyncio.all_tasks()
    link = PipelinedLink(server.url.replace("//", "//:pw@") + "/1", 50, [CHECK_KEY])

    with pytest.raises(StoreUnavailable):
        await link.open()

    await server.all_gone.wait()
    assert not {task for task in asyncio.all_tasks() - before if "ScriptedServer" not in repr(task)}


async def test_an_opening_that_is_cancelled_leaves_nothing_behind(serve):
    """Also while the server is silent in the handshake."""
    asked = asyncio.Event()

    async def answer(_, __):
        asked.set()

    server = await serve(answer, handshake=False)
    task = asyncio.create_task(PipelinedLink(server.url, 5_000, [CHECK_KEY]).open())
    await asked.wait()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await server.all_gone.wait()


async def test_closing_while_reconnecting_leaves_nothing_behind(serve, connect):
    """The connection that was about to be made is closed too."""
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


async def test_a_link_that_was_closed_has_failed_its_calls_and_takes_no_more(serve, connect):
    """Nothing hangs on a link that is gone; closing it twice is closing it."""

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
    """On the same port, without anybody asking for it."""
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


async def test_a_server_that_accepts_and_hangs_up_is_not_asked_in_a_spin(serve, connect):
    """Each short-lived connection is followed by a longer pause, as if it had failed."""
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
    link = await connect(server.url, scripts=[CHECK_KEY], pause=pause)
    await enough.wait()
    await link.close()

    # One at once when the first was lost; from then on a pause before each.
    assert server.accepted <= len(pauses) + 2
    assert all(
        0.5 * longest <= taken <= longest for taken, longest in zip(pauses, (0.01, 0.02, 0.05, 0.1), strict=False)
    )
    assert all(0.25 <= taken <= 0.5 for taken in pauses[5:])


async def test_no_mistake_of_ours_stops_the_reconnecting(serve, connect, monkeypatch):
    """A link that gave up for good would be 503 until somebody restarts the replica."""
    server = await serve(echo)
    link = await connect(server.url)
    right = link._connect
    failures = [ValueError("unforeseen"), KeyError("unforeseen")]

    async def sometimes_wrong():
        if failures:
            raise failures.pop()
        return await right()

    monkeypatch.setattr(link, "_connect", sometimes_wrong)
    await link.distrust()

    assert await answer_of(link, "ECHO", "back") == "back"
    assert not failures


@pytest.mark.parametrize("nonsense", [b"+one too many\r\n", b"!?\r\n", b"$-7\r\n", b"*1000000000000\r\n"])
async def test_a_server_that_breaks_the_protocol_is_left(serve, connect, caplog, nonsense):
    """What it says after that belongs to no call."""

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


async def test_a_link_that_is_not_trusted_any_more_takes_a_new_connection(serve, connect):
    """One reply that was not its command's makes every other doubtful."""
    server = await serve(echo)
    link = await connect(server.url)

    await link.distrust()

    assert await answer_of(link, "ECHO", "a") == "a"
    assert server.accepted == 2


@pytest.mark.parametrize("code", ["LOADING", "OOM", "MISCONF", "BUSY", "NOREPLICAS", "ERR"])
async def test_a_command_that_the_store_refuses_is_unavailable_and_the_connection_stays(serve, connect, code):
    """I6: the sentence has the code and nothing of the store's text, which may hold arguments."""

    async def answer(connection, command):
        await connection.say(f"-{code} secret text\r\n".encode() if command[1] == b"bad" else bulk(command[1]))

    server = await serve(answer)
    link = await connect(server.url)

    with pytest.raises(StoreUnavailable, match=code) as caught:
        await link.call("ECHO", "bad")

    assert "secret" not in str(caught.value)
    assert await link.call("ECHO", "good") == "good"
    assert server.accepted == 1


async def test_a_store_that_became_a_replica_is_left(serve, connect):
    """READONLY: the name in the URL may lead to another machine by now."""

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

    assert await link.run(CHECK_KEY, ["k"], [""]) == ["valid"]
    assert server.names() == ["EVALSHA", "EVAL"]


async def test_a_script_whose_reply_was_lost_is_not_sent_again(serve, connect):
    """It may have run; a decision that runs twice takes two calls from a quota."""

    async def answer(connection, _):
        connection.hang_up()

    server = await serve(answer)
    link = await connect(server.url)

    with pytest.raises(StoreUnavailable, match="not known"):
        await link.run(CHECK_KEY, ["k"], [""])

    assert [command[0] for _, command in server.commands] == [b"EVALSHA"]


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
    await link.distrust()
    await answer_of(link, "ECHO", "a")

    for number in (0, 1):
        sent = [command for connection, command in server.commands if connection == number]
        assert sent[: len(wanted) + 1] == [*wanted, [b"SELECT", b"3"]]
        assert sent[len(wanted) + 1][:2] == [b"SCRIPT", b"LOAD"]


async def test_a_unix_socket_is_a_url_too(serve, connect, tmp_path):
    """As the embedded store has it."""
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
    """A handshake that cannot succeed ends; it does not hang."""

    async def silent(_, __):
        pass

    server = await serve(silent)
    with pytest.raises(StoreUnavailable):
        await connect(f"rediss://127.0.0.1:{server.port}/0", timeout_ms=100)
    await server.all_gone.wait()


async def test_an_error_that_nobody_waits_for_is_not_logged(serve, connect, caplog):
    """Its caller has gone; that is no news for the operator."""

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
