"""What `remit doctor` and `remit serve` report about a store: each finding with its severity and a message."""

import json
import re
import subprocess

import pytest
from command_line import run_remit
from servers import Replica, Store, clean_env

from app.redis_client.clients import open_client
from app.redis_client.replies import as_record
from app.serve.doctor import Node, Severity, _clock, _distance, _durability, _memory, _role, _version, check_up

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture(scope="module", params=["redis", "valkey"])
def own_store(request, server, tmp_path_factory):
    """A durable store whose settings a test may change."""
    running = Store(server(request.param), tmp_path_factory.mktemp("checkup"), *DURABLE)
    yield running
    running.stop()


@pytest.fixture
async def set_up(own_store):
    """Changes settings of the store for as long as the test runs."""
    client, before = open_client(own_store.url, 5_000), {}

    async def change(**settings: str) -> None:
        for name, value in settings.items():
            option = name.replace("_", "-")
            before.setdefault(option, as_record(await client.call("CONFIG", "GET", option))[option])
            await client.call("CONFIG", "SET", option, value)

    change.client = client
    yield change
    for option, value in before.items():
        await client.call("CONFIG", "SET", option, value)
    await client.close()


def doctor(url: str, *arguments: str) -> subprocess.CompletedProcess:
    env = clean_env() | {"REMIT_REDIS_URL": url}
    return run_remit(["doctor", *arguments], env)


async def found(client, subject: str):
    [finding] = [each for each in await check_up(client, private=True) if each.subject == subject]
    return finding


async def test_a_durable_store_that_evicts_nothing_is_healthy(set_up):
    """Everything is checked, and everything is ok."""
    findings = await check_up(set_up.client, private=True)
    assert [finding.subject for finding in findings] == [
        "version",
        "role",
        "eviction",
        "memory",
        "durability",
        "replication",
        "restart",
        "scripts",
        "decisions",
        "clock",
        "distance",
        "secret",
    ]
    assert {finding.severity for finding in findings} == {Severity.OK}


@pytest.mark.parametrize(
    ("settings", "subject", "severity", "words"),
    [
        ({"maxmemory_policy": "allkeys-lru"}, "eviction", "broken", "allkeys-lru: when memory runs out, quotas and"),
        ({"maxmemory_policy": "volatile-ttl"}, "eviction", "broken", "set noeviction"),
        ({"appendonly": "no"}, "durability", "risk", "appendonly is off: a crash of the store loses policies"),
        ({"appendfsync": "everysec"}, "durability", "risk", "loses the last second; always loses nothing"),
        ({"appendfsync": "no"}, "durability", "risk", "loses whatever the system had not written yet"),
        ({"maxmemory": "1mb"}, "decisions", "broken", "every decision is refused: The store refused the command (OOM)"),
        ({"min_replicas_to_write": "1"}, "decisions", "broken", "(NOREPLICAS)"),
        ({"maxmemory": "1mb"}, "memory", "risk", "MiB are used; when it is full, every decision is refused"),
    ],
)
async def test_a_setting_that_risks_data_is_reported(set_up, settings, subject, severity, words):
    """The message says what could be lost, and what to set instead."""
    await set_up(**settings)
    finding = await found(set_up.client, subject)
    assert finding.severity == severity
    assert words in finding.sentence


async def test_a_read_only_replica_is_reported(set_up):
    """Because it takes no writes."""
    await set_up.client.call("REPLICAOF", "127.0.0.1", "1")
    try:
        assert (await found(set_up.client, "role")).severity is Severity.BROKEN
    finally:
        await set_up.client.call("REPLICAOF", "NO", "ONE")


async def test_a_master_with_replicas_and_no_minimum_is_a_risk(own_store, set_up, tmp_path):
    """Cut off from its replicas, it would give answers that a new master does not have."""
    assert (await found(set_up.client, "replication")).severity is Severity.OK
    replica = Store(own_store.binary, tmp_path, "--replicaof", f"127.0.0.1 {own_store.port}")
    try:
        while (await set_up.client.call("INFO", "replication"))["connected_slaves"] == 0:
            await set_up.client.call("PING")
        assert (await found(set_up.client, "replication")).severity is Severity.RISK
        await set_up(min_replicas_to_write="1")
        assert (await found(set_up.client, "replication")).severity is Severity.OK
    finally:
        replica.stop()


async def test_a_user_who_may_not_read_the_settings_is_told_what_they_must_be(own_store, set_up):
    """Managed stores hide CONFIG; the other checks still run."""
    await set_up.client.call("ACL", "SETUSER", "curious", "on", ">secret", "~*", "+@all", "-config")
    client = open_client(own_store.url.replace("://", "://curious:secret@"), 5_000)
    findings = {finding.subject: finding for finding in await check_up(client, private=True)}
    await client.close()
    assert findings["eviction"].severity is findings["durability"].severity is Severity.RISK
    assert "must be noeviction" in findings["eviction"].sentence


@pytest.mark.parametrize(
    ("info", "severity"),
    [
        ({"redis_version": "6.2.20"}, "broken"),
        ({"redis_version": "7.0.15"}, "risk"),
        ({"redis_version": "7.2.10"}, "risk"),
        ({"redis_version": "7.2.11"}, "ok"),
        ({"redis_version": "8.2.1"}, "risk"),
        ({"redis_version": "8.2.2"}, "ok"),
        ({"redis_version": "8.4.0"}, "ok"),
        ({"redis_version": "7.2.4", "valkey_version": "7.2.12"}, "broken"),
        ({"redis_version": "7.2.4", "valkey_version": "8.0.5"}, "risk"),
        ({"redis_version": "7.2.4", "valkey_version": "8.1.4"}, "ok"),
        ({"redis_version": "7.2.4", "valkey_version": "9.1.0"}, "ok"),
        ({}, "broken"),
    ],
)
def test_a_version_that_is_too_old_or_vulnerable_is_named(info, severity):
    """The vulnerability lets a script out of its sandbox."""
    assert _version(info, private=False).severity == severity


