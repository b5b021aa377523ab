"""What ran is what was judged, even if somebody changes the arguments in between: each adapter that hands them on."""

import types

import pytest
from cases import PATIENT, YES
from scripted import OLDER_MCP
from service import answer

from remit_client import Remit

KEY = "svc_" + "0" * 32
NAME = "refund_create"


async def langchain(remit, given, ran, **options):
    from langchain.tools.tool_node import ToolCallRequest

    from remit_client.langchain import RemitMiddleware

    async def tool(request):
        ran.append(request.tool_call["args"])

    call = {"name": NAME, "args": given, "id": "1", "type": "tool_call"}
    request = ToolCallRequest(tool_call=call, tool=None, state={}, runtime=None)
    await RemitMiddleware(remit, "desk", **options).awrap_tool_call(request, tool)


async def langchain_sync(remit, given, ran, **options):
    from langchain.tools.tool_node import ToolCallRequest

    from remit_client.langchain import RemitMiddleware

    call = {"name": NAME, "args": given, "id": "1", "type": "tool_call"}
    request = ToolCallRequest(tool_call=call, tool=None, state={}, runtime=None)
    middleware = RemitMiddleware(remit, "desk", **options)
    middleware.wrap_tool_call(request, lambda request: ran.append(request.tool_call["args"]))


async def pydantic_ai(remit, given, ran, **options):
    from remit_client.pydantic_ai import RemitToolset

    class Wrapped:
        async def call_tool(self, name, tool_args, ctx, tool):
            ran.append(tool_args)

    run = types.SimpleNamespace(run_id="r", tool_call_approved=False, tool_call_id="c1", prompt=None)
    await RemitToolset(Wrapped(), remit, "desk", **options).call_tool(NAME, given, run, None)


async def fastmcp(remit, given, ran, **options):
    from fastmcp.server.middleware import MiddlewareContext
    from mcp_types import CallToolRequestParams

    from remit_client.fastmcp import RemitMiddleware

    async def tool(context):
        ran.append(context.message.arguments)

    message = CallToolRequestParams.model_construct(name=NAME, arguments=given)
    await RemitMiddleware(remit, "desk", **options).on_call_tool(MiddlewareContext(message=message), tool)


async def agent_framework(remit, given, ran, **options):
    from agent_framework import FunctionInvocationContext

    from remit_client.agent_framework import RemitMiddleware

    context = FunctionInvocationContext(types.SimpleNamespace(name=NAME), given)

    async def tool():
        ran.append(context.arguments)

    await RemitMiddleware(remit, "desk", **options).process(context, tool)


def llama_tool(remit, ran, **options):
    from llama_index.core.tools import FunctionTool

    from remit_client.llama_index import RemitTool

    def tool(**given):
        ran.append(given)

    return RemitTool(FunctionTool.from_defaults(tool, name=NAME), remit, "desk", **options)


async def llama_index(remit, given, ran, **options):
    await llama_tool(remit, ran, **options).acall(**given)


async def llama_index_sync(remit, given, ran, **options):
    llama_tool(remit, ran, **options).call(**given)


async def strands(remit, given, ran, **options):
    from strands.hooks import BeforeToolCallEvent

    from remit_client.strands import RemitHook

    desk = types.SimpleNamespace(session_id="s1", messages=[])
    event = BeforeToolCallEvent(desk, None, {"toolUseId": "1", "name": NAME, "input": given}, {})
    await RemitHook(remit, "desk", **options)._before(event)
    ran.append(event.tool_use["input"])


def crewai_tool(ran):
    from crewai.tools import BaseTool

    class Tool(BaseTool):
        name: str = NAME
        description: str = "Pay back."

        def _run(self, **given):
            ran.append(given)

        async def _arun(self, **given):
            ran.append(given)

    return Tool()


async def crewai(remit, given, ran, **options):
    from remit_client.crewai import RemitTool

    await RemitTool(crewai_tool(ran), remit, "desk", **options).arun(**given)


async def crewai_sync(remit, given, ran, **options):
    from remit_client.crewai import RemitTool

    RemitTool(crewai_tool(ran), remit, "desk", **options).run(**given)


if OLDER_MCP:
    ADAPTERS = [strands, crewai, crewai_sync]
else:
    ADAPTERS = [
        langchain,
        langchain_sync,
        pydantic_ai,
        agent_framework,
        llama_index,
        llama_index_sync,
        fastmcp,
    ]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda one: one.__name__)
async def test_arguments_changed_while_remit_is_asked_do_not_run(adapter, faulty):
    """The caller keeps a reference, and changes what it refers to before the answer is there."""
    server, ran, given = faulty(answer(200, YES)), [], {"amount": 1, "lines": [1]}

    def change():
        given["amount"] = 9000
        given["lines"].append(9000)
        return {}

    await adapter(Remit(server.url, KEY, **PATIENT), given, ran, context=change)
    assert given["amount"] == 9000
    assert ran == [{"amount": 1, "lines": [1]}]
    assert b'"parameters":{"amount":1,"lines":[1]}' in server.asked[0]
