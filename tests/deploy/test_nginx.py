"""deploy/nginx.conf with a real nginx in front of real replicas."""

import contextlib
import json
import signal
import socket
import time
from pathlib import Path

import httpx
import pytest
from approval_steps import SECRET
from balancer import Balancer
from calls import TOOL, Callers, decide, entries, make_agent
from servers import ADMIN_KEY, Replica, free_port, until
from serving import REPLICA, children_of, kill


@pytest.fixture(scope="module")
def replicas(store):
    """Two replicas that tests may stop and start."""
    running = [Replica(store.url, REMIT_COMPACT="false", REMIT_SECRET=SECRET) for _ in range(2)]
    yield running
    for each in running:
        if each.process.poll() is None:
            each.stop()


@pytest.fixture(scope="module")
def balancer(replicas, program, tmp_path_factory):
    running = Balancer(
        program("nginx", "deploy/nginx.conf"), tmp_path_factory.mktemp("nginx"), *[r.port for r in replicas]
    )
    yield running
    running.stop()


@pytest.fixture
def client(balancer, replicas):
    """A client of the balancer, with every replica up."""
    for each in replicas:
        if each.process.poll() is not None:
            each.start()
    with httpx.Client(base_url=balancer.url, headers={"Authorization": f"Bearer {ADMIN_KEY}"}, timeout=15) as opened:
        yield opened


def connections_from(process: int, port: int) -> set[str]:
    """Connections of a process's children to a loopback port, by their local end."""
    workers = [process, *children_of(process)]
    inodes = set()
    for pid in workers:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.add(str(link.readlink()).removeprefix("socket:[").removesuffix("]"))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[1] for row in rows if row[2].endswith(f":{port:04X}") and row[9] in inodes}


def test_calls_go_to_every_replica_over_connections_that_stay(client, balancer, replicas):
    """With HTTP/1.1, no Connection header and keep-alive; otherwise every call would open a connection."""
    agent_id = make_agent(client)
    seen = set()
    for _ in range(30):
        decide(client, agent_id)
        seen |= {end for each in replicas for end in connections_from(balancer.process.pid, each.port)}
    lines = [json.loads(line) for line in balancer.log.splitlines()]
    assert {line["replica"] for line in lines} == {f"127.0.0.1:{each.port}" for each in replicas}
    assert 2 <= len(seen) <= 8


def test_one_request_id_runs_through_balancer_replica_and_answer(client, balancer):
    """The caller's, or else one made by nginx."""
    given = client.get("/v1/agents", headers={"X-Request-ID": "order-4711"})
    made = client.get("/v1/agents")
    assert given.headers["X-Request-ID"] == "order-4711"
    wanted = ["order-4711", made.headers["X-Request-ID"]]
    # nginx writes its line after the answer has left.
    deadline = time.monotonic() + 20
    while (logged := logged_ids(balancer))[-2:] != wanted and time.monotonic() < deadline:
        time.sleep(0.01)
    assert logged[-2:] == wanted


def logged_ids(balancer):
    return [json.loads(line)["request_id"] for line in balancer.log.splitlines()]


