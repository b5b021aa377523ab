"""One call of one tool through each framework itself, with a model that follows a script.

Each function calls the tool `refund.create` (where a framework's names have no dots: `refund_create`) as the agent,
appends to `ran` if the tool runs, and returns what the model reads as the tool's answer.
"""

from __future__ import annotations

import json
from importlib.util import find_spec

OLDER_MCP = find_spec("strands") is not None
"""Whether this is the environment of the frameworks that need an older `mcp` than FastMCP and the MCP proxy."""
PARAMETERS = {"amount": 120}


def langchain_agent(remit, agent, ran, middleware=(), **options):
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    from remit_client.langchain import RemitMiddleware

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

    @tool
    def refund_create(amount: int) -> str:
        """Pay back."""
        ran.append(amount)
        return "paid"

    call = AIMessage("", tool_calls=[{"name": "refund_create", "args": PARAMETERS, "id": "1"}])
    model = Scripted(messages=iter([call, AIMessage("done")]))
    return create_agent(
        model, [refund_create], middleware=[RemitMiddleware(remit, agent, **options)], **dict(middleware)
    )


async def langchain(remit, agent, ran, **options):
    graph = langchain_agent(remit, agent, ran, **options)
    said = await graph.ainvoke({"messages": ["refund"]}, {"configurable": {"thread_id": "s1"}})
    return said["messages"][-2].content


async def langchain_sync(remit, agent, ran, **options):
    graph = langchain_agent(remit, agent, ran, **options)
    return graph.invoke({"messages": ["refund"]}, {"configurable": {"thread_id": "s1"}})["messages"][-2].content


def openai_model(arguments=PARAMETERS):
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Scripted(Model):
        """Calls the tool, then says what it has read."""

        async def get_response(self, system_instructions, input, *args, **kwargs):  # noqa: A002
            outputs = [one for one in input if isinstance(one, dict) and one.get("type") == "function_call_output"]
            if outputs:
                text = ResponseOutputText(text=str(outputs[-1]["output"]), type="output_text", annotations=[])
                item = ResponseOutputMessage(
                    id="m", role="assistant", type="message", status="completed", content=[text]
                )
            else:
                item = ResponseFunctionToolCall(
                    name="refund_create", call_id="c1", arguments=json.dumps(arguments), type="function_call"
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *args, **kwargs):
            raise NotImplementedError

    return Scripted()


def openai_tool(ran):
    from agents import function_tool

    @function_tool(failure_error_function=None)
    def refund_create(amount: int) -> str:
        """Pay back."""
        ran.append(amount)
        return "paid"

    return refund_create


async def openai_agents(remit, agent, ran, **options):
    from agents import Agent, RunConfig, Runner

    from remit_client.openai_agents import RemitGuardrail

    tool = openai_tool(ran)
    tool.tool_input_guardrails = [RemitGuardrail(remit, agent, **options)]
    run_config = RunConfig(tracing_disabled=True, group_id="s1")
    said = await Runner.run(Agent(name="a", model=openai_model(), tools=[tool]), "refund", run_config=run_config)
    return said.final_output


async def openai_agents_protected(remit, agent, ran, **options):
    from agents import Agent, RunConfig, Runner

    from remit_client.openai_agents import RemitGuardrail

    tool = RemitGuardrail(remit, agent, **options).protect(openai_tool(ran))
    run_config = RunConfig(tracing_disabled=True, group_id="s1")
    said = await Runner.run(Agent(name="a", model=openai_model(), tools=[tool]), "refund", run_config=run_config)
    return said.interruptions[0].name + " waits once it is approved" if said.interruptions else said.final_output


def pydantic_agent(remit, agent, ran, output_type=str, **options):
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.toolsets import FunctionToolset

    from remit_client.pydantic_ai import RemitToolset

    def refund_create(amount: int) -> str:
        """Pay back."""
        ran.append(amount)
        return "paid"

    def script(messages, info):
        read = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if read:
            return ModelResponse([TextPart(str(read[-1].content))])
        return ModelResponse([ToolCallPart("refund_create", PARAMETERS)])

    tools = RemitToolset(FunctionToolset([refund_create]), remit, agent, **options)
    return Agent(FunctionModel(script), toolsets=[tools], output_type=output_type)


async def pydantic_ai(remit, agent, ran, **options):
    return (await pydantic_agent(remit, agent, ran, **options).run("refund")).output


async def google_adk(remit, agent, ran, **options):
    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai import types

    from remit_client.google_adk import RemitPlugin

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request, stream=False):
            part = types.Part(function_call=types.FunctionCall(name="refund_create", args=PARAMETERS))
            if llm_request.contents[-1].parts[0].function_response:
                part = types.Part(text="done")
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    def refund_create(amount: int) -> str:
        """Pay back."""
        ran.append(amount)
        return "paid"

    desk = LlmAgent(name="desk", model=Scripted(model="scripted"), tools=[refund_create])
    app = App(name="desk", root_agent=desk, plugins=[RemitPlugin(remit, agent, **options)])
    sessions = InMemorySessionService()
    await sessions.create_session(app_name="desk", user_id="u", session_id="s1")
    go, read = types.Content(role="user", parts=[types.Part(text="refund")]), []
    async for event in Runner(app=app, session_service=sessions).run_async(
        user_id="u", session_id="s1", new_message=go
    ):
        read += [str(each.response.get("error") or each.response) for each in event.get_function_responses()]
    return read[-1]


