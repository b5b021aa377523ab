"""What the proxy judges and passes on, between a client and a server that are lists of lines."""

import asyncio
import contextlib
import functools
import json

import pytest

from remit_client import Decision, Denied
from remit_client.mcp.messages import VERSION
from remit_client.mcp.proxy import Proxy

READ = {"uri": "file:///reports/q1.pdf", "_meta": {"x": 1}}
PROMPT = {"name": "greeting", "arguments": {"name": "Ann"}}
JUDGED = [
    ("tools/call", {"name": "refund", "arguments": {"amount": 5}}, ("refund", {"amount": 5})),
    ("resources/read", READ, ("resource.resources/read", {"uri": READ["uri"]})),
    ("resources/subscribe", READ, ("resource.resources/read", {"uri": READ["uri"]})),
    ("prompts/get", PROMPT, ("prompt.prompts/get", PROMPT)),
    ("prompts/get", {"name": "greeting"}, ("prompt.prompts/get", {"name": "greeting"})),
]


class Peer:
    """One side: `said` is what it has been sent."""

    def __init__(self):
        self._said = asyncio.Queue()
        self.listens = asyncio.Event()

    def listen(self, heard):
        self.listens.set()
        self.says = lambda message: heard(message if isinstance(message, bytes) else json.dumps(message).encode())

    def send(self, line):
        self._said.put_nowait(line)

    async def line(self):
        return await asyncio.wait_for(self._said.get(), 20)

    async def said(self):
        return json.loads(await self.line())


@contextlib.asynccontextmanager
async def proxied(*, allows=True, statuses=None, **options):
    """Client, server, and what was judged."""
    client, server, judged = Peer(), Peer(), []
    listed, places = server.listed, server.places = [], []

    async def check(tool, arguments, place):
        judged.append((tool, arguments))
        places.append(place)
        if not allows:
            raise Denied(tool, Decision("1", allowed=False, result="denied", reason="it is late"))

    async def all_statuses(names):
        listed.extend(names)
        return statuses or {}

    running = asyncio.create_task(Proxy(client, server, check, all_statuses, **options).run())
    await asyncio.gather(client.listens.wait(), server.listens.wait())
    yield client, server, judged
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def request(method, params=None, number=1):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


@pytest.mark.parametrize(("method", "params", "wanted"), JUDGED)
async def test_calls_and_reads_pass_as_they_were_judged(method, params, wanted):
    async with proxied() as (client, server, judged):
        client.says(request(method, params))
        assert await server.said() == request(method, params)
        assert judged == [wanted]


@pytest.mark.parametrize(("method", "params", "wanted"), JUDGED)
async def test_what_is_refused_does_not_reach_the_server(method, params, wanted):
    """The model reads why a tool was not run; for a read, there is only a JSON-RPC error to say it."""
    async with proxied(allows=False) as (client, server, judged):
        client.says(request(method, params))
        answered = await client.said()
        if method == "tools/call":
            assert answered["result"]["isError"]
            assert "It is late" in answered["result"]["content"][0]["text"]
        else:
            assert answered["error"]["code"] == -32001
            assert "It is late" in answered["error"]["message"]
        client.says(request("ping", number=2))
        assert (await server.said())["method"] == "ping", "the server has seen nothing before it"
        assert judged == [wanted]


@pytest.mark.parametrize(
    "message",
    [
        request("resources/read"),
        request("resources/read", {"uri": ["file:///x"]}),
        request("resources/read", {"URI": "file:///x"}),
        request("resources/Read", {"uri": "file:///x"}),
        request("Prompts/get", {"name": "greeting"}),
        request("prompts/get", {"name": "greeting", "arguments": ["Ann"]}),
        request("prompts/get", ["greeting"]),
        {"jsonrpc": "2.0", "method": "resources/read", "params": {"uri": "file:///x"}},
        {"jsonrpc": "2.0", "id": None, "method": "prompts/get", "params": {"name": "greeting"}},
    ],
)
async def test_a_read_that_a_server_could_understand_differently_does_not_pass(message):
    async with proxied() as (client, server, judged):
        client.says(message)
        assert (await client.said())["error"]["code"] == -32600
        client.says(request("ping", number=2))
        assert (await server.said())["method"] == "ping"
        assert not judged


