"""A replica's two lanes, seen from outside: one service, whichever of them answers or dies."""

import contextlib
import ctypes
import http.client
import json
import os
import platform
import random
import resource
import signal
import socket
import struct
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Self

import httpx
import pytest
import redis
from calls import TOOL, Callers, decide, entries, make_agent
from servers import ADMIN_KEY, Store
from serving import NEW_INTERPRETER, REPLICA, Service, all_gone, children_of, kill
from tenants import Tenant

pytestmark = pytest.mark.slow
SLOW_REGEX = {"type": "parameter_constraint", "tools": [TOOL], "parameters": {"text": {"regex": "((a?){30}){30}$"}}}
LANES = {"remit-fast", "remit-slow"}
MOVES = "remit_lane_moves_total"
BATCH, SEMANTICS = 5, ("execute_all", "all_or_nothing")


@pytest.fixture
def service(request, tmp_path, store):
    """One replica, serving."""
    made = Service(
        tmp_path,
        program=getattr(request, "param", None),
        REMIT_REDIS_URL=store.url,
        REMIT_BOOTSTRAP_KEY=ADMIN_KEY,
        REMIT_COMPACT="false",
        REMIT_LOG_LEVEL="error",
    )
    made.start()
    yield made
    if made.process.poll() is None:
        made.stop()


@pytest.fixture
def talk(service):
    """Opens connections to the service."""
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(Talk(service.port))


def lanes_of(service: Service) -> dict[str, int]:
    """The pids of the replica's lanes, by name."""
    [replica] = service.children(REPLICA)
    lanes = {}
    for pid in children_of(replica):
        with contextlib.suppress(FileNotFoundError):  # it has just ended
            lanes[Path(f"/proc/{pid}/comm").read_text().strip()] = pid
    return lanes


def kill_and_await_another(service: Service, lane: str) -> None:
    """Kill the lane, and return once another runs in its place."""
    kill(killed := lanes_of(service)[lane])
    service.until(lambda: lanes_of(service).get(lane, killed) != killed, "another has started")


def moves(client: httpx.Client) -> dict[str, int]:
    """How many connections have moved, by the lane to which they did."""
    lines = [line for line in client.get("/metrics").text.splitlines() if line.startswith(MOVES)]
    return {line.split('"')[1]: int(line.split()[1]) for line in lines}


