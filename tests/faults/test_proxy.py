"""The proxy itself: whatever it does to connections, it leaves none open."""

import contextlib
import gc
import socket
import threading
import warnings

import pytest
import redis
from proxy import Fault, Proxy


def test_refusing_leaves_no_connection_that_was_just_accepted(store):
    """Callers connect all the while; Python 3.11 leaves open what a server has accepted when it is closed."""
    proxy, stopping = Proxy(store.port).start(), threading.Event()

    def connect():
        while not stopping.is_set():
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", proxy.port), timeout=10).close()

    callers = [threading.Thread(target=connect) for _ in range(6)]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for each in callers:
            each.start()
        for _ in range(30):
            before = proxy.accepted
            proxy.break_(Fault.REFUSE)
            proxy.heal()
            while proxy.accepted == before:
                stopping.wait(0.001)
        stopping.set()
        for each in callers:
            each.join()
        proxy.stop()
        gc.collect()
    assert [str(each.message) for each in found] == []


@pytest.mark.parametrize("gone", [True, False])
def test_what_a_black_hole_holds_arrives_later_unless_its_client_is_gone(store, gone):
    """So a test can kill whoever asked, and know that nothing of it ran."""
    proxy, key = Proxy(store.port).start(), f"held {gone}"
    client = socket.create_connection(("127.0.0.1", proxy.port), timeout=60)
    proxy.break_(Fault.BLACK_HOLE, key)
    client.sendall(f'SET "{key}" 1\r\n'.encode())
    assert proxy.struck.wait(60)
    with contextlib.closing(redis.Redis(port=store.port)) as direct:
        assert direct.get(key) is None
        if gone:
            client.close()
        proxy.heal()
        assert gone or client.recv(99) == b"+OK\r\n"
        client.close()
        proxy.stop()
        assert direct.getdel(key) == (None if gone else b"1")