async def agent_framework(remit, agent, ran, **options):
    from agent_framework import Agent, AgentSession, tool
    from drivers import FrameworkModel

    from remit_client.agent_framework import RemitMiddleware

    @tool
    def refund_create(amount: int) -> str:
        """Pay back."""
        ran.append(amount)
        return "paid"

    model, guard = FrameworkModel([[("c1", PARAMETERS)]]), RemitMiddleware(remit, agent, **options)
    desk = Agent(model, tools=[refund_create], middleware=[guard])
    said = await desk.run("refund", session=AgentSession(session_id="s1"))
    return said.messages[-2].contents[0].result


async def llama_index(remit, agent, ran, **options):
    from drivers import LlamaModel
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import FunctionTool

    from remit_client.llama_index import RemitTool

    def refund_create(amount: int) -> str:
        """Pay back."""
        ran.append(amount)
        return "paid"

    model = LlamaModel(calls=[[("c1", PARAMETERS)]])
    tool = RemitTool(FunctionTool.from_defaults(refund_create), remit, agent, **options)
    await FunctionAgent(tools=[tool], llm=model, streaming=False).run(user_msg="refund")
    return model.read


def fastmcp_server(remit, agent, ran, **options):
    from fastmcp import FastMCP

    from remit_client.fastmcp import RemitMiddleware

    server = FastMCP("desk", middleware=[RemitMiddleware(remit, agent, **options)])

    @server.tool
    def refund_create(amount: int) -> str:
        """Pay back."""
        ran.append(amount)
        return "paid"

    return server


async def fastmcp(remit, agent, ran, **options):
    from fastmcp import Client

    async with Client(fastmcp_server(remit, agent, ran, **options)) as client:
        said = await client.call_tool("refund_create", PARAMETERS, raise_on_error=False)
    return said.content[0].text


async def claude_hook(remit, agent, ran, **options):
    """The callback, as the SDK calls it; test_claude_code.py has the SDK and its program themselves."""
    from remit_client.claude_agent_sdk import remit_hooks

    [matcher] = remit_hooks(remit, agent, **{"allowed": "allow"} | options)["PreToolUse"]
    event = {
        "hook_event_name": "PreToolUse",
        "session_id": "s1",
        "tool_name": "refund_create",
        "tool_input": PARAMETERS,
    }
    said = (await matcher.hooks[0](event, "c1", {"signal": None}))["hookSpecificOutput"]
    if said["permissionDecision"] == "allow":
        ran.append(1)
    return said["permissionDecisionReason"]


async def claude_can_use_tool(remit, agent, ran, **options):
    from claude_agent_sdk import PermissionResultAllow, ToolPermissionContext

    from remit_client.claude_agent_sdk import can_use_tool

    said = await can_use_tool(remit, agent, **options)("refund_create", PARAMETERS, ToolPermissionContext())
    if isinstance(said, PermissionResultAllow):
        ran.append(1)
        return "paid"
    return said.message


async def litellm(remit, agent, ran, **options):
    """The gateway's own check of a call, with all its hooks; the server behind it would be asked next."""
    import litellm
    from litellm.exceptions import GuardrailRaisedException
    from litellm.proxy._experimental.mcp_server.mcp_server_manager import MCPServer, MCPServerManager
    from litellm.proxy._types import UserAPIKeyAuth
    from litellm.proxy.proxy_server import proxy_logging_obj

    from remit_client.litellm import RemitGuardrail

    names = {"desk.refund_create": "refund_create"}
    litellm.callbacks = [RemitGuardrail(remit, guardrail_name="remit", tool_name=names, **options)]
    try:
        await MCPServerManager().pre_call_tool_check(
            name="refund_create",
            arguments=PARAMETERS,
            server_name="desk",
            user_api_key_auth=UserAPIKeyAuth(key_alias=agent),
            proxy_logging_obj=proxy_logging_obj,
            server=MCPServer(server_id="d", name="desk", transport="stdio", command="true"),
        )
    except GuardrailRaisedException as refusal:
        return str(refusal)
    finally:
        litellm.callbacks = []
    ran.append(1)
    return "paid"


async def strands(remit, agent, ran, **options):
    from drivers_older_mcp import StrandsModel
    from strands import Agent, tool

    from remit_client.strands import RemitHook

    @tool
    def refund_create(amount: int) -> str:
        """Pay back."""
        ran.append(amount)
        return "paid"

    model, hooks = StrandsModel([[("c1", PARAMETERS)]]), [RemitHook(remit, agent, **options)]
    desk = Agent(model, tools=[refund_create], hooks=hooks, callback_handler=None)
    await desk.invoke_async("refund")
    return desk.messages[-2]["content"][0]["toolResult"]["content"][0]["text"]


async def crewai(remit, agent, ran, native=True, **options):
    from crewai.tools import tool
    from drivers_older_mcp import NAME, CrewModel, crew_of

    from remit_client.crewai import RemitTool

    @tool(NAME)
    def refund_create(amount: int) -> str:
        """Pay back."""
        ran.append(amount)
        return "paid"

    model = CrewModel([[("c1", PARAMETERS)]], native)
    await crew_of(model, [RemitTool(refund_create, remit, agent, **options)]).kickoff_async()
    return model.read


async def crewai_in_text(remit, agent, ran, **options):
    return await crewai(remit, agent, ran, native=False, **options)


if OLDER_MCP:
    RAISING, ANSWERING = [strands], [crewai, crewai_in_text]
else:
    RAISING = [
        langchain,
        langchain_sync,
        openai_agents,
        openai_agents_protected,
        pydantic_ai,
        google_adk,
        agent_framework,
    ]
    ANSWERING = [llama_index, fastmcp, litellm, claude_hook, claude_can_use_tool]
