"""What an agent can do to the program that it runs in is no outage: a denied tool stays denied."""

import asyncio
import concurrent.futures
import contextlib
import resource
import socket
import threading
import time

import pytest
from cases import NO, PATIENT, YES
from service import FaultyServer, Resets, answer, header, problem

from remit_client import AsyncRemit, Denied, NotAnOutage, Remit, Unavailable
from remit_client.enforcement import async_enforcer, enforcer

KEY = "svc_" + "0" * 32
OVER_HTTPX = {"http2": False}
KINDS = pytest.mark.parametrize("options", [None, OVER_HTTPX], ids=["ours", "httpx"])


async def ask(remit):
    """Raises NotAnOutage or Denied, or fails because the tool ran."""

    @remit.guard("bot", "tool", on_unavailable="allow")
    async def tool():
        pytest.fail("it ran")

    await tool()


def ask_in_a_thread(remit):
    remit.guard("bot", "tool", on_unavailable="allow")(lambda: pytest.fail("it ran"))()


@KINDS
@pytest.mark.parametrize("connected", [False, True])
async def test_a_loop_that_is_blocked_is_no_outage(faulty, options, connected):
    """Another tool computes while Remit is asked: the timer fires before the answer has been read, or even sent for."""
    async with AsyncRemit(faulty(answer(200, NO)).url, KEY, http_options=options, timeout=0.3) as remit:
        if connected:
            await remit.authorize("bot", "first")
        for turns in range(6):  # so that it begins at any step of the call
            asking = asyncio.create_task(ask(remit))
            for _ in range(turns):
                await asyncio.sleep(0)
            time.sleep(0.31)  # noqa: ASYNC251 - it blocks the loop
            with pytest.raises((Denied, NotAnOutage)):
                await asking
            if not connected:
                await remit.aclose()


@KINDS
async def test_a_loop_that_is_blocked_until_shortly_before_the_deadline_is_no_outage(faulty, options):
    """Too little time is left for an answer, and the timer is punctual."""
    server = faulty(None)
    async with AsyncRemit(server.url, KEY, http_options=options, timeout=0.6) as remit:
        asking = asyncio.create_task(ask(remit))
        await asyncio.sleep(0)
        time.sleep(0.55)  # noqa: ASYNC251 - it blocks the loop
        with pytest.raises(NotAnOutage, match="not too busy"):
            await asking


@contextlib.contextmanager
def silent_port():
    """A port whose queue of connections is full, because somebody holds them: what knocks is not even refused."""
    with contextlib.ExitStack() as held:
        listening = held.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        address = listening.getsockname()
        for _ in range(4):
            one = held.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(address)
        yield address


@KINDS
async def test_a_port_whose_connections_somebody_holds_is_no_outage(options):
    """New ones are dropped, and after them those that the client would have opened."""
    with silent_port() as (host, port):
        remit = Remit(f"http://{host}:{port}", KEY, http_options=options, timeout=0.6)
        with pytest.raises(NotAnOutage):
            await asyncio.to_thread(ask_in_a_thread, remit)
        async with AsyncRemit.of(remit) as another:
            with pytest.raises(NotAnOutage):
                await ask(another)


async def test_a_host_that_refuses_only_at_one_of_its_addresses_is_no_outage(monkeypatch):
    """A name with two addresses: one refuses, as always, and the connections of the other are held."""
    with silent_port() as silent, socket.create_server(("127.0.0.1", 0)) as taken:
        both = [silent, taken.getsockname()]
        taken.close()
        for order in (both, both[::-1]):
            found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in order]
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, found=found, **__: found)
            remit = Remit("http://remit.example", KEY, timeout=0.6)
            with pytest.raises(NotAnOutage):
                await asyncio.to_thread(ask_in_a_thread, remit)
            async with AsyncRemit.of(remit) as another:
                with pytest.raises(NotAnOutage):
                    await ask(another)


@pytest.mark.parametrize("code", [socket.EAI_AGAIN, socket.EAI_FAIL])
async def test_a_name_server_that_does_not_answer_is_no_outage(monkeypatch, code):
    def fails(*_, **__):
        raise socket.gaierror(code, "it failed")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    remit = Remit("http://remit.example", KEY, **PATIENT)
    with pytest.raises(NotAnOutage):
        ask_in_a_thread(remit)
    with pytest.raises(NotAnOutage):
        await ask(AsyncRemit.of(remit))


async def test_a_missing_unix_socket_is_no_outage(tmp_path):
    """Whoever may write to its folder can remove it."""
    remit = Remit(f"unix://{tmp_path}/no.sock", KEY, **PATIENT)
    with pytest.raises(NotAnOutage):
        ask_in_a_thread(remit)
    with pytest.raises(NotAnOutage):
        await ask(AsyncRemit.of(remit))


