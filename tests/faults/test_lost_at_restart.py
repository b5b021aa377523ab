"""A store that has dropped what scripts wrote gets it back, with decisions in both lives: docs/lost-at-restart.md."""

import contextlib
import json
import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest
from calls import TOOL
from forked import put_remit_in
from servers import ADMIN_KEY, Replica, clean_env
from shipped_store import ACL, ShippedStore, newest_redis
from topologies import SEALING_FAST, until

ROOT = Path(__file__).parents[2]
AFFECTED = ACL.replace("user default off ~remit:* +@write\n", "user default off\n").replace(" +acl|dryrun", "")
PAGE = (ROOT / "docs/lost-at-restart.md").read_text()
BLOCKS = [textwrap.dedent(found) for found in re.findall(r"^ +```sh\n(.*?)^ +```$", PAGE, re.MULTILINE | re.DOTALL)]
MEND, CHECK = range(2)
SECRET = {"REMIT_SECRET": "s" * 32}


@pytest.fixture(params=["redis", "redis 8"])
def store(request, server, program, own, tmp_path):
    """A store with the earlier ACL file."""
    binary = newest_redis(program) if request.param == "redis 8" else server(request.param)
    assert AFFECTED != ACL
    return own(ShippedStore(binary, tmp_path / "store", acl=AFFECTED))


@contextlib.contextmanager
def serving(store, **env: str):
    """A client of a service on the store, as its first admin; the service ends with the context."""
    replica = Replica(store.url, **SEALING_FAST, **SECRET, **env)
    try:
        with replica.client(ADMIN_KEY) as client:
            yield client
    finally:
        replica.stop()


def live(store, name: str, decisions: int) -> dict:
    """A life of the service: an agent with a policy, a key, and decisions, most of them sealed."""
    with serving(store) as client:
        agent = client.post("/v1/agents", json={"name": name}).json()["id"]
        rules = [{"type": "tool_allowlist", "tools": [TOOL]}]
        assert client.post("/v1/policies", json={"agent_id": agent, "name": name, "rules": rules}).status_code == 201
        key = client.post("/v1/api-keys", json={"name": name, "scopes": ["read", "authorize"]}).json()["key"]
        first = {decide(client, agent)["id"] for _ in range(decisions)}
        until(lambda: not client.get("/v1/audit-logs/status").json()["unsealed"], "all is sealed")
        last = {decide(client, agent)["id"] for _ in range(2)}
    return {"agent": agent, "key": key, "decisions": first | last}


def decide(client, agent: str) -> dict:
    answer = client.post("/v1/authorize", json={"agent_id": agent, "tool_name": TOOL})
    assert answer.status_code == 200, answer.text
    return answer.json()


def restart(store) -> None:
    store.stop()
    store.start()


def logged(client) -> set[str]:
    return {entry["id"] for entry in client.get("/v1/audit-logs", params={"limit": 1000}).json()}


def run_block(store, number: int) -> str:
    """What a block of the page prints, in the directory of the store and with `remit` on the path."""
    path = f"{put_remit_in(store.folder.parent / 'bin')}:{os.environ['PATH']}"
    env = clean_env() | {"REMIT_REDIS_URL": store.url, "PATH": path} | SECRET
    return subprocess.check_output(["bash", "-euc", BLOCKS[number]], cwd=store.folder, env=env, text=True)


@pytest.mark.parametrize(("before", "after"), [(60, 30), (30, 60)], ids=["the first is longer", "the second is longer"])
def test_what_both_lives_wrote_is_back_and_calls_go_on(store, before, after):
    """Agents, policies and keys of both; the log of one, whole and verified; the other's entries in a file."""
    first = live(store, "of the first life", before)
    restart(store)
    with serving(store) as client:
        assert client.get("/v1/agents").json() == []
    second = live(store, "of the second life", after)
    store.stop()
    store.load(ACL)

    said = run_block(store, MEND)

    kept, gone = (first, second) if before > after else (second, first)
    counts = f"{len(kept['decisions'])} entries are kept, {len(gone['decisions'])} are in left-out.jsonl"
    assert re.fullmatch(rf"workspace [0-9a-f-]{{36}}: its numbers began 2 times; {counts}\n", said)
    lines = [json.loads(line) for line in (store.folder / "left-out.jsonl").read_text().splitlines()]
    assert [line["sequence"] for line in lines] == list(range(1, len(lines) + 1))
    assert {line["id"] for line in lines} == gone["decisions"]
    store.start()
    assert run_block(store, CHECK)
    with serving(store) as client:
        assert {agent["id"] for agent in client.get("/v1/agents").json()} == {first["agent"], second["agent"]}
        assert logged(client) == kept["decisions"]
        again = set()
        for life in (first, second):
            again |= {decide(client, life["agent"])["id"] for _ in range(20)}
            client.headers["Authorization"] = f"Bearer {life['key']}"
        until(lambda: not client.get("/v1/audit-logs/status").json()["unsealed"], "all is sealed")
    assert run_block(store, CHECK)
    restart(store)
    with serving(store) as client:
        assert logged(client) == kept["decisions"] | again


def test_without_the_mending_calls_are_refused_and_the_log_is_damaged(store):
    """Why the page has that step: the number of the last commit is set back below what the stream has."""
    live(store, "of the first life", 60)
    restart(store)
    second = live(store, "of the second life", 3)
    store.stop()
    store.load(ACL)
    store.start()
    with serving(store, REMIT_COMPACT="false") as client:
        call = {"agent_id": second["agent"], "tool_name": TOOL}
        assert client.post("/v1/authorize", json=call).status_code == 503
    with serving(store) as client:
        until(lambda: client.post("/v1/authorize", json=call).status_code == 200, "a compactor has freed the stream")
        assert client.get("/v1/audit-logs/verify").json()["finding"]


def test_if_nothing_was_decided_since_there_is_nothing_to_mend(store):
    """The ACL alone gives back every key."""
    live(store, "of the only life", 20)
    before = store.stored()
    restart(store)
    assert len(store.stored()) < len(before) / 2
    store.stop()
    store.load(ACL)
    assert run_block(store, MEND) == "nothing to mend: no log has begun anew\n"
    store.start()
    assert {name: kept for name, kept in store.stored().items() if b"lease" not in name} == {
        name: kept for name, kept in before.items() if b"lease" not in name
    }