class Talk:
    """One connection with pipelined requests of every kind."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.reader = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.close()
        self.socket.close()

    def send(self, method: str, path: str, body: bytes = b"", *, chunk: int = 0) -> None:
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN_KEY}\r\n"
        if chunk:
            parts = [body[start : start + chunk] for start in range(0, len(body), chunk)]
            framed = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
            self.socket.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + framed)
        else:
            self.socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def read(self) -> tuple[int, dict]:
        """Status and body of the next answer; every answer here says how long it is."""
        status = int(self.reader.readline().split()[1])
        fields = http.client.parse_headers(self.reader)
        return status, json.loads(self.reader.read(int(fields["content-length"])))


def batch_of(agent_id: str, semantics: str, name: int) -> bytes:
    """A batch whose calls have its name."""
    calls = [{"agent_id": agent_id, "tool_name": TOOL, "parameters": {semantics: str(name)}}] * BATCH
    return json.dumps({"calls": calls, "semantics": semantics}).encode()


def call_of(agent_id: str, **parameters: object) -> bytes:
    return json.dumps({"agent_id": agent_id, "tool_name": TOOL, "parameters": parameters}).encode()


def test_requests_of_both_lanes_on_one_connection_are_answered_in_order(service, talk):
    """In whatever order they come; each call is decided once."""
    chance = random.Random(7)
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client)
        call, large = call_of(agent_id, x="y" * 50), call_of(agent_id, x=["y" * 1000] * 30)
        kinds = {
            "call": ("POST", "/v1/authorize", call),
            "large": ("POST", "/v1/authorize", large),
            "batch": ("POST", "/v1/authorize/batch", batch_of(agent_id, "all_or_nothing", 0)),
            "get": ("GET", f"/v1/agents/{agent_id}"),
            "livez": ("GET", "/livez"),
            "missing": ("GET", "/v1/none"),
        }
        connection, decided = talk(), []
        for _ in range(30):
            asked = chance.choices(list(kinds), k=chance.randint(1, 6))
            for kind in asked:
                connection.send(*kinds[kind], chunk=chance.choice([0, 20, 400]) if kind == "call" else 0)
            for kind in asked:
                status, answer = connection.read()
                batch = [each["decision"] for each in answer.get("results", ())]
                shown = {"get": answer.get("id"), "livez": answer.get("status"), "missing": "error" in answer}
                shown["batch"] = sum(each["allowed"] for each in batch)
                wanted = {"get": (200, agent_id), "livez": (200, "ok"), "missing": (404, True), "batch": (200, BATCH)}
                assert (status, shown.get(kind, answer.get("allowed"))) == wanted.get(kind, (200, True))
                decided += [answer["id"]] if kind in {"call", "large"} else [each["id"] for each in batch]
        assert list(entries(client, agent_id)) == decided[::-1]
        assert min(moves(client).values()) > 10


@pytest.mark.parametrize("chunk", [0, 1000])
def test_a_call_that_takes_long_is_decided_in_the_slow_lane_and_once(service, talk, chunk):
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client, SLOW_REGEX)
        connection = talk()
        connection.send("POST", "/v1/authorize", call_of(agent_id, text="a"))
        assert connection.read()[0] == 200
        before = moves(client)["slow"]
        connection.send("POST", "/v1/authorize", call_of(agent_id, text="a" * 9_000), chunk=chunk)
        status, answer = connection.read()
        assert (status, answer["allowed"]) == (200, True)
        assert moves(client)["slow"] > before  # by one, unless a connection was idle for so long that it was closed
        assert len(entries(client, agent_id)) == 2


def test_a_key_that_has_worked_in_one_lane_is_not_locked_out_in_the_other(service):
    """Although every caller has the same address here, and one of them guesses keys."""
    with service.client(ADMIN_KEY) as admin:
        agent_id = make_agent(admin)
        short, large = call_of(agent_id), call_of(agent_id, x=["y" * 1000] * 30)
        raw_keys = [admin.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]}).json()["key"] for _ in range(2)]
    with service.client(raw_keys[0]) as asks, service.client(raw_keys[1]) as reads:
        assert asks.post("/v1/authorize", content=short).status_code == 200
        assert reads.get("/v1/agents").status_code == 200
        with service.client("svc_" + "0" * 32) as stranger:
            answers = [stranger.get("/v1/agents").status_code for _ in range(70)]
        assert (answers[0], answers[-1]) == (401, 429)
        assert asks.post("/v1/authorize", content=large).status_code == 200
        assert asks.get("/v1/agents").status_code == 200
        assert reads.post("/v1/authorize", content=short).status_code == 200


@pytest.fixture
def strict(tmp_path, store):
    """As `service`, but an address is locked out after three failures, for twenty seconds."""
    made = Service(
        tmp_path,
        REMIT_REDIS_URL=store.url,
        REMIT_BOOTSTRAP_KEY=ADMIN_KEY,
        REMIT_COMPACT="false",
        REMIT_AUTH_FAILURES_PER_MINUTE="3",
    )
    yield made.start()
    made.stop()


def test_probes_and_refusals_do_not_wait_for_the_slow_lane(strict, store):
    """Nor can strangers keep it busy with them. It stands still here, for less time than a lane may."""
    keyless = [
        ("GET", "/v1/agents", {}),
        ("POST", "/v1/policies", {"Authorization": "Bearer x"}),
        ("GET", "/v1/approvals?limit=1", {"Cookie": "__Host-remit=x"}),
    ]
    with (
        strict.client(ADMIN_KEY) as client,
        httpx.Client(base_url=strict.base_url, timeout=8) as stranger,
        redis.Redis.from_url(store.url) as written,
    ):
        agent_id = make_agent(client)
        slow = lanes_of(strict)["remit-slow"]
        before = moves(client)["slow"]
        stored = {key: written.dump(key) for key in written.scan_iter()}
        os.kill(slow, signal.SIGSTOP)
        try:
            health = [stranger.get(path).json() for path in ("/livez", "/readyz")]
            refused = [stranger.request(method, path, headers=headers) for method, path, headers in keyless]
            unknown = {"Authorization": f"Bearer svc_{'0' * 32}"}
            locked = [
                stranger.get("/v1/agents", headers=unknown),
                stranger.post("/v1/authorize", content=b"x" * 20_000),
            ]
            assert {key: written.dump(key) for key in written.scan_iter()} == stored
            with strict.client(ADMIN_KEY) as another:
                known = another.post("/v1/authorize", content=call_of(agent_id))
        finally:
            os.kill(slow, signal.SIGCONT)
        assert health == [{"status": "ok"}] * 2
        assert [(each.status_code, each.headers["www-authenticate"]) for each in refused] == [(401, "Bearer")] * 3
        assert {each.json()["error"]["code"] for each in refused} == {"UNAUTHORIZED"}
        assert [each.status_code for each in [*locked, known]] == [429, 429, 200]
        assert moves(client)["slow"] - before <= 1  # at most this question


@pytest.mark.parametrize("lane", sorted(LANES))
def test_a_lane_that_is_started_again_locks_out_no_key_that_has_worked(service, lane):
    """Nor does it forget the failures of others: the other lane, and the shared memory, have outlived it."""
    with service.client(ADMIN_KEY) as admin:
        call = call_of(make_agent(admin))
        raw_key = admin.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]}).json()["key"]

    def ask(client: httpx.Client) -> int:
        answer = client.post("/v1/authorize", content=call) if lane == "remit-fast" else client.get("/v1/agents")
        return answer.status_code

    with service.client(raw_key) as known:
        assert ask(known) == 200
    kill_and_await_another(service, lane)
    service.until(service.answers, "it serves")
    with service.client("svc_" + "0" * 32) as stranger, service.client(raw_key) as known:
        answers = [ask(stranger) for _ in range(70)]
        assert (answers[0], answers[-1]) == (401, 429)
        assert ask(known) == 200


COSTLY = {
    "to decide": ("(a|b)*a(a|b){300}c", {"text": "ab" * 1_500}),
    "to search for secrets": ("c", {"text": "ab", "notes": "password=a;" * 300}),
    "to decode": ("c", {"text": "ab", "numbers": [1e300] * 450}),
}
"""A pattern, and parameters that take milliseconds of the loop."""


@pytest.mark.parametrize(("regex", "parameters"), COSTLY.values(), ids=COSTLY)
def test_calls_that_are_just_quick_enough_leave_the_fast_lane_if_they_delay_others(service, store, regex, parameters):
    """They stay while their workspace is the only one. Then they move, unless they wait for a core so long that their
    share of it is there again: so they are asked until they do.
    """
    rule = {"type": "parameter_constraint", "tools": [TOOL], "parameters": {"text": {"regex": regex}}}
    costly, other = (Tenant(store.url, service) for _ in range(2))
    with contextlib.closing(costly), contextlib.closing(other):
        agents = [tenant.new_agent()["id"] for tenant in (costly, other)]
        costly.new_policy(agents[0], rule)
        other.new_policy(agents[1])

        def call(tenant, agent_id):
            return tenant.authorize(agent_id, TOOL, parameters=parameters)["result"]

        call(costly, agents[0])
        before = moves(other.admin)["slow"]
        assert [call(costly, agents[0]) for _ in range(30)] == ["denied"] * 30
        assert moves(other.admin)["slow"] <= before + 1
        rounds = 0

        def most_have_moved():
            nonlocal rounds
            rounds += 1
            earlier = moves(other.admin)["slow"]
            results = [(call(other, agents[1]), call(costly, agents[0])) for _ in range(30)]
            assert results == [("allowed", "denied")] * 30
            return moves(other.admin)["slow"] > earlier + 10

        service.until(most_have_moved, "calls move")
        assert len(entries(costly.admin, agents[0])) == 31 + 30 * rounds
        assert len(entries(other.admin, agents[1])) == 30 * rounds


def test_calls_go_on_while_the_slow_lane_stands_still(service, talk):
    """Whatever keeps it busy; other requests wait, and are answered when it continues."""
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client)
        slow = lanes_of(service)["remit-slow"]
        with Callers(service.port, ADMIN_KEY, agent_id) as callers:
            callers.after(50)
            os.kill(slow, signal.SIGSTOP)
            try:
                waits = talk()
                waits.send("GET", f"/v1/agents/{agent_id}")
                callers.after(500)
            finally:
                os.kill(slow, signal.SIGCONT)
            assert waits.read()[0] == 200
            callers.after(50)
        assert (callers.cut, callers.refused) == (0, 0)
        assert callers.answered.keys() <= entries(client, agent_id).keys()


@pytest.mark.parametrize("lane", ["remit-fast", "remit-slow"])
def test_a_lane_that_hangs_is_replaced_and_what_waits_for_it_is_answered(service, talk, lane):
    """Without anybody's help. The other lane goes on all the while."""
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client)
        before = lanes_of(service)
        asked = (
            ("GET", f"/v1/agents/{agent_id}") if lane == "remit-fast" else ("POST", "/v1/authorize", call_of(agent_id))
        )
        goes_on = talk()
        goes_on.send(*asked)
        assert goes_on.read()[0] == 200
        os.kill(before[lane], signal.SIGSTOP)
        waits = talk()
        waits.send("GET", f"/v1/agents/{agent_id}")
        goes_on.send(*asked)
        assert goes_on.read()[0] == 200
        assert lanes_of(service) == before
        assert waits.read()[0] == 200
        after = lanes_of(service)
        assert [name for name in after if after[name] != before[name]] == [lane]
        assert f"{lane} has stood still for 10 s; it is killed" in service.complained


