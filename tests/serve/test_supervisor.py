"""`remit serve` on an external store: replicas share a port, are replaced, and answer what they accepted."""

import fcntl
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import redis
from calls import TOOL, Callers, entries, make_agent
from servers import ADMIN_KEY
from serving import COMPACTOR, NEW_INTERPRETER, REPLICA, Service, all_gone, children_of, kill

from app.serve import supervisor
from app.serve.signals import Told
from app.serve.supervisor import StartFailed, _announce, remit_command
from app.settings import Settings

pytestmark = pytest.mark.slow
SMALL_PIPE = 4096


@pytest.fixture
def service(tmp_path, store):
    """Two replicas on one port, not started yet; their log lines are JSON."""
    made = Service(
        tmp_path,
        "--workers=2",
        program=NEW_INTERPRETER,
        REMIT_REDIS_URL=store.url,
        REMIT_BOOTSTRAP_KEY=ADMIN_KEY,
        REMIT_COMPACT="false",
        REMIT_LOG_LEVEL="debug",
        REMIT_LOG_FORMAT="json",
    )
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop()


def log_lines(service: Service) -> list[dict]:
    return [json.loads(line) for line in service.complained.splitlines()]


def slow_lanes_of(replica: int) -> list[int]:
    """The process of a replica that answers requests other than calls."""
    return [pid for pid in children_of(replica) if Path(f"/proc/{pid}/comm").read_text() == "remit-slow\n"]


def pids_that_answered(service: Service) -> set[int]:
    """The replicas that took a request, each on a connection of its own."""
    for _ in range(64):
        httpx.get(f"{service.base_url}/v1/agents", headers={"Authorization": f"Bearer {ADMIN_KEY}"})
    return {line["pid"] for line in log_lines(service) if line["message"] == "GET /v1/agents"}


def test_replicas_share_the_port_and_a_dead_one_is_replaced(service):
    """The kernel spreads connections over both, and over a killed one's successor."""
    service.start()
    replicas = service.children(REPLICA)
    assert len(replicas) == 2
    service.until(lambda: all(map(slow_lanes_of, replicas)), "each has its lanes")
    lanes = {pid for replica in replicas for pid in slow_lanes_of(replica)}
    assert pids_that_answered(service) == lanes

    kill(replicas[0])
    service.until(lambda: len(set(service.children(REPLICA)) - set(replicas)) == 1, "a new replica runs")
    [new] = set(service.children(REPLICA)) - set(replicas)
    service.until(lambda: slow_lanes_of(new), "it has its lanes")
    assert pids_that_answered(service) == {*lanes, *slow_lanes_of(new)}
    assert any(line["level"] == "error" and "starting another" in line["message"] for line in log_lines(service))


def test_a_drain_answers_every_request_that_was_accepted(service):
    """SIGTERM under load: connections close after an answer that announces it, and every answer is in the log."""
    service.start()
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client)
    with Callers(service.port, ADMIN_KEY, agent_id, count=16) as callers:
        callers.after(200)
        assert service.stop(signal.SIGTERM) == 0
    assert callers.cut == 0

    service.start()
    with service.client(ADMIN_KEY) as client:
        assert callers.answered.keys() <= entries(client, agent_id).keys()


