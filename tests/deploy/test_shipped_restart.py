"""A store with the shipped files keeps everything over a restart, a rewrite, a restored backup and a hand-over."""

import json
import os
import re
import socket
import subprocess
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from everything_stored import SECRET, missing, write_everything
from servers import Replica, until
from shipped_store import ACL, FOLLOWING, PASSWORD, ShippedStore, every_command, newest_redis
from tenants import Tenant
from test_files import SERVICES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/operations.md").read_text()
PYTHON = ROOT / ".venv/deploy/bin/python"


@pytest.fixture(scope="module", params=["redis", "redis 8", "valkey"])
def binary(request, server, program):
    """Debian's Redis, the newest one that can be installed by name, and the Valkey of the embedded store."""
    return newest_redis(program) if request.param == "redis 8" else server(request.param)


def acl_of_deploy(program, folder):
    return ACL


def acl_of_chart(program, folder):
    """What the chart's ConfigMap holds with `storeAcl.enabled`."""
    python = program(str(PYTHON), "the Helm chart (make .venv/deploy.stamp)")
    values = json.dumps({"acl": {"storeAcl": {"enabled": True}}})
    script = [python, str(ROOT / "tests/deploy/render_chart.py")]
    charts = json.loads(subprocess.run(script, input=values, capture_output=True, text=True, check=True).stdout)
    [found] = [each for each in charts["charts"]["acl"]["objects"] if each["metadata"]["name"] == "remit-store-acl"]
    return found["data"]["redis.acl"]


def acl_of_compose(program, folder):
    """What the command of the composed store makes of the mounted file."""
    *shell, command = SERVICES["redis"]["command"]
    command = command.replace("$$", "$").replace("/etc/redis/redis.acl.in", str(ROOT / "deploy/redis.acl"))
    command = command.replace("/tmp/redis.acl", str(folder / "made.acl")).replace("exec redis-server", "exec echo")
    env = {"REMIT_STORE_PASSWORD": PASSWORD, "PATH": "/usr/bin:/bin"}
    subprocess.run([*shell, command], env=env, check=True, stdout=subprocess.DEVNULL)
    return (folder / "made.acl").read_text()


@pytest.fixture(scope="module", params=[acl_of_deploy, acl_of_chart, acl_of_compose], ids=["file", "chart", "compose"])
def written(request, binary, program, tmp_path_factory):
    """A store with one of everything, the service stopped; and what was stored then."""
    folder = tmp_path_factory.mktemp("shipped")
    acl = request.param(program, folder)
    with ExitStack() as stack:
        store = ShippedStore(binary, folder / "store", acl=acl)
        stack.callback(store.stop)
        with serving(store) as replica, closing(Tenant(store.url, replica)) as tenant:
            write_everything(tenant)
            store.admin_key = tenant.admin_key
        store.written, store.acl, store.program = store.stored(), acl, program
        assert missing(tenant, store.written) == []
        yield store


@contextmanager
def serving(store):
    """A replica on the store, as its user `remit`."""
    replica = Replica(store.url, REMIT_COMPACT="false", **SECRET)
    try:
        yield replica
    finally:
        replica.stop()


def make_agent_named(store, name):
    with serving(store) as replica, replica.client(store.admin_key) as client:
        assert client.post("/v1/agents", json={"name": name}).status_code == 201


def test_a_stop_and_a_start_keep_every_key(written):
    """Ended in order and killed; the transactions of scripts are replayed from the append-only file."""
    written.stop()
    written.start()
    assert written.stored() == written.written
    written.kill()
    written.start()
    assert written.stored() == written.written


def test_a_rewrite_keeps_every_key(written):
    """Of the file that is then the base, and of what scripts append to it afterwards."""
    with written.as_user("root") as root:
        root.bgrewriteaof()
        until(lambda: not root.info("persistence")["aof_rewrite_in_progress"], "the file is rewritten")
    make_agent_named(written, "after the rewrite")
    before = written.stored()
    assert before.keys() > written.written.keys()
    written.stop()
    written.start()
    assert written.stored() == before
    written.written = before


