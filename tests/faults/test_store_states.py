"""A store that runs but fails under load: it refuses, hangs, loads or restarts."""

import resource
import shutil
import signal
import threading

import pytest
import redis
from servers import HASTY, Replica, Store
from topologies import SEALING_FAST

AWAY = 10
BACK = 30


class Ailing(Store):
    """A store that can be made to fail, but keeps everything it has answered."""

    def __init__(self, binary, folder):
        super().__init__(binary, folder, "--appendonly", "yes", "--appendfsync", "always")
        self.redis = redis.Redis(port=self.port)

    def command(self, *words):
        return self.redis.execute_command(*words)

    def config(self, **settings):
        for name, value in settings.items():
            self.command("CONFIG", "SET", name.replace("_", "-"), value)

    def stop(self):
        self.redis.close()
        super().stop()


def be_read_only(store):
    store.command("REPLICAOF", "127.0.0.1", "1")


def take_writes(store):
    store.command("REPLICAOF", "NO", "ONE")


def miss_replicas(store):
    store.config(min_replicas_to_write=1)


def need_no_replicas(store):
    store.config(min_replicas_to_write=0)


def be_full(store):
    store.config(maxmemory=1)


def have_room(store):
    store.config(maxmemory=0)


def fail_to_save(store):
    (store.folder / "dump.rdb").mkdir()
    store.config(save="3600 1")
    store.command("BGSAVE")
    while store.redis.info("persistence")["rdb_last_bgsave_status"] == "ok":
        pass


def save_again(store):
    store.config(save="")
    (store.folder / "dump.rdb").rmdir()


def pause_writes(store):
    store.command("CLIENT", "PAUSE", 600_000, "WRITE")


def unpause(store):
    store.command("CLIENT", "UNPAUSE")


def have_no_disk(store):
    """Its files grow no further: with `appendfsync always`, the store ends at the next write."""
    limit_files(store, 1)
    store.process.wait(60)


def have_no_disk_for_later(store):
    """The same with `everysec`: the store answers what it has in memory, and refuses every further write."""
    store.config(appendfsync="everysec")
    limit_files(store, 1)
    while store.redis.info("persistence")["aof_last_write_status"] == "ok":
        pass


def write_what_waits(store):
    limit_files(store, None)
    store.config(appendfsync="always")


def limit_files(store, size):
    """The store may write no file beyond `size` bytes; None = as it started."""
    pid = store.process.pid
    _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most if size is None else size, most))


def freeze(store):
    store.process.send_signal(signal.SIGSTOP)


def thaw(store):
    store.process.send_signal(signal.SIGCONT)


def be_busy(store):
    """Run a script of another program that never ends."""
    store.config(busy_reply_threshold=20)
    threading.Thread(target=run_for_ever, args=(store.port,), daemon=True).start()
    while True:
        try:
            store.command("GET", "x")
        except redis.exceptions.ResponseError as error:
            if "BUSY" in str(error):
                return


def run_for_ever(port):
    with redis.Redis(port=port) as other:
        try:
            other.eval("while true do end", 0)
        except redis.exceptions.ResponseError as error:
            assert "killed" in str(error).lower()  # noqa: PT017 - that is how it ends


def be_free(store):
    store.command("SCRIPT", "KILL")


def be_stopped(store):
    store.process.terminate()
    store.process.wait(60)


def be_killed(store):
    store.kill()


def start_again(store):
    store.start()


def load_for_long(store):
    """Restart the store with so much data that loading takes as long as the test wants."""
    store.command("EVAL", "for n = 1, 100000 do redis.call('SET', 'filler:' .. n, '') end", 0)
    store.kill()
    store.options += ("--key-load-delay", "200")  # us a command; it looks at its connections every 1024
    store.start()
    assert store.redis.info("persistence")["loading"]


def have_loaded(store):
    store.options = store.options[:-2]
    store.config(key_load_delay=0)


STATES = {
    "read-only": (be_read_only, take_writes),
    "too few replicas": (miss_replicas, need_no_replicas),
    "full": (be_full, have_room),
    "cannot save": (fail_to_save, save_again),
    "writes paused": (pause_writes, unpause),
    "disk full": (have_no_disk, start_again),
    "disk full, synced every second": (have_no_disk_for_later, write_what_waits),
    "frozen": (freeze, thaw),
    "busy": (be_busy, be_free),
    "stopped": (be_stopped, start_again),
    "killed": (be_killed, start_again),
    "loading": (load_for_long, have_loaded),
}


@pytest.fixture(scope="module")
def store(new_store):
    return new_store(Ailing)


@pytest.fixture(scope="module")
def replica(store, shared):
    return shared(Replica(store.url, **SEALING_FAST, **HASTY))


@pytest.fixture
def witness(store, replica, checked_witness):
    return checked_witness(store.redis, store.url, replica)


@pytest.mark.parametrize("state", STATES)
def test_a_store_that_cannot_work_is_503_until_it_can_and_then_decisions_go_on(store, replica, witness, state):
    """No answer lacks its entry or is lost, no connection is cut, and only the store is restarted."""
    agent_id, pid = witness.new_agent(max_calls=50), replica.process.pid
    fall_ill, recover = STATES[state]
    with witness.load(agent_id, idempotent=True) as patient:
        patient.after(BACK)
        fall_ill(store)
        with witness.load(agent_id) as refused:
            refused.after(AWAY, "refused")
        recover(store)
        patient.after(BACK)
    assert refused.answered == []
    assert (patient.wrong, refused.wrong, patient.cut, refused.cut) == ([], [], [], [])
    assert replica.process.pid == pid


def test_scripts_that_the_store_forgets_cost_nobody_an_answer(store, own, checked_witness):
    """SCRIPT FLUSH under load: a script that certainly did not run is sent again, and counts once."""
    witness = checked_witness(store.redis, store.url, own(Replica(store.url, **SEALING_FAST)))
    agent_id = witness.new_agent(max_calls=50)
    with witness.load(agent_id, count=8) as load:
        for _ in range(20):
            load.after(10)
            store.command("SCRIPT", "FLUSH")
        load.after(10)
    assert (load.refused, load.wrong, load.cut) == ([], [], [])


def test_an_emptied_store_lets_nothing_through_and_decisions_go_on_from_its_backup(store, replica, witness, tmp_path):
    """FLUSHALL, or an empty volume: no replica answers from its cache, and none needs a restart."""
    agent_id, pid = witness.new_agent(), replica.process.pid
    with witness.load(agent_id) as before:
        before.after(BACK)
    files = store.folder / "appendonlydir"
    shutil.copytree(files, tmp_path / "backup")
    store.command("FLUSHALL")
    with witness.load(agent_id) as refused:
        refused.after(AWAY, "refused")
    assert refused.answered == []
    assert {line.split()[0] for line in refused.wrong} == {"401"}

    store.kill()
    shutil.rmtree(files)
    shutil.copytree(tmp_path / "backup", files)
    store.start()
    with witness.load(agent_id, idempotent=True) as after:
        after.after(BACK)
    assert (before.wrong, after.wrong, after.cut) == ([], [], [])
    assert replica.process.pid == pid