def test_a_lane_may_open_as_many_files_as_the_system_allows(tmp_path, store):
    """So many connections it can have, however few files programs may open by default."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    service = Service(
        tmp_path,
        program=NEW_INTERPRETER,
        REMIT_REDIS_URL=store.url,
        REMIT_BOOTSTRAP_KEY=ADMIN_KEY,
        REMIT_COMPACT="false",
    )
    service.launch(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard)))
    service.until(lambda: "\nserving " in "\n" + service.said, "it serves")
    try:
        for pid in lanes_of(service).values():
            assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        service.stop()


@pytest.mark.parametrize("lane", ["remit-fast", "remit-slow"])
def test_when_a_lane_is_killed_the_other_goes_on_and_another_takes_its_place(service, talk, lane):
    """Its successor answers the connections on their way to it; its requests in progress are cut off."""
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client)
        [replica] = service.children(REPLICA)
        before = lanes_of(service)
        stays = talk()
        if lane == "remit-slow":
            stays.send("POST", "/v1/authorize", call_of(agent_id))
        else:
            stays.send("GET", f"/v1/agents/{agent_id}")
        assert stays.read()[0] == 200

        kill(before[lane])
        goes_over = talk()
        goes_over.send("GET", f"/v1/agents/{agent_id}")
        stays.send("POST", "/v1/authorize", call_of(agent_id))
        stays.send("GET", f"/v1/agents/{agent_id}")
        assert [stays.read()[0], stays.read()[0], goes_over.read()[0]] == [200, 200, 200]

        after = lanes_of(service)
        assert (after[lane] != before[lane], service.children(REPLICA)) == (True, [replica])
        (other,) = {"remit-fast", "remit-slow"} - {lane}
        assert after[other] == before[other]
        assert f"{lane} was killed by signal 9; starting another" in service.complained
        assert len(entries(client, agent_id)) == (2 if lane == "remit-slow" else 1)


@pytest.mark.parametrize("service", [NEW_INTERPRETER], ids=["a new interpreter"], indirect=True)
def test_the_scheduler_prefers_the_fast_lane(service):
    """It gets shorter time slices (Linux 6.12 or later), and nearly thirty times the slow lane's share of a core."""
    lanes = lanes_of(service)
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, lanes["remit-fast"]) == niceness
    assert os.getpriority(os.PRIO_PROCESS, lanes["remit-slow"]) == min(19, niceness + 15)
    assert os.getsid(lanes["remit-fast"]) == os.getsid(lanes["remit-slow"])  # in two, niceness would mean nothing
    number = {"x86_64": 315, "aarch64": 275}[platform.machine()]
    slices = []
    for pid in lanes.values():
        attributes = ctypes.create_string_buffer(56)
        assert ctypes.CDLL(None).syscall(number, pid, attributes, 56, 0) == 0
        slices.append(struct.unpack("=IIQiIQQQII", attributes.raw)[5])
    has_slices = tuple(map(int, platform.release().split(".")[:2])) >= (6, 12)
    assert (sorted(lanes), slices[list(lanes).index("remit-fast")] == 100_000) == (
        ["remit-fast", "remit-slow"],
        has_slices,
    )