def test_a_restored_backup_has_every_key(written, tmp_path):
    """With the page's commands, as its user `backup`, where the file has that one."""
    program = written.program
    program("redis-cli", "the backup of docs/operations.md")
    user = "backup" if "user backup " in written.acl else "root"
    env = os.environ | {"STORE_CLI": f"redis-cli -e -p {written.port} --user {user}", "REDISCLI_AUTH": PASSWORD}
    backup, restore = (
        re.search(r"```sh\n(.*?)```", PAGE.split(f"\n### {name}\n", 1)[1], re.DOTALL)[1]
        for name in ("Backup", "Restore")
    )
    subprocess.run(["bash", "-euc", backup], cwd=tmp_path, env=env | {"STORE_DIR": str(written.folder)}, check=True)
    elsewhere = tmp_path / "restored"
    subprocess.run(["bash", "-euc", restore], cwd=tmp_path, env=env | {"STORE_DIR": str(elsewhere)}, check=True)
    restored = ShippedStore(written.binary, elsewhere, acl=written.acl)
    try:
        assert restored.stored() == written.written
    finally:
        restored.stop()


def test_a_replica_that_takes_over_has_every_key_and_keeps_it(written, tmp_path):
    """Under the shipped user `replication`; promoted, it restarts from its own file."""
    if "user replication " not in written.acl:
        assert "replicaof" not in str(SERVICES)  # the composed store has no replica
        return
    of_the_master = ("--replicaof", f"127.0.0.1 {written.port}")
    replica = ShippedStore(written.binary, tmp_path / "replica", *FOLLOWING, *of_the_master, acl=written.acl)
    try:
        with replica.as_user("root") as looking:
            until(lambda: looking.info("replication")["master_link_status"] == "up", "the replica has everything")
            looking.execute_command("REPLICAOF", "NO", "ONE")
        assert replica.stored() == written.written
        replica.options = ()
        replica.admin_key = written.admin_key
        make_agent_named(replica, "after the hand-over")
        before = replica.stored()
        assert before.keys() > written.written.keys()
        replica.stop()
        replica.start()
        assert replica.stored() == before
    finally:
        replica.stop()


def test_the_file_is_taken_over_by_a_running_store_and_its_next_start_keeps_every_key(binary, tmp_path):
    """`ACL LOAD` in place of the earlier file, as an upgrade does first; the service goes on deciding."""
    earlier = ACL.replace("user default off ~remit:* +@write\n", "user default off\n").replace(" +acl|dryrun", "")
    store = ShippedStore(binary, tmp_path / "store", acl=earlier)
    try:
        with serving(store) as replica, closing(Tenant(store.url, replica)) as tenant:
            agent_id = tenant.new_agent()["id"]
            tenant.new_policy(agent_id)
            before = tenant.authorize(agent_id)["id"]
            store.load(ACL)
            with store.as_user("root") as root:
                root.execute_command("ACL", "LOAD")
            call = {"agent_id": agent_id, "tool_name": "file.read"}
            until(lambda: tenant.reader.post("/v1/authorize", json=call).status_code == 200, "calls go on")
            assert before in {entry["id"] for entry in tenant.log()}
        written = store.stored()
        store.stop()
        store.start()
        assert store.stored() == written
    finally:
        store.stop()


OF_A_CONNECTION = {"auth": "-WRONGPASS", "quit": "+OK", "reset": "+RESET"}
"""What is answered without a password: all that these commands do is to log in, and to end or to reset a connection."""
REFUSED = re.compile("-NOAUTH |-EXECABORT .*: NOAUTH |-ERR (DEBUG|MODULE) command not allowed")
"""DEBUG and MODULE are refused to everybody, whoever they are."""


def test_a_stranger_without_a_password_gets_noauth_for_every_command(written):
    """Of every command and subcommand of the server; nor does any password open the account `default`."""
    with written.as_user("root") as root:
        commands = every_command(root)
    assert len(commands) > 200
    answers = {name: said_to_a_stranger(written, *words) for name, (words, _) in commands.items()}
    others = {name: said for name, said in answers.items() if not REFUSED.match(said)}
    assert {name: said.split()[0] for name, said in others.items()} == OF_A_CONNECTION
    for password in ("", PASSWORD, "x"):
        for words in (("AUTH", "default"), ("AUTH",), ("HELLO", "3", "AUTH", "default")):
            assert said_to_a_stranger(written, *words, password).startswith("-WRONGPASS")


def said_to_a_stranger(store, *words):
    """The first line of the answer to a command on a new connection."""
    with socket.create_connection(("127.0.0.1", store.port), timeout=60) as stranger, stranger.makefile("rb") as reply:
        sent = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        stranger.sendall(f"*{len(words)}\r\n{sent}".encode())
        return reply.readline().decode()
