"""A client of the SDK sees the same of a server with 1,000 tools with and without the proxy between them."""

import sys

import pytest
from mcp import Client, MCPError, types
from mcp.client.stdio import StdioServerParameters, stdio_client
from test_mcp import HERE, PROXY, environment

from remit_client import calls

SERVER = [sys.executable, str(HERE / "thousand_server.py")]
MEBIBYTE = "é" * (1 << 19)


@pytest.fixture
def desk(admin):
    made = admin.send(calls.create_agent("thousand"))
    admin.send(calls.create_policy(made.id, "all", [{"type": "tool_allowlist", "tools": ["*"]}]))
    return made.id


@pytest.fixture
def behind(service, asking_key, desk):
    """The server behind the proxy."""
    args = ["mcp", "--agent", desk, "--timeout", "20", "--", *SERVER]
    return StdioServerParameters(command=PROXY, args=args, env=environment(service.url, asking_key))


ALONE = StdioServerParameters(command=SERVER[0], args=SERVER[1:])


async def seen_of(server):
    """Everything a client sees of the server: pages, answers, notifications, and requests to itself."""
    asked = []

    async def sample(context, params):
        asked.append(params.model_dump(by_alias=True, exclude_unset=True))
        text = types.TextContent(type="text", text="Go on")
        return types.CreateMessageResult(role="assistant", content=text, model="scripted")

    async def roots(context):
        return types.ListRootsResult(roots=[types.Root(uri="file:///home/ann/shop", name="shop")])

    async def elicit(context, params):
        asked.append(params.model_dump(by_alias=True, exclude_unset=True))
        return types.ElicitResult(action="decline")

    async def hear(message):
        if not isinstance(message, Exception):
            asked.append(getattr(message, "root", message).model_dump(by_alias=True, exclude_unset=True))

    callbacks = {
        "sampling_callback": sample,
        "list_roots_callback": roots,
        "elicitation_callback": elicit,
        "message_handler": hear,
    }
    answers, cursor = [], None
    async with Client(stdio_client(server), mode="legacy", **callbacks) as client:
        answers.append(client.server_capabilities)
        while True:
            page = await client.list_tools(cursor=cursor)
            answers.append(page)
            cursor = page.next_cursor
            if cursor is None:
                break
        answers += [await client.call_tool(name, {}) for name in ("changed", "sample", "roots", "elicit", "tool_3")]
        answers.append(await client.call_tool("tool_994", {"text": MEBIBYTE}))
    return [answer.model_dump(by_alias=True, exclude_unset=True) for answer in answers], asked


async def test_a_client_sees_the_same_behind_it(behind):
    """Ten pages, a mebibyte, list_changed, sampling, roots, elicitation: equal as JSON, with what only we know of."""
    answers, asked = await seen_of(behind)
    assert (answers, asked) == await seen_of(ALONE)
    pages = [answer["tools"] for answer in answers if "tools" in answer and isinstance(answer["tools"], list)]
    assert [len(page) for page in pages] == [100] * 10
    assert pages[9][99]["_meta"] == {"ours": {"a": 1}}
    assert pages[9][99]["inputSchema"]["properties"]["text"]["x-ours"] == [1, None, 1.5]
    assert [one.get("method") for one in asked].count("notifications/tools/list_changed") == 1
    assert len(asked) == 3
    assert [answer["content"][0]["text"] for answer in answers[11:]] == [
        "done",
        "scripted",
        "file:///home/ann/shop",
        "decline",
        "tool_3: 0",
        f"tool_994: {1 << 19}",
    ]


async def test_a_server_that_crashes_in_a_call_fails_it(behind):
    """The client learns it at once, and why."""
    async with Client(stdio_client(behind), mode="legacy") as client:
        with pytest.raises(MCPError, match="exit code 7"):
            await client.call_tool("crash", {})
