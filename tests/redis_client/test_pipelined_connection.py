"""One connection, on a clock that a test sets by hand."""

import asyncio

import pytest

from app.errors import StoreUnavailable
from app.redis_client.pipelined import Connection


class Hand:
    """A loop's clock that a test sets by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, object]] = []

    def time(self) -> float:
        return self.now

    def create_future(self):
        return asyncio.get_running_loop().create_future()

    def call_soon(self, act):
        """Not needed: these tests do not check writing."""

    def call_later(self, delay, act):
        self.due.append((self.now + delay, act))
        return self

    def cancel(self) -> None:
        self.due.clear()

    def turn_to(self, now: float) -> None:
        """Run everything that is due by `now`, each at its own time."""
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
    """A connection with a deadline of one second, on a clock set by hand."""
    made = Connection(hand, 1.0, lambda _commands: None)
    made.connection_made(Socket())
    return made


@pytest.mark.parametrize("sent_at", [0.0, 0.1, 0.3, 0.999, 7.25])
async def test_a_call_is_late_at_its_deadline_and_not_before(hand, wire, sent_at):
    """Whenever it was sent, it is given up after one second and one more read of the socket."""
    hand.turn_to(sent_at)
    wire.send(b"PING")

    hand.turn_to(sent_at + 0.999)
    assert not wire._transport.aborted
    hand.turn_to(sent_at + 1.01)
    assert wire._transport.aborted


async def test_a_connection_with_steady_replies_is_not_late(hand, wire):
    """Each call has its own deadline."""
    for tenth in range(1, 100):
        future = wire.send(b"PING")
        hand.turn_to(tenth / 10)
        wire.data_received(b"+PONG\r\n")
        assert await future == "PONG"
    assert not wire._transport.aborted


async def test_a_reply_that_the_loop_had_no_time_to_read_is_not_late(hand, wire):
    """The socket is read once more before a call is given up, because the loop itself may have been late."""
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
    """In the order of the calls."""
    made = Connection(asyncio.get_running_loop(), 1.0, lambda _commands: None)
    made.connection_made(Socket())
    futures = [made.send(b"one"), made.send(b"two")]
    await asyncio.sleep(0)
    futures.append(made.send(b"three"))
    await asyncio.sleep(0)

    assert made._transport.written == [b"onetwo", b"three"]
    made.connection_lost(None)
    assert all(future.done() for future in futures)


@pytest.mark.parametrize("busy", [False, True])
async def test_an_idle_store_gets_the_first_commands_of_a_long_tick_at_once(busy):
    """It works on them while others are being made; a busy store gets all together. Each command is sent once."""
    batches: list[int] = []
    made = Connection(asyncio.get_running_loop(), 1.0, batches.append)
    made.connection_made(Socket())
    if busy:
        made.send(b"before,")
        await asyncio.sleep(0)

    names = [b"%d," % number for number in range(40)]
    futures = [made.send(name) for name in names]
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert batches == ([1, 40] if busy else [16, 24])
    assert b"".join(made._transport.written).removeprefix(b"before,") == b"".join(names)
    made.connection_lost(None)
    assert all(future.done() for future in futures)


async def test_a_lost_connection_takes_no_more_commands(wire):
    """Calls between loss and reconnection fail at once."""
    wire.connection_lost(None)
    with pytest.raises(StoreUnavailable):
        wire.send(b"PING")


async def test_a_lost_connection_watches_no_deadline(hand, wire):
    """Otherwise every reconnection would leave a timer behind."""
    wire.connection_lost(None)
    assert hand.due == []
