"""A rolling update by the chart, simulated: probes, endpoints, preStop and SIGTERM in their order."""

import asyncio
import os
import random
import re
import threading
from http.client import HTTPConnection
from pathlib import Path

import pytest
import redis
from servers import Replica, free_port, until
from topologies import SEALING_FAST

CHART = (Path(__file__).parents[2] / "deploy/helm/remit/templates/replicas.yaml").read_text()
READINESS = re.search(r"readinessProbe:.*\n\s+httpGet: \{path: (\S+),", CHART)[1]
HAS_PRE_STOP = "preStop:" in CHART
CALLS = int(os.environ.get("REMIT_TEST_ROLLING_CALLS", "300"))
"""How many calls each kind of caller makes during the update; 10,000 by hand."""


class ClusterIp:
    """An address whose new connections go to one of the endpoints, whatever becomes of those that are open."""

    def __init__(self) -> None:
        self.port, self.endpoints = free_port(), []
        self._loop, listens = asyncio.new_event_loop(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listens,))
        self._thread.start()
        assert listens.wait(60)

    def _run(self, listens):
        asyncio.set_event_loop(self._loop)
        self._open = self._loop.run_until_complete(asyncio.start_server(self._forward, "127.0.0.1", self.port))
        listens.set()
        self._loop.run_forever()

    async def _forward(self, reader, writer):
        try:
            there, back = await asyncio.open_connection("127.0.0.1", random.choice(self.endpoints))
        except OSError:  # the address of a pod that is gone
            writer.transport.abort()
            return
        await asyncio.gather(_pass(reader, back), _pass(there, writer))

    def stop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._open.close()
        self._loop.close()


async def _pass(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


class Pods:
    """Replicas as a Deployment replaces them. An endpoint is added once the probe succeeds."""

    def __init__(self, own, store_url) -> None:
        self._own, self._store_url, self.service = own, store_url, own(ClusterIp())
        self.running = [self._new() for _ in range(2)]

    def _new(self):
        pod = self._own(Replica(self._store_url, **SEALING_FAST))
        until(lambda: _probe(pod.port) == 200, "the pod is ready")
        self.service.endpoints = [*self.service.endpoints, pod.port]
        return pod

    def replace(self, number):
        """A new pod is ready before the old one goes. Endpoints are told of its end when the preStop hook begins."""
        new, old = self._new(), self.running[number]
        if HAS_PRE_STOP:
            self._remove(old)
            old.stop()
        else:  # both begin at once, and a signal is faster than a change of every node's rules
            old.stop()
            self._remove(old)
        self.running[number] = new

    def _remove(self, pod):
        self.service.endpoints = [port for port in self.service.endpoints if port != pod.port]


def _probe(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", READINESS)
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


@pytest.fixture
def pods(store, own):
    return Pods(own, store.url)


@pytest.fixture
def witness(store, pods, checked_witness):
    return checked_witness(redis.Redis(port=store.port), store.url, pods.running[0])


def test_a_rolling_update_loses_no_call(pods, witness):
    """Over connections that stay and over new ones: none is refused, cut off, or answered with an error."""
    agent_id = witness.new_agent()
    with (
        witness.load(agent_id, ports=pods.service.port, keep_alive=False) as hasty,
        witness.load(agent_id, ports=pods.service.port) as load,
    ):
        for number in range(2):
            hasty.after(CALLS // 3)
            pods.replace(number)
        hasty.after(CALLS // 3)
        load.after(CALLS // 3)
        witness.replica = pods.running[0]
    assert all(call.answer for call in hasty.calls)
    assert (hasty.wrong, hasty.refused, hasty.cut) == ([], [], [])
    assert (load.wrong, load.refused, load.cut) == ([], [], [])
