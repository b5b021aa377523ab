"""PipelinedClient over real servers: load, restarts, and refusals that only a real one gives."""

import asyncio
import contextlib
import random
import signal
import socket
import time

import pytest
import uvloop
from commit_scene import MINUTE, Scene, quota
from servers import Store, free_port

from app.errors import StoreUnavailable
from app.model.decisions import Decision, Result
from app.redis_client.clients import open_client
from app.redis_client.pipelined import PipelinedClient
from app.redis_client.scripts import COMMIT_DECISION

CALLS = 100_000
AT_ONCE = 400


@pytest.fixture(params=["redis", "valkey"])
def store_of(request):
    """Each of the real stores, shared with other tests."""
    return request.getfixturevalue(f"{request.param}_store")


@pytest.fixture
def own_store(store_of, tmp_path):
    """A store that a test may kill, with an AOF, so that it is the same one after a restart."""
    store = Store(store_of.binary, tmp_path / "own", "--appendonly", "yes", "--appendfsync", "always")
    yield store
    with contextlib.suppress(ProcessLookupError):
        store.process.send_signal(signal.SIGCONT)
    store.kill()


@contextlib.asynccontextmanager
async def opened(url, timeout_ms=2_000, scripts=(COMMIT_DECISION,)):
    """A pipelined client and a client of the store."""
    async with contextlib.AsyncExitStack() as stack:
        client = open_client(url, timeout_ms)
        stack.push_async_callback(client.close)
        link = PipelinedClient(url, timeout_ms, scripts)
        await link.open()
        stack.push_async_callback(link.close)
        yield link, client


async def decision(commit):
    """The decision that `commit()` returns, retried until the store is back."""
    while True:
        try:
            return await commit()
        except StoreUnavailable:
            await asyncio.sleep(0.01)


async def test_none_of_a_hundred_thousand_calls_gets_a_wrong_reply(store_of):
    """Every reply is its own call's, whichever others were cancelled before, between and after."""
    chance = random.Random(20261120)
    numbers = iter(range(CALLS))
    answered = cancelled = 0

    async with opened(store_of.url, timeout_ms=10_000) as (link, _):

        async def ask(number):
            # Mostly short, some of 20 kB, so that replies are cut anywhere.
            text = f"{number}:" + "x" * chance.choice(
                (0, 0, 0, 0, 0, 0, 0, 50, 500, 20_000) if number % 100 == 0 else (0, 9)
            )
            assert await link.call("ECHO", text) == text

        async def worker():
            nonlocal answered, cancelled
            for number in numbers:
                if chance.random() < 0.1:
                    task = asyncio.create_task(ask(number))
                    for _ in range(chance.randrange(3)):
                        await asyncio.sleep(0)
                    task.cancel()
                    try:
                        await task
                        answered += 1
                    except asyncio.CancelledError:
                        cancelled += 1
                else:
                    await ask(number)
                    answered += 1

        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))

    assert answered + cancelled == CALLS
    assert cancelled > CALLS // 20


async def test_scripts_that_the_store_forgets_under_load_are_sent_again_and_run_once(store_of, workspace_id):
    """After SCRIPT FLUSH between decisions, each is in the log once, and the quota is exact."""
    async with opened(store_of.url) as (link, client):
        scene = await Scene(client, link, workspace_id).enter()
        held = quota("held", 150, MINUTE)

        async def forget():
            for _ in range(10):
                await client.call("SCRIPT", "FLUSH")

        answers, _ = await asyncio.gather(asyncio.gather(*(scene.commit(held) for _ in range(300))), forget())

        assert sum(answer.outcome.result is Result.ALLOWED for answer in answers) == 150
        assert sorted(entry["id"] for entry in await scene.entries()) == sorted(answer.id for answer in answers)


async def test_after_a_restart_the_link_comes_back_and_knows_its_scripts(own_store, workspace_id):
    """After a kill and a restart, decisions continue where the log ends."""
    async with opened(own_store.url) as (link, client):
        scene = await Scene(client, link, workspace_id).enter()
        before = await scene.commit()

        own_store.kill()
        with pytest.raises(StoreUnavailable):
            await scene.commit()
        own_store.start()

        after = await decision(scene.commit)
        assert isinstance(after, Decision)
        ids = [entry["id"] for entry in await scene.entries()]
        assert ids[0] == before.id
        assert ids[-1] == after.id


async def test_a_store_that_hangs_is_unavailable_and_comes_back(own_store, workspace_id):
    """While stopped, calls are 503 within the deadline; what it runs on waking is in the log, but not answered."""
    async with opened(own_store.url, timeout_ms=100) as (link, client):
        scene = await Scene(client, link, workspace_id).enter()
        await scene.commit()

        own_store.process.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreUnavailable):
            await scene.commit()
        own_store.process.send_signal(signal.SIGCONT)

        after = await decision(scene.commit)
        entries = await scene.entries()
        assert [entry["stream_id"] for entry in entries] == [f"{n}-0" for n in range(1, len(entries) + 1)]
        assert after.id in {entry["id"] for entry in entries}