def test_a_second_signal_ends_the_service_despite_a_slow_client(service):
    """A drain waits for an arriving body; a second signal does not."""
    service.start()
    replicas = service.children(REPLICA)
    with socket.create_connection(("127.0.0.1", service.port)) as slow:
        head = ("POST /v1/authorize HTTP/1.1", "Host: x", f"Authorization: Bearer {ADMIN_KEY}", "Content-Length: 9")
        slow.sendall("\r\n".join((*head, "Expect: 100-continue", "", "")).encode())
        assert slow.recv(100).startswith(b"HTTP/1.1 100 ")  # so the head has been read
        slow.sendall(b"{")
        service.process.send_signal(signal.SIGINT)
        service.until(lambda: not port_is_open(service.port), "it accepts nothing more")
        assert service.process.poll() is None
        service.process.send_signal(signal.SIGINT)
        assert service.ended() == 0
    assert all_gone(replicas, 0)
    assert service.said.endswith("stopped   at once, and cut off what was in progress\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_service_is_loaded_ends_it_in_order(tmp_path, number):
    """Nothing is started, and the exit code is 0, as later on."""
    service = Service(tmp_path, program=("-c", SIGNALLED_WHILE_LOADING.format(int(number)))).launch()
    assert service.ended() == 0
    assert service.said == "stopped   every request that was accepted has been answered\n"
    assert service.complained == ""
    assert not service.data_dir.exists()


SIGNALLED_WHILE_LOADING = """
import os, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "app.serve.supervisor":
            os.kill(os.getpid(), {})

sys.meta_path.insert(0, Finder())
from app.cli.main import main
main()
"""


def test_a_service_whose_terminal_is_closed_answers_what_it_accepted(service):
    """It cannot say so any more, but it ends in order, even if SIGHUP comes twice."""
    terminal, its_end = pty.openpty()
    process = service.process = subprocess.Popen(
        [sys.executable, *NEW_INTERPRETER, "serve"],
        env=service.env | {"REMIT_LOG_LEVEL": "error"},  # nobody reads the terminal
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(its_end)
    said = b""
    while b"serving " not in said:
        said += os.read(terminal, 65536)
    children = list(children_of(process.pid))
    with service.client(ADMIN_KEY) as client:
        agent_id = make_agent(client)
    with Callers(service.port, ADMIN_KEY, agent_id, count=4) as callers:
        callers.after(100)
        os.close(terminal)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 0
    assert all_gone(children, 0)
    assert callers.cut == 0
    service.start()
    with service.client(ADMIN_KEY) as client:
        assert callers.answered.keys() <= entries(client, agent_id).keys()


def port_is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("program", [("-P", "-m", "app.cli"), (str(Path(sys.executable).parent / "remit"),)])
def test_nothing_is_imported_from_the_folder_it_is_started_in(tmp_path, program):
    """Whatever its files are called: the start, a replica's lanes, the compactor, a store of its own, and a replay."""
    here, marks = tmp_path / "here", tmp_path / "marks"
    (here / "app").mkdir(parents=True)  # a package of the same name
    marks.mkdir()
    trap = f"import os\nopen(os.path.join({str(marks)!r}, __name__), 'w').close()\nraise SystemExit('a trap')\n"
    ours = {name.partition(".")[0] for name in sys.modules if not name.startswith("_")}
    for name in sys.stdlib_module_names | ours | {"sitecustomize", "usercustomize", "uvloop", "redis", "zstandard"}:
        (here / f"{name}.py").write_text(trap)
    (here / "app/__init__.py").write_text(trap)
    service = Service(tmp_path, program=program, REMIT_BOOTSTRAP_KEY=ADMIN_KEY)
    try:
        service.launch(cwd=here).until(lambda: "\nserving " in "\n" + service.said, "it serves")
        service.until(lambda: bool(service.children(COMPACTOR)), "it seals")
        with service.client(ADMIN_KEY) as client:
            make_agent(client)
            body = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}
            assert '"report"' in client.post("/v1/replay", json=body).text
        assert service.stop() == 0
    finally:
        service.process.kill()
        service.process.wait()
    assert list(marks.iterdir()) == []


def test_a_taken_port_is_named(service):
    """Replicas share the port only with each other."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", service.port))
        other.listen()
        service.launch()
        assert service.ended() == 1
    sentence = f"REMIT_PORT: 127.0.0.1:{service.port} cannot be listened on (Address already in use)"
    other = service.port + 1 if service.port < 65535 else service.port - 1
    way_out = f"REMIT_PORT={other} make run, or REMIT_PORT={other} remit serve, takes another port"
    assert service.complained == f"Error: {sentence}; {way_out}\n"


def test_the_port_opens_once_a_replica_can_answer(service):
    """A client that connects before is refused, not left waiting; the first that is accepted gets its answer."""
    service.launch()
    service.until(lambda: len(service.children(REPLICA)) == 2, "replicas start")
    starting = service.children(REPLICA)
    for pid in starting:
        os.kill(pid, signal.SIGSTOP)
    assert not port_is_open(service.port)
    for pid in starting:
        os.kill(pid, signal.SIGCONT)
    service.until(lambda: port_is_open(service.port), "it accepts")
    assert httpx.get(f"{service.base_url}/livez").status_code == 200


def test_a_port_is_taken_while_its_service_starts(service, tmp_path):
    """It does not listen yet, but nobody else may come to share it."""
    service.launch()
    service.until(lambda: len(service.children(REPLICA)) == 2, "replicas start")
    starting = service.children(REPLICA)
    for pid in starting:
        os.kill(pid, signal.SIGSTOP)
    (tmp_path / "other").mkdir()
    other = Service(tmp_path / "other", REMIT_REDIS_URL=service.env["REMIT_REDIS_URL"])
    other.env["REMIT_PORT"] = service.env["REMIT_PORT"]
    other.launch()
    assert other.ended() == 1
    assert f":{service.port} cannot be listened on (Address already in use)" in other.complained
    service.process.kill()
    service.process.wait()
    for pid in starting:
        os.kill(pid, signal.SIGCONT)  # it was told to end with its parent


def test_the_command_line_is_called_by_its_path_where_the_shell_does_not_find_it(monkeypatch):
    """The printed line works when pasted, from this folder or any other."""
    bin_folder = Path(sys.executable).parent
    assert remit_command(None, str(bin_folder)) == "remit"
    monkeypatch.chdir(bin_folder.parent)
    assert remit_command(None, "/nowhere") == f"{bin_folder.name}/remit"
    assert remit_command("my var", "/nowhere") == f"REMIT_DATA_DIR='my var' {bin_folder.name}/remit"
    monkeypatch.chdir("/proc")
    assert remit_command(None, "/nowhere") == str(bin_folder / "remit")


def test_the_last_lines_of_a_start_print_what_the_next_commands_need():
    """Where the store is, if a command would look elsewhere, and where the service is, on whichever port."""
    said = []
    settings = Settings(host="0.0.0.0", port=9000, data_dir="my var")
    _announce(settings, None, None, remit_command("my var", "/nowhere"), said.append)
    *_, next_line, ask = said[0].splitlines()
    assert next_line.startswith("next      `REMIT_DATA_DIR='my var' ")
    assert ask.startswith("ask       `REMIT_URL=http://127.0.0.1:9000 REMIT_API_KEY=svc_… REMIT_DATA_DIR='my var' ")


def test_an_address_of_another_machine_is_named(service):
    """An address of the documentation range is no address of this machine."""
    service.env["REMIT_HOST"] = "192.0.2.1"
    service.launch()
    assert service.ended() == 1
    assert service.complained.startswith(f"Error: REMIT_HOST: 192.0.2.1:{service.port} cannot be listened on (")


def test_a_store_that_rejects_the_password_stops_the_start(service, store):
    """One sentence without the password, and nothing keeps running."""
    service.env["REMIT_REDIS_URL"] = store.url.replace("://", "://remit:hunter2@")
    service.launch()
    assert service.ended() == 1
    sentence = "The store refused the command (WRONGPASS); nothing was decided"
    assert service.complained == f"Error: {sentence} (the store is {store.url})\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_store_that_takes_no_writes_is_waited_for(service, store, number):
    """The start says what it waits for, asks again, ends when told to, and else serves once the store can."""
    del service.env["REMIT_BOOTSTRAP_KEY"]  # it would have to be written
    with redis.Redis.from_url(store.url) as admin:
        admin.replicaof("127.0.0.1", 1)
        try:
            for wanted in (False, True):
                service.launch()
                service.until(lambda: "\nwaiting " in "\n" + service.said, "it waits")
                asked = refused_checks(service)
                service.until(lambda asked=asked: refused_checks(service) > asked, "it has asked again")
                assert service.said.count("waiting ") == 1
                if wanted:
                    admin.replicaof("NO", "ONE")
                    service.until(lambda: "\nserving " in "\n" + service.said, "it serves")
                children = service.children()
                assert service.stop(number) == 0
                assert all_gone(children, 0)
                assert "Traceback" not in service.complained
        finally:
            admin.replicaof("NO", "ONE")


def refused_checks(service: Service) -> int:
    """How often /readyz answered 503."""
    # The last line may still be being written.
    return sum(json.loads(line).get("status") == 503 for line in service.complained.rpartition("\n")[0].splitlines())


def test_a_start_that_waits_asks_at_growing_intervals_and_says_each_reason_once(monkeypatch):
    """Up to a second: each question that is refused is a line of the log. Without an answer, it asks again at once."""
    answers = ["", "", *["read-only"] * 5, "full", None]
    clock, asked, said = SimpleNamespace(now=0.0), [], []

    def obstacle(_settings, _wait) -> str | None:
        asked.append(clock.now)
        return answers[len(asked) - 1]

    def pause():
        clock.now += 0.125

    monkeypatch.setattr(supervisor, "_obstacle", obstacle)
    monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: clock.now))
    supervisor._wait_until_ready(Settings(), SimpleNamespace(dead=list), said.append, pause)
    assert asked == [0.0, 0.125, 0.25, 0.375, 0.625, 1.125, 2.0, 3.0, 4.0]
    assert said == ["waiting   read-only", "waiting   full"]


def test_a_replica_that_does_not_answer_has_one_question_to_answer(monkeypatch):
    """It accepts, and is stopped: it gets no second question before the first has been given up, however long it takes.

    Meanwhile, a signal or the end of a child ends the start.
    """
    clock, pauses = SimpleNamespace(now=0.0), []
    monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: clock.now))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings = Settings(port=listening.getsockname()[1])
        reading, writing = os.pipe()
        if not (pid := os.fork()):  # it takes the first question, and says so
            taken, _ = listening.accept()
            taken.recv(1)
            os.write(writing, b"x")
            signal.pause()
        try:
            os.close(writing)

            def pause():
                if not pauses:
                    assert os.read(reading, 1) == b"x"
                    os.kill(pid, signal.SIGSTOP)
                pauses.append(clock.now)
                clock.now += 0.5
                if clock.now > 35:
                    raise Told

            with pytest.raises(Told):
                supervisor._wait_until_ready(settings, SimpleNamespace(dead=list), list, pause)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reading)
        listening.setblocking(False)
        waiting = 0
        with suppress(BlockingIOError):
            while True:
                listening.accept()[0].close()
                waiting += 1
        assert waiting == 3
        dead = iter([[], ["replica 1"]])
        with pytest.raises(StartFailed, match="replica 1"):
            supervisor._wait_until_ready(settings, SimpleNamespace(dead=lambda: next(dead)), list, lambda: None)


def test_decisions_go_on_if_nobody_reads_the_log(service):
    """Until somebody does again, who learns that lines are missing."""
    service.env |= {"REMIT_LOG_DECISIONS": "always", "REMIT_LOG_LEVEL": "info"}
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SMALL_PIPE)
    service.launch(stderr=writing)
    os.close(writing)
    service.until(lambda: "\nserving " in "\n" + service.said, "it serves")
    with service.client(ADMIN_KEY) as client, os.fdopen(reading, "rb", buffering=0) as log:
        call = {"agent_id": make_agent(client), "tool_name": TOOL}
        for _ in range(100):
            assert client.post("/v1/authorize", json=call).status_code == 200
        log.read(SMALL_PIPE)
        assert client.post("/v1/authorize", json=call).status_code == 200
        assert service.stop() == 0
        assert b"nobody read the log in time: " in log.read(SMALL_PIPE)


def test_a_wrong_setting_stops_the_start(service):
    """Before anything is started, with the sentence of the settings."""
    service.env["REMIT_STORE_TIMEOUT_MS"] = "soon"
    service.launch()
    assert service.ended() == 1
    assert service.complained == (
        "Error: REMIT_STORE_TIMEOUT_MS must be a whole number from 10 to 10000, and not 'soon'\n"
    )
