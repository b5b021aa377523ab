"""deploy/redis.conf and deploy/redis.acl on both real servers: the service's user may do little more than it needs."""

import ast
import contextlib
import json
import re
from pathlib import Path

import pytest
import redis
from calls import TOOL, decide, entries, make_agent
from command_line import run_remit
from servers import Replica, clean_env
from shipped_store import ACL, OF_THE_CLIENT_LIBRARY, PASSWORD, ShippedStore, every_command, newest_redis

from app.serve.doctor import SCRIPTED_WRITES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
USERS = {line.split()[1]: line.split()[2:] for line in ACL.splitlines()}


@pytest.fixture(scope="module", params=["redis", "valkey"])
def guarded(request, server, tmp_path_factory):
    running = ShippedStore(server(request.param), tmp_path_factory.mktemp(f"guarded-{request.param}"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def served(guarded):
    """A service with its compactor, logged in as the user `remit`."""
    running = Replica(guarded.url, REMIT_AUDIT_SEAL_AFTER_SECONDS="1", REMIT_SECRET="s" * 32)
    yield running
    running.stop()


def test_the_service_runs_as_a_user_with_few_rights_and_is_denied_nothing(guarded, served):
    """Every route once, sealing and the command line too; the store notes every command that it refused."""
    limited = {"type": "rate_limit", "tools": [TOOL], "rateLimit": {"maxCalls": 3, "windowSeconds": 60}}
    with served.client() as client:
        agent_id = make_agent(client, limited)
        results = [decide(client, agent_id)["result"] for _ in range(4)]
        assert results == ["allowed"] * 3 + ["denied"]
        [policy] = client.get("/v1/policies", params={"agent_id": agent_id}).json()
        assert client.patch(f"/v1/policies/{policy['id']}", json={"priority": 7}).status_code == 200
        assert client.patch(f"/v1/agents/{agent_id}", json={"description": "known"}).status_code == 200
        key = client.post("/v1/api-keys", json={"name": "short-lived", "scopes": ["read"]}).json()
        assert client.delete(f"/v1/api-keys/{key['id']}").status_code == 204
        idempotent = {"Idempotency-Key": "once"}
        call = {"agent_id": agent_id, "tool_name": TOOL}
        assert client.post("/v1/authorize", json=call, headers=idempotent).status_code == 200
        head = redis.Redis(port=guarded.port, username="operator", password=PASSWORD)
        while not list(head.scan_iter("remit:{*}:audit:head")):
            assert client.get("/readyz").status_code == 200
        assert len(entries(client, agent_id)) == 5
        assert client.delete(f"/v1/policies/{policy['id']}").status_code == 204
        assert client.delete(f"/v1/agents/{agent_id}").status_code == 204
        assert client.get("/metrics").status_code == 200
    for words in (["key", "list"], ["workspace", "create", "guarded"], ["doctor"]):
        ran = run_remit([*words, "--json"], served.env)
        assert ran.returncode == 0, ran.stderr
    of_the_server = {"version", "durability"}
    found = [each["severity"] for each in json.loads(ran.stdout) if each["subject"] not in of_the_server]
    assert found == ["ok"] * 11
    refused = {entry["object"] for entry in guarded.as_user("root").acl_log()} - OF_THE_CLIENT_LIBRARY
    assert refused == set()


def test_the_service_s_user_may_not_do_more(guarded, served):
    """Other keys, commands and users: even with the password, nobody can switch the log off."""
    remit = guarded.as_user("remit")
    assert remit.get("remit:ready") is None
    for words in (
        ("GET", "others:key"),
        ("KEYS", "*"),
        ("FLUSHALL",),
        ("CONFIG", "SET", "appendonly", "no"),
        ("SHUTDOWN",),
        ("ACL", "LIST"),
        ("REPLICAOF", "NO", "ONE"),
        ("MONITOR",),
        ("EVAL", "return redis.call('GET', 'others:key')", "0"),
        ("EVAL", "return redis.call('FLUSHALL')", "0"),
    ):
        with pytest.raises(
            redis.exceptions.ResponseError, match=r"NOPERM|ACL|permission|The user executing the script can't"
        ):
            remit.execute_command(*words)


def refuses(user: redis.Redis, *words: str) -> bool:
    """Whether the store denies the command to this user."""
    try:
        user.execute_command(*words)
    except redis.exceptions.NoPermissionError:
        return True
    return False


CHANGES = """
CLIENT PAUSE 1, CLIENT UNPAUSE, CLIENT KILL TYPE normal, CLIENT NO-EVICT on, CLIENT TRACKING off, CLIENT REPLY on,
SLOWLOG RESET, LATENCY RESET, MEMORY PURGE, CONFIG SET maxmemory 1, CONFIG RESETSTAT, CONFIG REWRITE,
CONFIG SET auto-aof-rewrite-percentage 0, CONFIG GET masterauth, BGREWRITEAOF, BGSAVE, SAVE, SHUTDOWN, REPLICAOF NO ONE,
FAILOVER, ACL LIST, ACL SETUSER x, SCRIPT FLUSH, SCRIPT KILL, FUNCTION FLUSH, EVAL x 0, MONITOR, FLUSHALL, FLUSHDB,
SWAPDB 0 1, KEYS *, PUBLISH a b, SUBSCRIBE a, WAIT 0 0, MIGRATE a 1 remit:a 0 1, HSET remit:a b c, DEL remit:a,
SET remit:a b, EXPIRE remit:a 1, XADD remit:a * b c, XTRIM remit:a MAXLEN 0
"""


def test_an_operator_looks_and_changes_nothing(guarded, served):
    """What docs/keyspace.md shows can be run as this user, and what a slow or full store is asked."""
    operator = guarded.as_user("operator")
    assert operator.hgetall("remit:workspaces")
    assert operator.info("memory")["used_memory"] > 0
    for words in (
        ("SLOWLOG", "GET"),
        ("SLOWLOG", "LEN"),
        ("CLIENT", "LIST"),
        ("LATENCY", "LATEST"),
        ("MEMORY", "USAGE", "remit:workspaces"),
    ):
        assert not refuses(operator, *words), words
    assert [line for line in CHANGES.split(",") if not refuses(operator, *line.split())] == []


def test_the_backup_user_sees_and_changes_nothing(guarded, served):
    """It may only ask whether the store writes its append-only file, as docs/operations.md says."""
    backup = guarded.as_user("backup")
    assert backup.info("persistence")["aof_enabled"] == 1
    reads = ",HGETALL remit:workspaces, SCAN 0, CONFIG GET *, SLOWLOG GET"
    assert [line for line in (CHANGES + reads).split(",") if not refuses(backup, *line.split())] == []


def permitted(root: redis.Redis, user: str) -> dict[str, tuple[list[str], set[str]]]:
    """The commands that the server would let this user run on Remit's keys."""
    return {
        name: (words, flags)
        for name, (words, flags) in every_command(root).items()
        if "no permissions" not in str(root.execute_command("ACL", "DRYRUN", user, *words))
    }


OF_A_CONNECTION = {"auth", "quit", "reset", "hello", "select"}
"""Commands that concern only the connection that sends them."""
PLANTED = [
    ("SET", "remit:x", "1"),
    ("HSET", "remit:x", "remit:x", "1"),
    ("RPUSH", "remit:x", "1", "2"),
    ("SADD", "remit:x", "remit:x"),
    ("ZADD", "remit:x", "1", "remit:x"),
    ("XADD", "remit:x", "1-1", "a", "b"),
]
KEEP_THEIR_WORD = {
    "operator": {"hgetall", "xrange", "scan", "info", "client|list", "slowlog|get", "memory|usage", "latency|latest"},
    "backup": {"info", "ping", "auth"},
}


@pytest.mark.parametrize("user", KEEP_THEIR_WORD)
def test_whatever_they_may_run_changes_nothing(guarded, served, user):
    """Every command of the server is tried: those that are let through are run, and leave keys and settings alone."""
    root, theirs = guarded.as_user("root"), permitted(guarded.as_user("root"), user)
    assert theirs.keys() >= KEEP_THEIR_WORD[user]
    assert {name for name, (_, flags) in theirs.items() if flags & {"write", "admin"}} <= {
        # to look at the server, which Redis counts as administration
        "client|list", "slowlog|get", "slowlog|len", "latency|latest", "latency|history", "latency|graph",
        "latency|doctor",
    }  # fmt: skip
    settings = root.config_get("*")
    tried = 0
    for plant in PLANTED:
        root.delete("remit:x")
        root.execute_command(*plant)
        with guarded.as_user("root", decoding=False) as looking, guarded.as_user(user, decoding=False) as connection:
            planted = looking.dump("remit:x")
            for name, (words, flags) in theirs.items():
                if name not in OF_A_CONNECTION and "blocking" not in flags:
                    tried += 1
                    with contextlib.suppress(redis.exceptions.ResponseError):  # such as a key of another type
                        connection.execute_command(words[0].encode(), *words[1:])
                    assert looking.dump("remit:x") == planted, name
    root.delete("remit:x")
    assert tried >= len(PLANTED) * {"operator": 50, "backup": 2}[user]
    assert root.config_get("*") == settings


def test_the_service_s_user_may_run_what_is_listed_and_nothing_else(guarded):
    """Every command of the server is asked about, so a category or a new subcommand grants nothing unseen."""
    listed = {word[1:] for word in USERS["remit"] if word.startswith("+")}
    found = permitted(guarded.as_user("root"), "remit").keys() - OF_A_CONNECTION | {"auth", "select"}
    assert {name for name in found if name not in listed and name.partition("|")[0] not in listed} == set()
    assert {
        name for name in listed if name not in found and not any(each.startswith(f"{name}|") for each in found)
    } == set()


def found_of_restart(store):
    ran = run_remit(["doctor", "--json"], clean_env() | {"REMIT_REDIS_URL": store.url})
    [finding] = [each for each in json.loads(ran.stdout) if each["subject"] == "restart"]
    return finding["severity"], finding["sentence"], ran.returncode


@pytest.mark.parametrize("kind", ["redis", "redis 8", "valkey"])
def test_the_doctor_knows_what_a_restart_would_drop(kind, server, program, tmp_path):
    """By asking what the user `default` may run, with the least right that there is; Valkey has mended it itself."""
    store = ShippedStore(newest_redis(program) if kind == "redis 8" else server(kind), tmp_path / "store")
    try:
        with store.as_user("root") as root:
            assert found_of_restart(store)[0] == "ok"
            root.execute_command("ACL SETUSER", "default", "reset")
            severity, sentence, code = found_of_restart(store)
            if kind == "valkey":
                assert (severity, code) == ("ok", 0)
                return
            assert (severity, code) == ("broken", 1)
            assert "may not run DEL, HDEL, HINCRBY, HSET" in sentence
            root.execute_command("ACL SETUSER", "default", "~remit:*", "+@write", "-xadd")
            assert "may not run XADD; before" in found_of_restart(store)[1]
            [cure] = re.findall(r"run `ACL SETUSER default (.*?)`", sentence)
            root.execute_command("ACL SETUSER", "default", *cure.split())
            assert found_of_restart(store)[0] == "ok"
            root.execute_command("ACL SETUSER", "remit", "-acl|dryrun")
            severity, sentence, code = found_of_restart(store)
            assert (severity, code) == ("risk", 0)
            assert "`ACL DRYRUN` is refused" in sentence
    finally:
        store.stop()


def test_the_doctor_asks_about_every_write_of_a_script(guarded):
    """Of those that the server counts as writes."""
    flags = {
        name.upper(): {str(flag) for flag in each["flags"]} for name, each in guarded.as_user("root").command().items()
    }
    in_scripts = {
        name for path in (ROOT / "lua").rglob("*.lua") for name in re.findall(r"call\('([A-Z]+)'", path.read_text())
    }
    asked = [write.split()[0] for write in SCRIPTED_WRITES.split(", ")]
    assert asked == sorted(name for name in in_scripts if "write" in flags[name])


def test_nobody_gets_in_without_a_name(guarded):
    """The default user is off."""
    with pytest.raises(redis.exceptions.AuthenticationError):
        redis.Redis(port=guarded.port).ping()


def test_the_rights_are_those_that_the_code_needs(guarded):
    """Exactly the commands named by a script or `app/`, including those rarely run."""
    known = {name.upper() for name in guarded.as_user("root").command_list()}
    in_scripts = {
        name for path in (ROOT / "lua").rglob("*.lua") for name in re.findall(r"call\('([A-Z]+)'", path.read_text())
    }
    in_code = {
        node.value
        for path in [*(ROOT / "app").rglob("*.py")]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known
    }
    granted = {word[1:].partition("|")[0].upper() for word in USERS["remit"] if word.startswith("+")}
    no_commands = {"READONLY", "KEYS"}  # a code of errors, and a word of the scripts' headers
    of_operators = {"CLUSTER", "MIGRATE"}  # `remit workspaces move` runs as another user
    by_the_clients = {"AUTH", "SELECT", "PING", "XREAD"}
    assert (in_scripts | in_code | by_the_clients) - no_commands - of_operators == granted
