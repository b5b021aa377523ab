"""The tool runs only if Remit says so: every other case, for both clients, as decorator and as context manager."""

import asyncio
import gc
import logging
import os
import time
import weakref

import httpx
import pytest
from cases import CASES, IN_BATCHES, NO, PATIENT, YES
from service import answer, certificate, problem, tls_of

from remit_client import (
    AsyncRemit,
    Denied,
    Interrupted,
    MalformedAnswer,
    NotAnOutage,
    Remit,
    RemitError,
    Unavailable,
    calls,
)

KEY = "svc_" + "0" * 32


# httpx alone bounds each read and not all of them: a thread of a client with its options waits for such a header.
OVER_HTTPX = [case for case in CASES if case.name != "drips a header without end"]


@pytest.mark.parametrize(
    ("case", "options"),
    [*((case, None) for case in CASES), *((case, {"http2": False}) for case in OVER_HTTPX)],
    ids=lambda one: one.name if hasattr(one, "name") else "httpx" if one else "sockets",
)
def test_a_tool_does_not_run_without_a_yes(case, options, at):
    """Over both kinds of connections."""
    ran = []
    with Remit(at(case), KEY, http_options=options, **case.limits) as remit:
        guarded = remit.guard("bot", "tool")(lambda: ran.append(1))
        with pytest.raises(case.raised, match=case.says) as raised:
            guarded()
        with pytest.raises(case.raised), remit.guard("bot", "tool", {"a": 1}):
            ran.append(2)
    assert not ran
    assert KEY not in f"{raised.value!s}{raised.value!r}{raised.value.for_agent()}{remit!r}"


@pytest.mark.parametrize("options", [None, {"http2": False}], ids=["asyncio", "httpx"])
@pytest.mark.parametrize("case", CASES, ids=str)
async def test_an_async_tool_does_not_run_without_a_yes(case, options, at):
    """Over both kinds of connections."""
    ran = []

    async def tool():
        ran.append(1)

    async with AsyncRemit(at(case), KEY, http_options=options, **case.limits) as remit:
        with pytest.raises(case.raised, match=case.says) as raised:
            await remit.guard("bot", "tool")(tool)()
        with pytest.raises(case.raised):
            async with remit.guard("bot", "tool", {"a": 1}):
                ran.append(2)
    assert not ran
    assert KEY not in f"{raised.value!s}{raised.value!r}{raised.value.for_agent()}{remit!r}"


@pytest.mark.parametrize("case", IN_BATCHES, ids=str)
async def test_a_batch_without_decisions_fails_as_a_single_call_does(case, at):
    """With both clients; never is there half an answer."""
    asked = [calls.authorize("bot", "tool")]
    with Remit(at(case), KEY, **case.limits) as remit, pytest.raises(case.raised, match=case.says) as raised:
        await asyncio.to_thread(remit.authorize_many, asked)
    assert type(raised.value) is case.raised
    async with AsyncRemit(at(case), KEY, **case.limits) as remit:
        with pytest.raises(case.raised, match=case.says):
            await remit.authorize_many(asked)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_only_a_missing_decision_is_let_through_on_request(case, at, caplog):
    """`on_unavailable="allow"` is for outages, not for what the agent can cause, nor for malformed answers."""
    ran = []
    with Remit(at(case), KEY, **case.limits) as remit, caplog.at_level(logging.WARNING, "remit_client"):
        guarded = remit.guard("bot", "tool", on_unavailable="allow")(lambda: ran.append(1))
        if case.raised is Unavailable:
            guarded()
        else:
            with pytest.raises(case.raised):
                guarded()
    assert bool(ran) == (case.raised is Unavailable)
    assert bool(caplog.records) == bool(ran), "who lets calls through is told about each"


@pytest.mark.parametrize("case", [case for case in CASES if case.raised is Unavailable], ids=str)
def test_a_large_call_is_never_let_through(case, at):
    """It may itself be why there is no answer. In bytes, wherever they are: in names, values or characters."""
    ran = []
    with Remit(at(case), KEY, **case.limits) as remit:
        guarded = remit.guard("bot", "tool", on_unavailable="allow")(lambda **more: ran.append(more))
        for large in ({"x": "\u20ac" * 22_000}, {"a" * 66_000: 1}):
            with pytest.raises(NotAnOutage, match="may itself be the cause"):
                guarded(**large)
        assert not ran


def test_calls_that_wait_for_a_connection_of_the_client_are_no_outage(faulty):
    """An agent that makes many calls at once would otherwise make one."""
    ran, server = [], faulty(None)
    options = {"limits": httpx.Limits(max_connections=1)}

    async def run():
        async with AsyncRemit(server.url, KEY, **PATIENT | {"connect_timeout": 0.2}, http_options=options) as remit:
            holding = asyncio.create_task(remit.authorize("bot", "tool"))
            await asyncio.to_thread(server.was_asked.wait, 10)

            @remit.guard("bot", "tool", on_unavailable="allow")
            async def tool():
                ran.append(1)

            with pytest.raises(NotAnOutage, match="connections"):
                await tool()
            holding.cancel()

    asyncio.run(run())
    assert not ran