def test_a_replica_that_is_killed_leaves_no_lane_behind(service):
    [replica] = service.children(REPLICA)
    before = lanes_of(service)
    kill(replica)
    service.until(lambda: service.children(REPLICA) not in ([], [replica]), "another replica runs")
    service.until(lambda: lanes_of(service).keys() == LANES, "it has two lanes")
    assert not set(before.values()) & set(lanes_of(service).values())
    service.until(service.answers, "decisions are made again")


@pytest.fixture
def guarded(tmp_path, server):
    """A store with a user whose password can change, and a replica that knows the first one."""
    store = Store(server("redis"), tmp_path / "store")
    with redis.Redis.from_url(store.url) as admin:
        admin.execute_command("ACL", "SETUSER", "remit", "on", ">first", "~*", "&*", "+@all")
        made = Service(
            tmp_path,
            REMIT_REDIS_URL=store.url.replace("//", "//remit:first@"),
            REMIT_BOOTSTRAP_KEY=ADMIN_KEY,
            REMIT_COMPACT="false",
            REMIT_LOG_LEVEL="error",
        )
        made.start()
        yield made, store, admin
        made.stop()
        store.stop()


def test_a_replica_is_not_ready_while_one_of_its_lanes_cannot_reach_the_store(guarded):
    """Its connections alone are gone, and its password is no longer the right one; the other lane needs no new ones."""
    service, store, admin = guarded
    assert service.answers()
    for lane, pid in lanes_of(service).items():
        admin.execute_command("ACL", "SETUSER", "remit", "resetpass", ">second")
        for port in local_ports(pid, store.port):
            admin.execute_command("CLIENT", "KILL", "ADDR", f"127.0.0.1:{port}")
        with service.client(ADMIN_KEY) as client:
            refused = client.get("/readyz")
            assert client.get("/livez").status_code == 200
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE")
        if lane == "remit-slow":
            assert "The replica's slow lane is not ready: " in refused.json()["error"]["message"]
        admin.execute_command("ACL", "SETUSER", "remit", "resetpass", ">first")
        service.until(service.answers, "it is ready again")