async def test_a_store_without_memory_refuses_and_nothing_is_written(own_store, workspace_id):
    """It refuses (OOM) before the script begins, not halfway; once there is room, decisions continue."""
    async with opened(own_store.url) as (link, client):
        scene = await Scene(client, link, workspace_id).enter()
        await scene.commit(quota("held", 10, MINUTE))
        before = await scene.everything()

        await client.call("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(StoreUnavailable, match="OOM"):
            await scene.commit(quota("held", 10, MINUTE))
        assert await scene.everything() == before

        await client.call("CONFIG", "SET", "maxmemory", "0")
        assert isinstance(await scene.commit(), Decision)


async def test_a_store_that_became_a_replica_refuses_and_nothing_is_written(own_store, workspace_id):
    """On READONLY, the client reconnects, and continues once the store is a master again."""
    async with opened(own_store.url) as (link, client):
        scene = await Scene(client, link, workspace_id).enter()
        before = await scene.everything()

        await client.call("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(StoreUnavailable, match="READONLY"):
            await scene.commit()
        assert await scene.everything() == before

        await client.call("REPLICAOF", "NO", "ONE")
        assert isinstance(await decision(scene.commit), Decision)


async def test_a_user_of_the_acl_and_a_database_of_its_own_are_in_the_url(own_store, workspace_id):
    """Both clients log in and select the database; a wrong password is StoreUnavailable."""
    async with opened(own_store.url) as (_, client):
        await client.call("ACL", "SETUSER", "remit", "on", ">s@cret", "~*", "+@all")
        await client.call("CONFIG", "SET", "requirepass", "other")
    url = own_store.url.replace("//", "//remit:s%40cret@").replace("/0", "/3")

    async with opened(url) as (link, client):
        scene = await Scene(client, link, workspace_id).enter()
        await scene.commit()
        assert len(await scene.entries()) == 1

    for login in ("remit:wrong@", ":wrong@", ""):
        with pytest.raises(StoreUnavailable):
            await PipelinedClient(own_store.url.replace("//", f"//{login}"), 500, [COMMIT_DECISION]).open()


async def test_a_unix_socket_works_as_a_port_does(store_of, tmp_path, workspace_id):
    """As the embedded store uses it."""
    store = Store(store_of.binary, tmp_path / "own", "--unixsocket", str(tmp_path / "s"))
    try:
        async with opened(f"unix://{tmp_path}/s") as (link, client):
            scene = await Scene(client, link, workspace_id).enter()
            assert isinstance(await scene.commit(), Decision)
    finally:
        store.stop()


async def test_tls_works_on_both_ways_to_the_store(program, certificate, tmp_path, workspace_id):
    """With the authority that the URL names; without one the server is not trusted."""
    port = free_port()
    files = ("--tls-cert-file", certificate.chain, "--tls-key-file", certificate.key, "--tls-ca-cert-file")
    options = ("--tls-port", port, *files, certificate.chain, "--tls-auth-clients", "no")
    store = Store(program("redis-server", "TLS to a store"), tmp_path / "own", *map(str, options))
    try:
        url = f"rediss://127.0.0.1:{port}/0"
        async with opened(f"{url}?ssl_ca_certs={certificate.chain}") as (link, client):
            scene = await Scene(client, link, workspace_id).enter()
            assert isinstance(await scene.commit(), Decision)
        with pytest.raises(StoreUnavailable):
            await PipelinedClient(url, 1_000).open()
        stranger = open_client(url, 1_000)
        with pytest.raises(StoreUnavailable):
            await stranger.call("PING")
        await stranger.close()
    finally:
        store.stop()


class Busy(asyncio.Protocol):
    """A connection on which incoming data takes long, like a garbage collection or a large body."""

    def data_received(self, _):
        time.sleep(0.15)


def test_a_blocked_loop_does_not_take_the_store_for_silent(redis_store):
    """On uvloop, timers may run before sockets are read: a reply that came in time still counts."""

    async def held_up():
        near, far = socket.socketpair()
        async with opened(redis_store.url, timeout_ms=50) as (link, _), contextlib.AsyncExitStack() as stack:
            stack.callback(far.close)
            transport, _ = await asyncio.get_running_loop().create_connection(Busy, sock=near)
            stack.callback(transport.close)
            for _ in range(5):
                call = link.call("PING")
                await asyncio.sleep(0)  # the command leaves
                far.send(b"x")
                assert await call == "PONG"

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(held_up())
