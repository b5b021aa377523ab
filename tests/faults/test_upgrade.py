"""Two releases side by side: their scripts differ, they share a store, and one takes the other's place under load."""

import hashlib
import shutil
import sys
from pathlib import Path

import pytest
import redis
from forked import Forked, address
from load import Caller
from servers import Replica, Store, wait_until_ready
from topologies import SEALING_FAST, until

from app.redis_client.scripts import PUT_POLICIES

ROOT = Path(__file__).parents[2]
MAX_CALLS = 60
MORE = "of_another_release"


class Release(Replica):
    """`remit serve` out of the tree in `folder`, which may be another one at its next start."""

    def __init__(self, folder: Path, store_url: str, **env: str) -> None:
        self.folder = folder
        super().__init__(store_url, **env)

    def start(self) -> None:
        command = [sys.executable, "-m", "app.cli", "serve"]
        self.process = Forked(command, env=self.env, cwd=self.folder, zygote=address(self.folder))
        wait_until_ready(self.base_url, self.process)

    def become(self, folder: Path) -> None:
        """Drain it, and start it again on its port from another tree."""
        self.stop()
        self.folder = folder
        self.start()


def make_release(folder: Path) -> Path:
    """Our tree as the next release might be: different scripts, one more argument, one more field in records."""
    for name in ("app", "lua"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder / "lua").glob("*.lua"):
        edit(path, "\n]]\n", f"\n]]\n-- {MORE}\n")
    edit(folder / "app/store/put_policies.py", "len(changed)]\n", f'len(changed), "{MORE}"]\n')
    put_policies, words = folder / "lua/put_policies.lua", len(PUT_POLICIES.args)
    edit(put_policies, f"\nARGV[{words}+i]", f"\nARGV[{words + 1}]      more            {MORE}\nARGV[{words + 1}+i]")
    edit(put_policies, f"#ARGV >= {words},", f"#ARGV >= {words + 1},")
    edit(put_policies, f"tonumber(ARGV[{words}]), {words + 1}\n", f"tonumber(ARGV[{words}]), {words + 2}\n")
    edit(
        put_policies,
        "\n    redis.call('LPUSH', KEYS",
        f"\n    redis.call('HSET', KEYS[8 + i], '{MORE}', ARGV[{words + 1}])\\g<0>",
    )
    edit(folder / "lua/commit_decision.lua", "\nreturn reply", f"\ncall('HSET', commits, '{MORE}', '1')\\g<0>")
    return folder


def edit(path: Path, found: str, put: str) -> None:
    text = path.read_text()
    assert text.count(found) == 1, f"{path} has not one {found!r}"
    path.write_text(text.replace(found, put.replace("\\g<0>", found)))


def commit_of(folder: Path) -> str:
    """The name under which the store knows a tree's commit."""
    return hashlib.sha1((folder / "lua/commit_decision.lua").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The tree of another release."""
    return make_release(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def store(shared, server, tmp_path_factory):
    """A store of this module's own, since it is made to forget its scripts."""
    return shared(Store(server("valkey"), tmp_path_factory.mktemp("store")))


@pytest.fixture(scope="module")
def redis_client(store):
    with redis.Redis(port=store.port) as client:
        yield client


@pytest.fixture
def releases(store, other, own):
    """One replica of either, each with its compactor."""
    return [own(Release(folder, store.url, **SEALING_FAST)) for folder in (ROOT, other)]


@pytest.fixture
def witness(store, redis_client, releases, checked_witness):
    return checked_witness(redis_client, store.url, releases[1])


def test_two_releases_share_a_store_while_one_takes_the_others_place(redis_client, other, releases, witness):
    """Quotas stay exact and the log complete, in both directions, even if the store forgets its scripts."""
    first, second = releases
    commits, ports = (commit_of(ROOT), commit_of(other)), [first.port, second.port]
    free, limited, stopped = witness.new_agent(), witness.new_agent(MAX_CALLS), witness.new_agent()
    agents = (free, limited, stopped)

    def known() -> list[bool]:
        return redis_client.script_exists(*commits)

    with (
        witness.load(*agents, ports=ports, count=6) as load,
        witness.load(*agents, ports=ports, count=4, idempotent=True) as patient,
    ):
        for _ in range(8):
            load.after(20)
            redis_client.script_flush()
        until(lambda: known() == [True, True], "both releases decide")
        with first.client(witness.tenant.admin_key) as admin:
            witness.forbid(stopped, lambda: admin.patch(f"/v1/agents/{stopped}", json={"status": "suspended"}))
        load.after(20)

        first.become(other)
        redis_client.script_flush()
        load.after(60)
        patient.after(20)
        assert known() == [False, True]

        second.become(ROOT)
        load.after(60)
        patient.after(20)
        until(lambda: known() == [True, True], "both releases decide again")
    assert (load.refused, load.wrong, load.cut, patient.wrong) == ([], [], [], [])
    assert witness.admitted(limited) == MAX_CALLS
    assert redis_client.hget(f"remit:{{{witness.tenant.id}}}:commits", MORE) == b"1"


def test_what_one_release_wrote_the_other_reads_changes_and_answers_again(redis_client, releases, witness):
    """Records with and without a new field, and the answer to an Idempotency-Key."""
    first, second = releases
    key, agent_id = witness.tenant.admin_key, witness.new_agent()
    with first.client(key) as older, second.client(key) as newer:
        for makes, changes in ((older, newer), (newer, older)):
            body = {"agent_id": agent_id, "name": "a", "rules": [{"type": "tool_denylist", "tools": ["a.*"]}]}
            made = makes.post("/v1/policies", json=body).json()
            changed = changes.patch(f"/v1/policies/{made['id']}", json={"priority": 7}).json()
            assert changed["version"] == 2
            assert makes.get(f"/v1/policies/{made['id']}").json() == changed
            record = redis_client.hgetall(f"remit:{{{witness.tenant.id}}}:policy:{made['id']}")
            assert record[MORE.encode()] == MORE.encode()

    question = witness.question(agent_id, key="the same question", port=first.port)
    answer = question.send().answer
    other_caller = Caller(second.port, witness.tenant.read_key)
    assert other_caller.send(question.call).answer == answer
    other_caller.close()


def test_a_policy_that_only_a_later_release_can_read_lets_nothing_through(redis_client, releases, witness):
    """The older release refuses its agent's calls; nothing is allowed because a policy was not understood."""
    agent_id = witness.new_agent()
    with releases[0].client(witness.tenant.admin_key) as client:
        made = witness.tenant.new_policy(agent_id)
        record = f"remit:{{{witness.tenant.id}}}:policy:{made['id']}"
        redis_client.hset(record, "rules", '[{"type":"of_another_release","tools":["*"]}]')
        refused = client.post("/v1/authorize", json={"agent_id": agent_id, "tool_name": "orders.read"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE")