def local_ports(pid: int, remote: int) -> list[int]:
    """The ports from which a process is connected to another one on loopback."""
    sockets = {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
    found = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if f"socket:[{fields[9]}]" in sockets and int(fields[2].partition(":")[2], 16) == remote:
            found.append(int(fields[1].partition(":")[2], 16))
    return found


def test_a_lane_that_hangs_outlives_its_service_by_ten_seconds_at_most(service, talk):
    """Nobody is left who could start another replica, or end what is left of this one; its clients learn of the end."""
    [replica] = service.children(REPLICA)
    lanes = lanes_of(service)
    os.kill(lanes["remit-slow"], signal.SIGSTOP)
    waits = talk()
    waits.send("GET", "/metrics")
    kill(service.process.pid)
    assert waits.reader.read() == b""
    assert all_gone([replica, *lanes.values()])


class Mixed(threading.Thread):
    """A caller that sends calls, batches and other requests on one connection until the service stops.

    decided: ids of the answers, those of a batch one by one. cut: requests on an open connection that got no answer.
    """

    def __init__(self, port: int, agent_id: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._port, self._agent_id, self._chance = port, agent_id, random.Random(seed)
        self.decided: list[str] = []
        self.cut = 0
        self.failed: list[int] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            connection, served = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20), 0
            try:
                while not self.stopping.is_set():
                    method, path, body = self._request()
                    connection.request(method, path, body, {"Authorization": f"Bearer {ADMIN_KEY}"})
                    response = connection.getresponse()
                    answer = response.read()
                    served += 1
                    if response.status != 200:
                        self.failed.append(response.status)
                    elif method == "POST":
                        results = json.loads(answer).get("results", [{"decision": json.loads(answer)}])
                        self.decided += [each["decision"]["id"] for each in results]
                    if response.will_close:
                        served = 0
                        break
            except (OSError, http.client.HTTPException):
                self.cut += served > 0
                self.stopping.wait(0.01)
            finally:
                connection.close()

    def _request(self) -> tuple[str, str, bytes | None]:
        kind = self._chance.choices(["call", *SEMANTICS, "get"], [8, 1, 1, 6])[0]
        if kind == "get":
            return "GET", f"/v1/agents/{self._agent_id}", None
        if kind == "call":
            return "POST", "/v1/authorize", call_of(self._agent_id)
        return "POST", "/v1/authorize/batch", batch_of(self._agent_id, kind, self._chance.getrandbits(64))


@pytest.fixture
def mixed_load(service):
    """`mixed_load(agent_id)` gives twelve mixed callers, all of which have had answers. They end with the test."""
    callers: list[Mixed] = []

    def load(agent_id: str) -> list[Mixed]:
        callers.extend(Mixed(service.port, agent_id, seed) for seed in range(12))
        for caller in callers:
            caller.start()
        deadline = time.monotonic() + 20
        while any(len(caller.decided) < 10 for caller in callers):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return callers

    yield load
    stop_all(callers)


def stop_all(callers: list[Mixed]) -> None:
    for caller in callers:
        caller.stopping.set()
    for caller in callers:
        caller.join(60)


@pytest.mark.parametrize("round_", range(3))
def test_a_drain_answers_what_is_on_its_way_between_the_lanes(service, mixed_load, round_):
    """Both stop at once while connections move between them: every accepted request is answered."""
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client)
    callers = mixed_load(agent_id)
    assert service.stop() == 0
    stop_all(callers)
    assert sum(caller.cut for caller in callers) == 0
    assert [caller.failed for caller in callers] == [[]] * len(callers)
    service.start()
    with service.client(ADMIN_KEY) as client:
        assert {each for caller in callers for each in caller.decided} <= entries(client, agent_id).keys()


