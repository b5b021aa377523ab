"""REMIT_SOCKET: the same service on a Unix socket, beside its port."""

import grp
import json
import os
import socket
import stat

import httpx
import pytest
from servers import ADMIN_KEY, Replica, clean_env, free_port

KEY = {"Authorization": f"Bearer {ADMIN_KEY}"}


@pytest.fixture
def path(tmp_path):
    """Short, because the name of a socket has at most 107 bytes."""
    found = tmp_path / "remit.sock"
    assert len(str(found)) < 100
    return found


def over(path, **options):
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://remit", headers=KEY, **options)


@pytest.fixture
def replica(store, path):
    running = Replica(
        store.url, REMIT_SOCKET=str(path), REMIT_WORKERS="2", REMIT_SOCKET_MODE="600", REMIT_COMPACT="false"
    )
    yield running
    running.stop()


def test_both_ways_lead_to_the_same_service(replica, path, run_remit):
    """Also for what moves to the other lane, for more connections than there are workers, and for the command line."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with over(path) as unix, replica.client() as tcp:
        agent = unix.post("/v1/agents", json={"name": "over a socket"}).json()["id"]
        assert tcp.get(f"/v1/agents/{agent}").json()["name"] == "over a socket"
        for _ in range(3):
            with over(path) as another:
                answer = another.post("/v1/authorize", json={"agent_id": agent, "tool_name": "t"})
                assert answer.json()["code"] == "default_deny"
                assert another.get("/v1/agents").status_code == 200
                assert another.post("/v1/authorize", json={"agent_id": agent, "tool_name": "t"}).status_code == 200
    assert len(tcp_log(replica, agent)) == 6
    env = clean_env() | {"REMIT_URL": f"unix://{path}", "REMIT_API_KEY": ADMIN_KEY}
    done = run_remit(["agents", "show", agent, "--json"], env)
    assert json.loads(done.stdout)["name"] == "over a socket", done.stderr


def test_wrong_keys_over_the_socket_count_together(store, path):
    """On whichever connection. A key that has worked stays welcome, and so does everybody who comes over TCP."""
    env = {"REMIT_SOCKET": str(path), "REMIT_AUTH_FAILURES_PER_MINUTE": "3", "REMIT_COMPACT": "false"}
    replica, wrong = Replica(store.url, **env), {"Authorization": "Bearer svc_" + "0" * 32}
    with over(path) as unix, replica.client() as tcp:
        assert unix.get("/v1/agents").status_code == 200
        answers = []
        for _ in range(4):
            with over(path) as another:
                answers.append(another.get("/v1/agents", headers=wrong).status_code)
        assert answers == [401, 401, 401, 429]
        assert unix.get("/v1/agents").status_code == tcp.get("/v1/agents").status_code == 200
        assert tcp.get("/v1/agents", headers=wrong).status_code == 401
    replica.stop()


def tcp_log(replica, agent):
    with replica.client() as tcp:
        return tcp.get("/v1/audit-logs", params={"agent_id": agent}).json()


def test_its_file_goes_with_the_service_and_a_stale_one_is_replaced(store, path):
    """A killed service leaves its file."""
    replica = Replica(store.url, REMIT_SOCKET=str(path), REMIT_COMPACT="false")
    replica.kill()
    assert path.is_socket()
    replica.start()
    with over(path) as unix:
        assert unix.get("/livez").status_code == 200
    replica.stop()
    assert not path.exists()


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        ("a file", "{} exists and is not a socket"),
        ("a service", "another service listens on {}"),
        ("a service that starts", "another service is starting on {}"),
    ],
)
def test_what_is_in_use_is_not_replaced(store, path, there, sentence, run_remit):
    """The start fails, and says what stands in its way."""
    with socket.socket(socket.AF_UNIX) as other:
        if there == "a file":
            path.write_text("precious")
        else:
            other.bind(str(path))
            if there == "a service":
                other.listen()
        env = clean_env() | {"REMIT_REDIS_URL": store.url, "REMIT_SOCKET": str(path), "REMIT_PORT": str(free_port())}
        done = run_remit(["serve"], env)
    assert done.returncode != 0
    assert f"REMIT_SOCKET: {sentence.format(path)}" in done.stderr
    assert path.exists()


def test_the_socket_can_belong_to_a_group(store, path):
    """Whose members may connect."""
    group = os.getgroups()[0] if os.getgroups() else os.getgid()
    replica = Replica(store.url, REMIT_SOCKET=str(path), REMIT_SOCKET_GROUP=grp.getgrgid(group).gr_name)
    assert (path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (group, 0o660)
    replica.stop()
