"""What an agent can do to the program that it runs in is no outage: a denied tool stays denied."""

import asyncio
import concurrent.futures
import contextlib
import os
import resource
import threading
import time

import pytest
from cases import NO, PATIENT
from service import answer

from remit_client import AsyncRemit, Denied, NotAnOutage, Remit

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
        with pytest.raises(NotAnOutage, match="busy"):
            await asking


@contextlib.contextmanager
def no_descriptor_left():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened[0] + 1, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                opened.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for one in opened:
            os.close(one)
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