@pytest.mark.parametrize("lane", ["remit-fast", "remit-slow"])
def test_a_lane_that_is_told_to_stop_takes_its_replica_along_and_nothing_is_cut_off(service, mixed_load, lane):
    """SIGTERM drains, whichever process gets it: both lanes answer their requests, and a new replica takes over."""
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client)
        [replica] = service.children(REPLICA)
        callers = mixed_load(agent_id)
        os.kill(lanes_of(service)[lane], signal.SIGTERM)
        service.until(lambda: service.children(REPLICA) not in ([], [replica]), "another replica runs")
        had = [len(caller.decided) for caller in callers]
        service.until(lambda: all(len(c.decided) > n for c, n in zip(callers, had, strict=True)), "all go on")
        stop_all(callers)
        assert sum(caller.cut for caller in callers) == 0
        assert [caller.failed for caller in callers] == [[]] * len(callers)
        decided = [each for caller in callers for each in caller.decided]
        assert len(decided) == len(set(decided))
        assert set(decided) == entries(client, agent_id).keys()
        assert f"replica 1 (pid {replica}) ended with 1; starting another" in service.complained


def test_lanes_that_are_killed_under_load_lose_no_answer_and_give_none_twice(service, mixed_load):
    """One of them every second, until each has been killed three times."""
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client)
        callers = mixed_load(agent_id)
        for lane in ("remit-fast", "remit-slow") * 3:
            kill_and_await_another(service, lane)
        had = [len(caller.decided) for caller in callers]
        service.until(lambda: all(len(c.decided) > n for c, n in zip(callers, had, strict=True)), "all go on")
        stop_all(callers)
        decided = [each for caller in callers for each in caller.decided]
        assert len(decided) == len(set(decided))
        logged = entries(client, agent_id)
        assert set(decided) <= logged.keys()
        # Of a plan all calls are decided or none, whether or not it was answered.
        plans = Counter(each["parameters"]["all_or_nothing"] for each in logged.values() if "all_or_" in str(each))
        assert {*plans.values()} == {BATCH}
        assert decide(client, agent_id)["allowed"]