def test_refusals_by_nginx_have_the_api_s_error_body(client):
    """A PEP has to parse only one kind of error."""
    large = client.post("/v1/authorize", content=b" " * (3 << 20))
    assert (large.status_code, large.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
    hidden = client.get("/metrics")
    assert (hidden.status_code, hidden.json()["error"]["code"]) == (404, "NOT_FOUND")
    nearly = client.post("/v1/authorize", content=b"[%b1]" % (b"1," * (150 << 10)))
    assert (nearly.status_code, nearly.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_the_largest_bodies_that_a_replica_reads_pass(client):
    """A call of 1 MiB and a set of policies of 1.4 MiB are judged by the replica, not cut off by nginx."""
    agent_id = make_agent(client)
    call = {"agent_id": agent_id, "tool_name": TOOL, "parameters": {"text": "a" * (1 << 20)}}
    assert client.post("/v1/authorize", json=call).status_code == 200
    policies = json.dumps({"policies": []}).encode() + b" " * (1400 << 10)
    assert client.put(f"/v1/agents/{agent_id}/policies", content=policies).status_code == 200


METRICS = [
    "/metrics",
    "/metrics/",
    "/metrics%2f",
    "/metrics%2F/",
    "//metrics",
    "/./metrics",
    "/x/../metrics",
    "/%6detrics",
]
METRICS += [
    "/metrics?",
    "/metrics//",
    "/METRICS",
    "/metrics;x",
    "/v1/..%2fmetrics",
    "http://inside/metrics",
    "/metrics#",
]


def ask(balancer, target):
    """The answer to a target as it stands."""
    with socket.create_connection(("127.0.0.1", balancer.port), timeout=10) as peer:
        lines = (f"GET {target} HTTP/1.1", "Host: inside", f"Authorization: Bearer {ADMIN_KEY}", "Connection: close")
        peer.sendall("\r\n".join((*lines, "", "")).encode())
        return b"".join(iter(lambda: peer.recv(65536), b""))


@pytest.mark.parametrize("target", METRICS)
@pytest.mark.usefixtures("client")
def test_metrics_are_hidden_in_every_spelling(balancer, target):
    """They are only for internal monitoring."""
    answer = ask(balancer, target)
    assert answer.split()[1] in {b"404", b"400"}
    assert b"remit_" not in answer


@pytest.mark.parametrize(
    "target", ["//v1/agents", "/v1//agents", "/v1/./agents", "/x/../v1/agents", "/v1%2fagents", "/v1/agents/%2e"]
)
@pytest.mark.usefixtures("client")
def test_only_one_spelling_of_a_path_is_served_behind_the_balancer(balancer, target):
    """Nginx passes paths on as written."""
    assert ask(balancer, "/v1/agents").split()[1] == b"200"
    assert ask(balancer, target).split()[1] == b"404"


@pytest.mark.slow
def test_a_wait_and_a_stream_outlast_the_time_that_other_answers_may_take(client):
    """Nginx gives up on an ordinary answer after 10 s; people take longer."""
    agent_id = make_agent(client, {"type": "approval_required", "tools": [TOOL]})
    with client.stream("GET", "/v1/approvals/stream") as stream:
        asked = client.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": TOOL}).json()["approval"]["id"]
        waited = client.get(f"/v1/approvals/{asked}?wait=11")
        client.post(f"/v1/approvals/{asked}/cancel", json={})
        lines = stream.iter_lines()
        assert "event: cancelled" in lines  # reads on until it comes
        assert asked in next(line for line in lines if line.startswith("data: "))

    assert (waited.status_code, waited.json()["status"]) == (200, "pending")


def test_a_replica_that_is_drained_costs_no_call(client, balancer, replicas):
    """One replica after the other is stopped and started again under load: a deployment."""
    agent_id = make_agent(client)
    with Callers(balancer.port, ADMIN_KEY, agent_id, count=8) as callers:
        for each in replicas:
            callers.after(100)
            each.stop()
            callers.after(100)
            each.start()
        callers.after(100)
    assert (callers.cut, callers.refused) == (0, 0)
    assert callers.answered.keys() <= entries(client, agent_id).keys()


def test_a_reload_of_the_balancer_refuses_no_call(client, balancer, replicas):
    """SIGHUP under load: other workers take over, and what a caller had sent is in the log at most once."""
    agent_id = make_agent(client)
    with Callers(balancer.port, ADMIN_KEY, agent_id, count=8) as callers:
        for _ in range(3):
            callers.after(100)
            workers = children_of(balancer.process.pid).keys()
            balancer.process.send_signal(signal.SIGHUP)
            until(
                lambda workers=workers: children_of(balancer.process.pid).keys().isdisjoint(workers), "it has reloaded"
            )
        callers.after(100)
    assert callers.refused == 0
    assert callers.answered.keys() <= entries(client, agent_id).keys()


def test_a_replica_that_is_killed_loses_no_answer(client, balancer, replicas):
    """Calls in progress get an error and count at most once; every answer is in the log."""
    agent_id = make_agent(client)
    with Callers(balancer.port, ADMIN_KEY, agent_id, count=8) as callers:
        callers.after(100)
        for pid, command in children_of(replicas[0].process.pid).items():
            if REPLICA in command:
                kill(pid)
        callers.after(200)
    assert callers.answered.keys() <= entries(client, agent_id).keys()


def test_without_any_replica_the_answer_is_503_with_the_api_s_body(client, balancer, replicas):
    """No permission: nothing was decided."""
    for each in replicas:
        each.stop()
    answer = client.post("/v1/authorize", json={"agent_id": "x", "tool_name": TOOL})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE")


@pytest.mark.slow
@pytest.mark.parametrize("left", range(4))
def test_each_of_four_replicas_alone_answers_every_call(store, program, tmp_path, left):
    """A line for each is all that more of them need: nginx asks one after the other until one can be reached."""
    gone = [free_port() for _ in range(3)]
    replica = Replica(store.url, REMIT_COMPACT="false", REMIT_SECRET=SECRET)
    running = Balancer(program("nginx", "deploy/nginx.conf"), tmp_path, *gone[:left], replica.port, *gone[left:])
    try:
        headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
        with httpx.Client(base_url=running.url, headers=headers, timeout=15) as client:
            agent_id = make_agent(client)
            call = {"agent_id": agent_id, "tool_name": TOOL}
            answers = [client.post("/v1/authorize", json=call).status_code for _ in range(40)]
            assert answers == [200] * 40
            assert len(entries(client, agent_id)) == 40
    finally:
        running.stop()
        replica.stop()