def test_a_vulnerability_that_nobody_can_reach_is_not_reported():
    """The embedded store listens on a socket of this user's alone."""
    assert _version({"redis_version": "7.0.15"}, private=True).severity is Severity.OK


@pytest.mark.parametrize(
    ("info", "severity"),
    [
        ({"redis_version": "7.0.15"}, "risk"),
        ({"redis_version": "8.4.0"}, "risk"),
        ({"redis_version": "7.2.4", "valkey_version": "8.0.10"}, "risk"),
        ({"redis_version": "7.2.4", "valkey_version": "8.0.11"}, "ok"),
        ({"redis_version": "7.2.4", "valkey_version": "9.1.1"}, "risk"),
        ({"redis_version": "7.2.4", "valkey_version": "9.1.2"}, "ok"),
        ({"redis_version": "7.2.4", "valkey_version": "9.2.0"}, "ok"),
    ],
)
def test_a_server_that_keeps_torn_writes_is_named_unless_remit_cuts_them_off(info, severity):
    """The embedded store's file is cut before it starts; with what command an external one is, the message says."""
    node = Node("", info, {"appendonly": "yes", "appendfsync": "always"})
    assert _durability(node, private=True).severity is Severity.OK
    finding = _durability(node, private=False)
    assert finding.severity == severity
    assert ("-check-aof --fix" in finding.sentence) == (severity == "risk")


def test_without_maxmemory_the_machines_memory_counts():
    """A store that fills the machine is ended by it."""
    machine = {"maxmemory": "0", "total_system_memory": "1000"}
    assert _memory(machine | {"used_memory": "801"}).severity is Severity.RISK
    assert _memory(machine | {"used_memory": "799"}).severity is Severity.OK
    assert _memory({}).severity is Severity.OK
    assert _role({}).severity is Severity.OK


async def test_a_clock_that_disagrees_is_a_risk(set_up, monkeypatch):
    """The store's clock decides, so a difference surprises people."""
    monkeypatch.setattr("app.serve.doctor.time.time", lambda: 0.0)
    finding = await _clock(set_up.client)
    assert finding.severity is Severity.RISK
    assert "s ahead of this machine's" in finding.sentence


async def test_a_store_that_is_far_away_is_a_risk(set_up):
    """The fastest reply counts: one that a busy machine delays says nothing."""
    times_s = iter([0, 0.9, 1, 1.2, 2, 2.2, 3, 3.2, 4, 4.9])
    finding = await _distance(set_up.client, lambda: next(times_s))
    assert (finding.severity, "took 200 ms" in finding.sentence) == (Severity.RISK, True)
    near_s = iter([0, 9, 10, 10.04, 20, 29, 30, 39, 40, 49])
    assert (await _distance(set_up.client, lambda: next(near_s))).severity is Severity.OK


@pytest.mark.slow
def test_the_doctor_ends_with_0_if_nothing_is_broken(own_store):
    """Risks are for people to weigh; one line each, `--json` for scripts."""
    ran = doctor(own_store.url)
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = [line.split(maxsplit=2) for line in ran.stdout.splitlines()]
    assert ["OK", "eviction", "nothing is evicted"] in lines
    read = json.loads(doctor(own_store.url, "--json").stdout)
    assert [each["subject"] for each in read] == [subject for _, subject, _ in lines]
    assert {"subject": "eviction", "severity": "ok", "sentence": "nothing is evicted"} in read


@pytest.mark.slow
async def test_the_doctor_ends_with_1_if_something_is_broken(own_store, set_up):
    """So a deployment can stop there."""
    await set_up(maxmemory_policy="allkeys-random")
    ran = doctor(own_store.url)
    assert ran.returncode == 1
    assert "BROKEN  eviction" in ran.stdout


def test_the_doctor_ends_with_1_and_a_sentence_if_there_is_no_store():
    """Nothing listens on port 1."""
    ran = doctor("redis://127.0.0.1:1/0")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("Error: The store cannot be reached")


def test_the_doctor_names_keys_that_can_decide_about_every_agent(own_store):
    """Somebody may have given one to a dashboard; neither those of admins, nor bound, nor expired ones are meant."""
    replica = Replica(own_store.url)
    try:
        with replica.client() as admin:
            agent_id = admin.post("/v1/agents", json={"name": "bot"}).json()["id"]
            for fields in (
                {"name": "dashboard", "scopes": ["read", "audit"]},
                {"name": "runtime", "scopes": ["authorize"]},
                {"name": "bound", "scopes": ["authorize"], "agents": [agent_id]},
                {"name": "expired", "scopes": ["read"], "expiresAt": "2020-01-01T00:00:00Z"},
                {"name": "looks", "scopes": ["view", "audit"]},
            ):
                assert admin.post("/v1/api-keys", json=fields).status_code == 201
    finally:
        replica.stop()
    [finding] = [each for each in json.loads(doctor(own_store.url, "--json").stdout) if each["subject"] == "keys"]
    assert finding["severity"] == "risk"
    assert re.findall(r'"(\w+)" \(svc_', finding["sentence"]) == ["dashboard", "runtime"]
