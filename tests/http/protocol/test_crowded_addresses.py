"""Connections per address: one address takes no other's, and nobody who asks from it sees a reset."""

import asyncio
import socket

import httpx
import pytest
from far_ends import FarEnd
from servers import Replica

from app.runtime.fairness.auth_failures import AuthFailures
from app.settings import Settings
from tests.support import parts


class Connection:
    """What `Connections` sees of one."""

    def __init__(self):
        self.told = []

    def abort(self, reason):
        self.told.append(reason)

    def crowd_out(self):
        self.told.append("refused")


@pytest.fixture
def shared():
    counted = AuthFailures(1, Settings(trusted_proxies="10.0.0.0/8").proxies).counted_peer
    return parts.connections(per_address=2, address_of=counted)


def test_beyond_its_number_an_address_gets_answers_and_then_nothing(shared):
    """No older connection ends for a new one. IPv6 counts by its /64 network."""
    made = [Connection() for _ in range(6)]
    entered = [shared.enter(f"2001:db8::{number}", each) for number, each in enumerate(made)]
    assert [each.told for each in made] == [[], [], ["refused"], ["refused"], ["crowded"], ["crowded"]]
    for address in entered[1:]:
        shared.leave(address)
    assert shared.enter("2001:db8::9", later := Connection()) == "2001:db8::/64"
    assert later.told == []
    for address in entered[:2]:
        shared.leave(address)
    assert shared._by_address == {}


def test_proxies_sockets_and_other_addresses_do_not_count(shared):
    """Of a trusted proxy, of the Unix socket, and of another address any number, or its own."""
    made = [Connection() for _ in range(9)]
    for peer in ("10.1.2.3", "::ffff:10.1.2.3", None, "not an address"):
        assert [shared.enter(peer, each) for each in made] == [None] * 9
    assert [shared.enter(f"192.0.2.{number}", each) for number, each in enumerate(made)] == [
        f"192.0.2.{number}" for number in range(9)
    ]
    assert [each.told for each in made] == [[]] * 9
    unbounded = parts.connections(address_of=lambda peer: peer)
    assert [unbounded.enter("192.0.2.1", each) for each in made] == [None] * 9


@pytest.mark.slow
def test_an_address_that_holds_all_it_may_have_keeps_what_it_has(store):
    """What was open goes on; new connections get an answer that no client takes for an outage."""
    replica = Replica(store.url, REMIT_COMPACT="false", REMIT_CONNECTIONS_PER_ADDRESS="20")
    held = []
    try:
        with httpx.Client(base_url=replica.base_url, timeout=30) as client:
            assert client.post("/v1/authorize").status_code == 401
            held = [socket.create_connection(("127.0.0.1", replica.port), timeout=30) for _ in range(25)]
            assert held[-1].recv(12) == b"HTTP/1.1 503"
            refused = httpx.post(f"{replica.base_url}/v1/authorize", timeout=30)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "OVERLOADED")
            assert client.post("/v1/authorize").status_code == 401
    finally:
        for each in held:
            each.close()
        replica.stop()


async def test_a_crowded_connection_is_refused_with_an_answer():
    """OVERLOADED, which no client takes for an outage, while the others wait for theirs."""

    async def never(_scope, _receive, _send):
        await asyncio.Event().wait()

    shared = parts.connections(per_address=1, address_of=lambda peer: peer)
    asking = FarEnd(never, shared=shared)
    await asking.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    refused = FarEnd(never, shared=shared)
    assert (asking.state, asking.statuses, refused.state, refused.statuses) == ("answering", [], "lingering", [503])
    assert b"OVERLOADED" in refused.answers[0][2]
    for each in asking.server.tasks:
        each.cancel()
