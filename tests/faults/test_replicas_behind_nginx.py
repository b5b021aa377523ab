"""Two replicas behind nginx with deploy/nginx.conf: one is killed, drained and added under load."""

import contextlib
import os
import signal
import threading

import pytest
import redis
from balancer import Balancer
from proxy import Fault, Proxy
from servers import Replica
from serving import children_of
from topologies import SEALING_FAST, until


@pytest.fixture(scope="module")
def proxy(store, shared):
    return shared(Proxy(store.port).start())


@pytest.fixture(scope="module")
def replicas(store, proxy, shared):
    """The first has a proxy between itself and the store."""
    return [shared(Replica(url, **SEALING_FAST)) for url in (proxy.url, store.url)]


@pytest.fixture(scope="module")
def balancer(replicas, shared, program, tmp_path_factory):
    nginx = program("nginx", "replicas behind nginx")
    return shared(Balancer(nginx, tmp_path_factory.mktemp("nginx"), *[each.port for each in replicas]))


def power_off(replica):
    """Kill all of its processes at once."""
    workers = children_of(replica.process.pid)
    replica.kill()
    for pid in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def start_again(replica, balancer):
    """Start it, and return once nginx passes calls to it; a deployment must wait for that before the next stop."""
    replica.start()
    passed = f'"replica":"127.0.0.1:{replica.port}"'
    before = balancer.log.count(passed)
    until(lambda: balancer.log.count(passed) > before, "nginx passes calls to it again")


@pytest.fixture
def witness(store, replicas, checked_witness):
    return checked_witness(redis.Redis(port=store.port), store.url, replicas[1])


def test_a_replica_that_is_killed_costs_only_the_calls_it_had_and_none_is_counted_twice(replicas, balancer, witness):
    """Every answer that a caller saw is in the log once; with a key, every call gets exactly one answer."""
    agent_id, limited = witness.new_agent(), witness.new_agent(max_calls=40)
    with (
        witness.load(agent_id, limited, ports=balancer.port) as load,
        witness.load(agent_id, limited, ports=balancer.port, idempotent=True) as patient,
    ):
        for replica in replicas:
            patient.after(40)
            power_off(replica)
            patient.after(40)
            start_again(replica, balancer)
        patient.after(40)
    assert (load.wrong, load.cut, patient.wrong, patient.cut) == ([], [], [], [])
    assert witness.admitted(limited) == 40


def test_replicas_that_are_drained_and_added_cost_nobody_an_answer(replicas, balancer, witness):
    """One after the other, as in a deployment; also for callers that open a connection per call."""
    agent_id = witness.new_agent(max_calls=40)
    with (
        witness.load(agent_id, ports=balancer.port) as load,
        witness.load(agent_id, ports=balancer.port, keep_alive=False) as hasty,
    ):
        for replica in replicas:
            load.after(60)
            replica.stop()
            load.after(60)
            hasty.after(60)
            start_again(replica, balancer)
        load.after(60)
    assert (load.refused, load.wrong, load.cut) == ([], [], [])
    assert (hasty.refused, hasty.wrong, hasty.cut) == ([], [], [])


def test_nginx_never_claims_that_nothing_was_decided(replicas, balancer, proxy, witness):
    """The commit ran, and the replica was killed before it could answer: the caller is told that this is possible."""
    first, second = replicas
    question = witness.question(witness.new_agent(), port=balancer.port)
    second.stop()
    proxy.break_(Fault.HOLD, question.mark)
    asking = threading.Thread(target=question.send)
    asking.start()
    assert proxy.struck.wait(60)
    power_off(first)
    asking.join()
    proxy.heal()
    for each in replicas:
        each.start()

    assert question.call.status == 503
    assert b"not known" in question.caller.last
    assert len(question.entries(witness.log())) == 1