def test_a_trusted_certificate_is_accepted(faulty, monkeypatch):
    """The counterpart of the cases with a wrong one."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate("127.0.0.1")))
    url = faulty(answer(200, YES), tls=tls_of("127.0.0.1")).url
    for options in (None, {"http2": False}):
        with Remit(url, KEY, http_options=options, **PATIENT) as remit:
            assert remit.authorize("bot", "tool").allowed
            assert asyncio.run(AsyncRemit.of(remit).authorize("bot", "tool")).allowed


@pytest.mark.parametrize("options", [None, {"http2": False}], ids=["ours", "httpx"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status, options, faulty):
    """Neither the request nor the key is sent to the host that the redirect names."""
    elsewhere = faulty(answer(200, YES))
    url = faulty(answer(status, None, f"Location: {elsewhere.url}/v1/authorize")).url
    with Remit(url, KEY, http_options=options, **PATIENT) as remit:
        for ask in (remit.authorize, lambda *call: asyncio.run(AsyncRemit.of(remit).authorize(*call))):
            with pytest.raises(MalformedAnswer, match="not followed"):
                ask("bot", "tool")
    assert not elsewhere.asked


def test_allowing_without_an_answer_must_be_written_out(faulty):
    with Remit(faulty(None).url, KEY) as remit, pytest.raises(ValueError, match="on_unavailable"):
        remit.guard("bot", "tool", on_unavailable="Allow")


async def test_a_cancelled_task_does_not_run_its_tool(faulty):
    ran = []

    async def tool():
        ran.append(1)

    server = faulty(None)
    async with AsyncRemit(server.url, KEY, timeout=30) as remit:
        task = asyncio.create_task(remit.guard("bot", "tool")(tool)())
        await asyncio.to_thread(server.was_asked.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not ran


async def test_the_answer_to_a_cancelled_request_is_not_taken_for_the_next_one(faulty):
    """The connection of a cancelled call is closed, or the next call would read its answer."""
    server = faulty(None, answer(200, NO))
    async with AsyncRemit(server.url, KEY, timeout=5) as remit:
        task = asyncio.create_task(remit.authorize("bot", "first"))
        await asyncio.to_thread(server.was_asked.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(Denied):
            async with remit.guard("bot", "second"):
                raise AssertionError
    assert b"second" in server.asked[-1]


TWO = answer(200, YES, "X-Request-ID: {id}") * 2


def test_a_second_answer_is_not_taken_for_the_next_requests(faulty):
    """It waits in the connection, where the next request would read it as its own answer."""
    with Remit(faulty(TWO, answer(200, NO)).url, KEY, **PATIENT) as remit:
        assert remit.authorize("bot", "first").allowed
        with pytest.raises((Denied, MalformedAnswer)):
            remit.guard("bot", "second")(pytest.fail)()


@pytest.mark.parametrize("options", [None, {"trust_env": False}], ids=["asyncio", "httpx"])
async def test_an_async_client_takes_no_second_answer_either(options, faulty):
    async with AsyncRemit(faulty(TWO, answer(200, NO)).url, KEY, http_options=options, **PATIENT) as remit:
        assert (await remit.authorize("bot", "first")).allowed
        with pytest.raises((Denied, MalformedAnswer)):
            async with remit.guard("bot", "second"):
                pytest.fail("it ran")


@pytest.mark.parametrize("options", [None, {"trust_env": False}], ids=["asyncio", "httpx"])
@pytest.mark.parametrize("unavailable", ["deny", "allow"])
def test_a_closed_loop_runs_no_tool(faulty, unavailable, options):
    """Not even if the tool may run during an outage."""
    ran = []

    async def tool():
        ran.append(1)

    server = faulty(None)
    remit = AsyncRemit(server.url, KEY, timeout=30, http_options=options)
    guarded = remit.guard("bot", "tool", on_unavailable=unavailable)(tool)

    async def begin():
        task = asyncio.get_running_loop().create_task(guarded())
        await asyncio.to_thread(server.was_asked.wait, 10)
        return task

    loop = asyncio.new_event_loop()
    task = loop.run_until_complete(begin())
    loop.close()
    assert not task.done() or task.exception()
    task._log_destroy_pending = False
    del task
    with pytest.warns(RuntimeWarning, match="never awaited"):
        guarded()
    never = guarded()
    with pytest.raises(RuntimeError, match="loop is closed"):
        loop.run_until_complete(never)
    never.close()
    assert not ran


def test_an_interruption_is_not_an_outage():
    """`on_unavailable` lets nothing through if this program itself interrupted the request."""

    def interrupt(_):
        raise RuntimeError("the client has been closed")

    ran, options = [], {"transport": httpx.MockTransport(interrupt)}
    with Remit("http://127.0.0.1:1", KEY, retries=3, http_options=options) as remit:
        guarded = remit.guard("bot", "tool", on_unavailable="allow")(lambda: ran.append(1))
        with pytest.raises(Interrupted, match="close the client after the last call"):
            guarded()
    assert not ran


@pytest.mark.parametrize("options", [None, {"http2": False}], ids=["sockets", "httpx"])
def test_an_async_client_serves_one_loop_after_another(options, faulty):
    """As in scripts that call asyncio.run for every request. It keeps nothing of loops that are closed."""
    server, loops = faulty(answer(200, YES)), weakref.WeakSet()
    remit = AsyncRemit(server.url, KEY, http_options=options)

    async def ask():
        loops.add(asyncio.get_running_loop())
        return await remit.authorize("bot", "tool")

    for _ in range(3):
        assert asyncio.run(ask()).allowed
    gc.collect()
    assert len(loops) <= 1


@pytest.mark.parametrize("options", [None, {"http2": False}], ids=["sockets", "httpx"])
def test_a_forked_process_has_connections_of_its_own(options, faulty):
    """If they shared one, a child could read an answer meant for its parent."""
    server = faulty(answer(200, YES))
    remit = Remit(server.url, KEY, http_options=options, **PATIENT)
    remit.authorize("bot", "before the fork")
    child = os.fork()
    if not child:
        os._exit(0 if remit.authorize("bot", "the child").allowed else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert remit.authorize("bot", "after the fork").allowed
    assert server.connections == 2


def test_a_late_answer_does_not_count(faulty):
    """A server that sends a byte at a time stays within the timeout of every read, but is still too late."""
    server = faulty(answer(200, YES))
    server.drips = 0.1
    ran = []
    with Remit(server.url, KEY, timeout=0.5) as remit:
        began = time.monotonic()
        with pytest.raises(Unavailable, match="did not answer within"):
            remit.guard("bot", "tool")(lambda: ran.append(1))()
        assert time.monotonic() - began < 5, "the whole answer would have taken 8 s"
    assert not ran


@pytest.mark.parametrize("what", [float("nan"), float("inf"), {1, 2}, object(), b"bytes"], ids=repr)
def test_what_json_cannot_express_is_not_asked(what, faulty):
    """A parameter that Remit cannot see is not judged, so the tool does not run, outage or not."""
    server, ran = faulty(None), []
    with Remit(server.url, KEY) as remit:
        guarded = remit.guard("bot", "tool", on_unavailable="allow")(ran.append)
        with pytest.raises((TypeError, ValueError)):
            guarded(what)
    assert not ran
    assert not server.asked


class TestRetries:
    """Only on request, and then so that no call counts twice."""

    def test_without_retries_a_request_is_sent_once(self, faulty):
        server = faulty(problem(503, "STORE_UNAVAILABLE"), answer(200, YES))
        with Remit(server.url, KEY) as remit, pytest.raises(Unavailable):
            remit.authorize("bot", "tool")
        assert len(server.asked) == 1
        assert b"Idempotency-Key" not in server.asked[0]

    def test_each_retry_of_a_request_carries_the_same_key(self, faulty):
        server = faulty(problem(503, "STORE_UNAVAILABLE"), problem(502, "X"), answer(200, YES))
        with Remit(server.url, KEY, retries=2) as remit:
            assert remit.authorize("bot", "tool").allowed
            assert remit.authorize("bot", "tool").allowed
        keys = [line for asked in server.asked for line in asked.split(b"\r\n") if line.startswith(b"Idempotency-Key")]
        assert len(keys) == 4
        assert len(set(keys[:3])) == 1, "one request, one key"
        assert keys[3] != keys[0], "another request, another key"

    def test_retries_end_with_the_deadline(self, faulty):
        server = faulty(problem(503, "STORE_UNAVAILABLE"))
        with Remit(server.url, KEY, retries=1000, timeout=0.4) as remit, pytest.raises(Unavailable):
            remit.authorize("bot", "tool")
        assert 2 <= len(server.asked) <= 4

    @pytest.mark.parametrize("said", [problem(401, "UNAUTHORIZED"), problem(429, "RATE_LIMITED"), answer(200, NO)])
    def test_an_answered_request_is_not_repeated(self, said, faulty):
        server = faulty(said)
        with Remit(server.url, KEY, retries=3) as remit, pytest.raises(RemitError):
            remit.guard("bot", "tool")(lambda: None)()
        assert len(server.asked) == 1