async def leg(client, server, places, asks=None, **params):
    """The place of a call whose server answers it, or asks with this state."""
    client.says(request("tools/call", {"name": "refund", "_meta": {VERSION: "2026-07-28"}, **params}))
    await server.said()
    asked = {"resultType": "input_required", "requestState": asks}
    server.says({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete"} if asks is None else asked})
    await client.said()
    return places[-1]


async def test_each_question_of_the_server_lets_one_more_leg_pass_as_the_same_call():
    """By the state that the server gave, with the same arguments, and once."""
    async with proxied() as (client, server, _):
        played = functools.partial(leg, client, server, server.places)
        first, second = await played("a"), await played("b")
        assert await played("c", requestState="a", inputResponses={"q": {}}) == first
        assert await played(requestState="b", arguments={"amount": 5}) not in (first, second)
        assert await played(requestState="b") == second
        assert await played(requestState="c") == first
        for state in ("a", "b", "c", "d"):
            assert await played(requestState=state) not in (first, second)
        assert await played("e") != await played("e")
        begun = server.places[-2:]
        assert [await played(requestState="e") for _ in begun] == begun


async def test_a_question_without_a_state_lets_one_more_leg_pass():
    async with proxied() as (client, server, _):
        client.says(request("tools/call", {"name": "refund", "_meta": {VERSION: "2026-07-28"}}))
        await server.said()
        server.says({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required"}})
        await client.said()
        played = functools.partial(leg, client, server, server.places)
        [first] = server.places
        assert await played() != first, "it answers nothing"
        assert await played(inputResponses={"q": {}}) == first
        assert await played(inputResponses={"q": {}}) != first


async def test_a_call_of_an_older_protocol_has_no_place():
    """There, the server asks while the call is open."""
    async with proxied() as (client, server, _):
        client.says(request("tools/call", {"name": "refund", "requestState": "a"}))
        await server.said()
        assert server.places == [None]


@pytest.mark.parametrize("given", [{"ttlMs": 60_000}, {"cacheScope": "public"}, {"ttlMs": 1, "cacheScope": "public"}])
async def test_a_list_is_one_agents(given):
    """A cache that others share must not keep it, and the agent's policies can change at once."""
    async with proxied(statuses={"b": "denied"}) as (client, server, _):
        client.says(request("tools/list"))
        await server.said()
        server.says({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}, {"name": "b"}], **given}})
        result = (await client.said())["result"]
        assert result == {"tools": [{"name": "a"}], "ttlMs": 0, "cacheScope": "private"}


async def test_policies_know_a_servers_tools_under_a_prefix():
    """In calls and in lists; client and server never see it. Reads have the names that they have everywhere."""
    async with proxied(statuses={"x.a": "denied", "b": "denied"}, prefix="x.") as (client, server, judged):
        client.says(request("tools/list"))
        await server.said()
        server.says({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}, {"name": "b"}]}})
        assert (await client.said())["result"] == {"tools": [{"name": "b"}]}
        assert server.listed == ["x.a", "x.b"]
        client.says(request("tools/call", {"name": "b"}, 2))
        assert (await server.said())["params"] == {"name": "b"}
        client.says(request("resources/read", READ, 3))
        assert (await server.said())["params"] == READ
        assert [tool for tool, _ in judged] == ["x.b", "resource.resources/read"]


@pytest.mark.parametrize("exact", [True, False])
async def test_whole_numbers_that_some_servers_round_pass_if_somebody_vouches_for_this_one(exact):
    """With their digits; otherwise the model is told to pass a text."""
    call = {"name": "pay", "arguments": {"id": 9007199254740993}}
    async with proxied(exact_integers=exact) as (client, server, judged):
        client.says(request("tools/call", call))
        if exact:
            assert (await server.said())["params"] == call
            assert judged == [("pay", call["arguments"])]
        else:
            assert "pass it as a text" in (await client.said())["result"]["content"][0]["text"]
            assert not judged


async def test_a_list_of_an_older_protocol_has_no_more_fields():
    async with proxied() as (client, server, _):
        client.says(request("tools/list"))
        await server.said()
        server.says({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a"}]}})
        assert (await client.said())["result"] == {"tools": [{"name": "a"}]}


@pytest.mark.parametrize("number", [b"NaN", b"-Infinity", b"1e999", b"12345678901234567890123", b"1.10"])
async def test_numbers_of_the_server_pass_as_it_wrote_them(number):
    """Also those that JSON does not have: what reads them is the client's business."""
    async with proxied() as (client, server, _):
        client.says(request("tools/call", {"name": "mean"}))
        await server.said()
        answered = b'{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"mean":' + number + b"}}}"
        server.says(answered)
        assert await client.line() == answered + b"\n"


async def test_numbers_that_json_does_not_have_are_null_in_a_list_that_is_written_anew():
    async with proxied() as (client, server, _):
        client.says(request("tools/list"))
        await server.said()
        server.says(b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","x":[NaN,1e999,-1e999,1.5,1e2]}]}}')
        assert (await client.said())["result"]["tools"] == [{"name": "a", "x": [None, None, None, 1.5, 100.0]}]


@pytest.mark.parametrize("method", ["tools/call", "tools/list", "ping"])
@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":7,"result":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","result":{"id":8,"method":"x","a":[{"id":9}]},"id" : 7,',
        b'{"id":7,"result":{"a":"half an answ',
        b'{"id":7,"result":' + b"[" * 100_000,
        b'{"id":7,"result":{"a":"\\"},"}x}',
    ],
)
async def test_an_answer_that_cannot_be_read_ends_its_request(line, method):
    """Otherwise the client would wait for it for ever."""
    async with proxied() as (client, server, _):
        for number in (7, 8, 9):
            client.says(request(method, {"name": "a"}, number))
            await server.said()
        server.says(line)
        answered = await client.said()
        assert (answered["id"], answered["error"]["code"]) == (7, -32603)
        server.says(line)
        server.says({"jsonrpc": "2.0", "method": "next"})
        assert (await client.said())["method"] == "next", "it has been answered"


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":\xff}',
        b'{"jsonrpc":"2.0","id":5,"result":\xff}',
        b'{"id":7.5,"result":\xff}',
        b'[{"id":7,"result":\xff}]',
        b'{"result":{"id":7},\xff}',
        b"Server started, id: 7",
    ],
)
async def test_what_is_no_answer_to_an_open_request_ends_none(line):
    """Such as a request of the server's own, whose ids are others."""
    async with proxied() as (client, server, _):
        client.says(request("ping", number=7))
        await server.said()
        server.says(line)
        server.says({"jsonrpc": "2.0", "id": 7, "result": {}})
        assert (await client.said())["result"] == {}