@KINDS
async def test_what_the_program_was_handling_when_it_asked_is_no_outage(faulty, options):
    """A tool that could not connect is followed by another one: the failure of the first says nothing about Remit."""
    remit = Remit(faulty(b"").url, KEY, http_options=options, **PATIENT)
    async with AsyncRemit.of(remit) as another:
        try:
            socket.create_connection(("127.0.0.1", 1))
        except ConnectionRefusedError:
            with pytest.raises(NotAnOutage):
                ask_in_a_thread(remit)
            with pytest.raises(NotAnOutage):
                await ask(another)


def keys_of(server: FaultyServer) -> list[bytes]:
    return [header(asked, b"Idempotency-Key") for asked in server.asked]


class TestAskingOnceMore:
    """Before a tool runs undecided, Remit is asked again: a restart stays unseen, and what it says counts."""

    @KINDS
    @pytest.mark.parametrize("first", [answer(502, raw=b""), b"", Resets()], ids=["502", "closes", "resets"])
    async def test_it_is_the_same_call(self, faulty, options, first):
        """With a key of its own, or the name that it has."""
        for place in (None, ["here"]):
            server = faulty(first, answer(200, NO), first, answer(200, NO))
            remit = Remit(server.url, KEY, http_options=options, **PATIENT)
            with pytest.raises(Denied):
                enforcer(remit, "bot", on_unavailable="allow").check("tool", {}, place=place)
            with pytest.raises(Denied):
                await async_enforcer(remit, "bot", on_unavailable="allow").check("tool", {}, place=place)
            one, again, another, another_again = keys_of(server)
            assert one == again != b""
            assert another == another_again
            assert (one == another) is (place is not None)

    async def test_it_is_on_a_new_connection(self, faulty):
        """Those that are open may all lead to what is away."""
        server = faulty(answer(200, YES), answer(502, raw=b""), answer(200, NO))
        with Remit(server.url, KEY, **PATIENT) as remit:
            assert remit.authorize("bot", "first").allowed
            with pytest.raises(Denied):
                ask_in_a_thread(remit)
        assert server.connections == 2
        server = faulty(answer(200, YES), answer(502, raw=b""), answer(200, NO))
        async with AsyncRemit(server.url, KEY, **PATIENT) as remit:
            assert (await remit.authorize("bot", "first")).allowed
            with pytest.raises(Denied):
                await ask(remit)
        assert server.connections == 2

    def test_where_the_store_has_no_room_for_names_it_has_none(self, faulty):
        server = faulty(problem(409, "LIMIT_REACHED"), answer(200, NO))
        with Remit(server.url, KEY, **PATIENT) as remit, pytest.raises(Denied):
            ask_in_a_thread(remit)
        assert keys_of(server)[1] == b""

    def test_where_nothing_runs_undecided_it_is_not_asked_again(self, faulty):
        server = faulty(answer(502, raw=b""), answer(200, NO))
        with Remit(server.url, KEY, **PATIENT) as remit, pytest.raises(Unavailable):
            remit.guard("bot", "tool")(pytest.fail)()
        assert keys_of(server) == [b""]


@contextlib.contextmanager
def no_descriptor_left():
    """Whatever other threads close meanwhile: only descriptor 0 is within the limit, and it is in use."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@KINDS
@pytest.mark.parametrize("host", ["127.0.0.1", "remit.invalid"])
async def test_a_program_with_too_many_files_open_has_no_outage(faulty, options, host):
    """Neither a connection can be opened then, nor the file that says where to look up names."""
    url = faulty(answer(200, NO)).url.replace("127.0.0.1", host)
    async with AsyncRemit(url, KEY, http_options=options, **PATIENT) as remit:
        asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
        await asyncio.to_thread(int)
        with no_descriptor_left(), pytest.raises(NotAnOutage, match="files or connections"):
            await ask(remit)
    remit = Remit(url, KEY, http_options=options, **PATIENT)
    with no_descriptor_left(), pytest.raises(NotAnOutage, match="files or connections"):
        ask_in_a_thread(remit)


async def test_a_loop_whose_threads_are_all_in_use_has_no_outage(faulty):
    """Slow tools take the threads of the loop, in which names would be looked up otherwise."""
    url = faulty(answer(200, NO)).url.replace("127.0.0.1", "localhost")
    busy, done = concurrent.futures.ThreadPoolExecutor(1), threading.Event()
    asyncio.get_running_loop().set_default_executor(busy)
    busy.submit(done.wait)
    try:
        async with AsyncRemit(url, KEY, timeout=5, connect_timeout=2) as remit:
            with pytest.raises(Denied):
                await ask(remit)
    finally:
        done.set()


def test_an_answer_that_came_too_late_is_no_outage(faulty):
    """It says no, even if nobody waits for it any more."""
    server = faulty(answer(200, NO))
    with Remit(server.url, KEY, http_options=OVER_HTTPX, timeout=0.5) as remit:
        exchange = remit._connections._answer

        def late(call, headers, content, watch):
            answered = exchange(call, headers, content, watch)
            time.sleep(max(0, watch.left()) + 0.01)
            return answered

        remit._connections._answer = late
        with pytest.raises(NotAnOutage, match="did not answer within"):
            ask_in_a_thread(remit)
