"""The drivers of the frameworks that stand beside a new `mcp`."""

from __future__ import annotations

import copy
import json
import sqlite3
from importlib.metadata import version
from typing import ClassVar

from agent_framework import Agent as FrameworkAgent
from agent_framework import (
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    UserInputRequiredException,
)
from agent_framework import tool as framework_tool
from agents import Agent as OpenAIAgent
from agents import Model, ModelResponse, Runner, RunState, Usage, function_tool
from agents.tracing import set_trace_processors
from driver import NAME, SESSION, THREAD, Driver
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner as AdkRunner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types as genai_types
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, interrupt
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, LLMMetadata
from llama_index.core.base.llms.types import ChatResponse as LlamaResponse
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockLLM
from llama_index.core.tools import FunctionTool
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic import Field, SkipValidation
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import (
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai import messages as pydantic_messages
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from remit_client.agent_framework import RemitMiddleware as RemitFunctionMiddleware
from remit_client.google_adk import RemitPlugin
from remit_client.langchain import RemitMiddleware
from remit_client.llama_index import RemitTool
from remit_client.openai_agents import RemitGuardrail
from remit_client.pydantic_ai import RemitToolset

set_trace_processors([])


class _Scripted(BaseChatModel):
    calls: SkipValidation[list]

    def bind_tools(self, tools, **kwargs):
        return self

    @property
    def _llm_type(self):
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        last = max((n for n, each in enumerate(messages) if each.type == "human"), default=0)
        turn = sum(each.type == "ai" for each in messages[last:])
        asked = self.calls[turn] if turn < len(self.calls) else []
        calls = [{"name": NAME, "args": arguments, "id": each} for each, arguments in asked]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("" if calls else "done", tool_calls=calls))])


class LangGraph(Driver):
    if tuple(map(int, version("langgraph").split(".")[:2])) < (1, 2):
        CANNOT: ClassVar = {"a call that is played again is another call": "it plays a task again under its old id"}

    def __init__(self, *args):
        self._saved = InMemorySaver()
        super().__init__(*args)

    def _make(self, remit):
        other = self._desk(remit, 0) if self._delegates else None
        self._graph = self._desk(remit, self._pauses, other, checkpointer=self._saved)

    def _desk(self, remit, pauses, other=None, **keeps):
        @langchain_tool
        def refund_create(amount: int) -> str:
            """Pay back."""
            for n in range(pauses):
                if interrupt(f"really? {n}") is not True:
                    return "the user said no"
            if other is not None:
                other.invoke({"messages": ["refund"]})
            self.ran.append(amount)
            return "paid"

        guard = RemitMiddleware(remit, self.agent, interrupt=True)
        return create_agent(_Scripted(calls=self.calls), [refund_create], middleware=[guard], **keeps)

    async def start(self):
        await self._go({"messages": ["refund"]})

    @property
    def waits(self):
        return bool(self._graph.get_state(THREAD).interrupts)

    async def resume(self, answer=True, at=THREAD):
        waiting = self._graph.get_state(at).interrupts
        await self._go(Command(resume={each.id: answer for each in waiting}), at)

    async def refuse(self):
        await self.resume("no")

    async def amend(self):
        message = self._graph.get_state(THREAD).values["messages"][-1]
        calls = [{**each, "args": {"amount": 60}} for each in message.tool_calls]
        self._graph.update_state(
            THREAD, {"messages": [message.model_copy(update={"tool_calls": calls})]}, as_node="model"
        )
        await self._go(None)
        await self.resume()

    async def again(self):
        """From the checkpoint before the last answer to a pause, or before the tool."""
        before = next(each for each in self._graph.get_state_history(THREAD) if "tools" in each.next)
        if self.CANNOT and not before.interrupts:
            raise NotImplementedError(self.CANNOT)
        await (self.resume(at=before.config) if before.interrupts else self._go(None, before.config))

    async def _go(self, given, config=THREAD):
        self._keep(await self._graph.ainvoke(given, config))

    def _keep(self, said):
        self.said = next((each.content for each in reversed(said["messages"]) if each.type == "tool"), "")


class LangGraphSync(LangGraph):
    KEPT = ()

    def keep_in(self, folder):
        self._saved = SqliteSaver(sqlite3.connect(f"{folder}/store", check_same_thread=False))

    async def _go(self, given, config=THREAD):
        self._keep(self._graph.invoke(given, config))


class LangGraphStreamed(LangGraph):
    async def _go(self, given, config=THREAD):
        async for _ in self._graph.astream(given, config, stream_mode="messages"):
            pass
        self._keep(self._graph.get_state(THREAD).values)


class _OpenAIModel(Model):
    def __init__(self, next_calls):
        self._next_calls = next_calls

    async def get_response(self, system_instructions, input, *args, **kwargs):  # noqa: A002
        asked = self._next_calls()
        output = [
            ResponseFunctionToolCall(name=NAME, call_id=each, arguments=json.dumps(arguments), type="function_call")
            for each, arguments in asked
        ]
        if not output:
            items = [one for one in input if isinstance(one, dict)]
            last = next(one["output"] for one in reversed(items) if one.get("type") == "function_call_output")
            text = ResponseOutputText(text=str(last), type="output_text", annotations=[])
            output = [
                ResponseOutputMessage(id="m", role="assistant", type="message", status="completed", content=[text])
            ]
        return ModelResponse(output=output, usage=Usage(requests=1), response_id=None)

    async def stream_response(self, *args, **kwargs):
        said = await self.get_response(*args, **kwargs)
        response = Response.model_construct(id="r", output=said.output, usage=None)
        yield ResponseCompletedEvent.model_construct(response=response, type="response.completed", sequence_number=0)


class OpenAI(Driver):
    """Its tools cannot pause halfway: they ask before they run, in the same pause as Remit."""

    KEPT = ("_saved", "_turn")
    CANNOT: ClassVar = {
        "an approval lets a call through that then pauses twice": "a tool asks its user at most once, before it runs",
        "other arguments than were approved are another call": "a call that waits is approved or rejected as it is",
        "arguments that were edited at the pause are judged": "a call that waits is approved or rejected as it is",
    }

    def _make(self, remit):
        calls = iter(self.calls)
        other = self._agent_that(lambda: next(calls, []), remit, 0) if self._delegates else None
        self._desk = self._agent_that(self._next_calls, remit, self._pauses, other)

    def _agent_that(self, next_calls, remit, pauses, other=None):
        @function_tool(failure_error_function=None, needs_approval=pauses > 0)
        async def refund_create(amount: int) -> str:
            """Pay back."""
            if other is not None:
                await Runner.run(other, "refund")
            self.ran.append(amount)
            return "paid"

        tool = RemitGuardrail(remit, self.agent, context=SESSION).protect(refund_create)
        return OpenAIAgent(name="a", model=_OpenAIModel(next_calls), tools=[tool])

    def _next_calls(self):
        """The framework leaves out items with an id that was there before, so they do not tell the turn."""
        self._turn += 1
        return self.calls[self._turn - 1] if self._turn <= len(self.calls) else []

    async def start(self):
        self._turn, self._before = 0, None
        await self._go("refund")

    async def again(self):
        if self._before is None:
            return await self.start()
        self._saved, self._turn = self._before
        return await self.resume()

    async def resume(self, answer=RunState.approve):
        self._before = self._saved, self._turn
        state = await RunState.from_string(self._desk, self._saved)
        for each in state.get_interruptions():
            answer(state, each)
        await self._go(state)

    async def refuse(self):
        await self.resume(RunState.reject)

    async def _go(self, given):
        said = await self._run(given)
        self._waiting = said.interruptions
        self._saved = said.to_state().to_string()
        self.said = str(said.final_output)

    async def _run(self, given):
        return await Runner.run(self._desk, given)


class OpenAIStreamed(OpenAI):
    async def _run(self, given):
        said = Runner.run_streamed(self._desk, given)
        async for _ in said.stream_events():
            pass
        return said


class Pydantic(Driver):
    """A tool learns that its user has approved the call, but not which of several questions that answers."""

    KEPT = ("_saved", "_waiting")
    CANNOT: ClassVar = {
        "an approval lets a call through that then pauses twice": "a yes to Remit's pause is the tool's, too",
        "two calls of a message that have one id are never one for the limit": "it refuses such a message",
    }

    def _make(self, remit):
        other = self._agent_that(remit, 0) if self._delegates else None
        self._desk = self._agent_that(remit, self._pauses, other)

    def _agent_that(self, remit, pauses, other=None):
        async def refund_create(ctx: RunContext, amount: int) -> str:
            """Pay back."""
            if pauses and not ctx.tool_call_approved:
                raise ApprovalRequired
            if other is not None:
                await other.run("refund")
            self.ran.append(amount)
            return "paid"

        def script(messages, info):
            begun = max(
                n
                for n, each in enumerate(messages)
                if any(isinstance(part, pydantic_messages.UserPromptPart) for part in each.parts)
            )
            turn = sum(isinstance(each, pydantic_messages.ModelResponse) for each in messages[begun:])
            asked = self.calls[turn] if turn < len(self.calls) else []
            if asked:
                return pydantic_messages.ModelResponse(
                    [pydantic_messages.ToolCallPart(NAME, arguments, each) for each, arguments in asked]
                )
            return pydantic_messages.ModelResponse([pydantic_messages.TextPart("done")])

        async def stream(messages, info):
            for n, part in enumerate(script(messages, info).parts):
                if isinstance(part, pydantic_messages.TextPart):
                    yield part.content
                else:
                    yield {n: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}

        tools = RemitToolset(FunctionToolset([refund_create]), remit, self.agent, defer=True, context=SESSION)
        model = FunctionModel(script, stream_function=stream)
        return PydanticAgent(model, toolsets=[tools], output_type=[str, DeferredToolRequests])

    async def start(self):
        self._before = None
        await self._go("refund")

    async def again(self):
        if self._before is None:
            return await self.start()
        self._saved, self._waiting = self._before
        return await self.resume()

    async def resume(self, answer=True):
        self._before = self._saved, self._waiting
        history = pydantic_messages.ModelMessagesTypeAdapter.validate_json(self._saved)
        answers = DeferredToolResults(approvals=dict.fromkeys(self._waiting, answer))
        await self._go(message_history=history, deferred_tool_results=answers)

    async def refuse(self):
        await self.resume(ToolDenied("the user said no"))

    async def amend(self):
        await self.resume(ToolApproved(override_args={"amount": 60}))

    async def _go(self, prompt=None, **given):
        said = await self._desk.run(prompt, **given)
        self._keep(said, said.output)

    def _keep(self, said, output):
        self._saved = said.all_messages_json().decode()
        waits = output.approvals if isinstance(output, DeferredToolRequests) else []
        self._waiting = [each.tool_call_id for each in waits]
        parts = [part for each in said.all_messages() for part in each.parts]
        read = [part for part in parts if isinstance(part, pydantic_messages.ToolReturnPart)]
        self.said = str(read[-1].content) if read else ""


class PydanticStreamed(Pydantic):
    async def _go(self, prompt=None, **given):
        async with self._desk.run_stream(prompt, **given) as said:
            self._keep(said, await said.get_output())


class _AdkModel(BaseLlm):
    calls: SkipValidation[list]

    async def generate_content_async(self, llm_request, stream=False):
        if stream:
            yield LlmResponse(
                content=genai_types.Content(role="model", parts=[genai_types.Part(text="do")]), partial=True
            )
        contents = llm_request.contents
        texts = [n for n, each in enumerate(contents) if each.role == "user" and any(part.text for part in each.parts)]
        begun = texts[-1] if texts else 0
        turn = sum(each.role == "model" for each in contents[begun:])
        asked = self.calls[turn] if turn < len(self.calls) else []
        parts = [
            genai_types.Part(function_call=genai_types.FunctionCall(id=each, name=NAME, args=arguments))
            for each, arguments in asked
        ]
        yield LlmResponse(content=genai_types.Content(role="model", parts=parts or [genai_types.Part(text="done")]))


class Adk(Driver):
    """A tool can pause with the framework's confirmation, and so does Remit."""

    CONFIG = RunConfig()
    KEPT = ("_waiting",)

    CANNOT: ClassVar = {
        "an approval lets a call through that then pauses twice": "a yes to Remit's pause is the tool's, too",
        "other arguments than were approved are another call": "it refuses a confirmation with other arguments",
        "arguments that were edited at the pause are judged": "it refuses a confirmation with other arguments",
    }
    if tuple(map(int, version("google-adk").split(".")[:2])) < (2, 11):
        CANNOT["a budget is charged once for a call that pauses"] = "it fails at the second pause of a session"

    def __init__(self, *args):
        self._sessions = InMemorySessionService()
        super().__init__(*args)

    def keep_in(self, folder):
        self._sessions = SqliteSessionService(f"{folder}/store")

    def _make(self, remit):
        other = AgentTool(self._agent_that(0)) if self._delegates else None
        plugin = RemitPlugin(remit, self.agent, confirm=True)
        app = App(name="desk", root_agent=self._agent_that(self._pauses, other), plugins=[plugin])
        self._runner = AdkRunner(app=app, session_service=self._sessions)

    def _agent_that(self, pauses, other=None):
        async def refund_create(amount: int, tool_context: ToolContext) -> str:
            """Pay back."""
            if pauses and tool_context.tool_confirmation is None:
                tool_context.request_confirmation(hint="really?")
                return "asks the user"
            if other is not None:
                await other.run_async(args={"request": "refund"}, tool_context=tool_context)
            self.ran.append(amount)
            return "paid"

        return LlmAgent(name="desk", model=_AdkModel(model="scripted", calls=self.calls), tools=[refund_create])

    async def start(self):
        if await self._sessions.get_session(app_name="desk", user_id="u", session_id="s1") is None:
            await self._sessions.create_session(app_name="desk", user_id="u", session_id="s1")
        await self._go([genai_types.Part(text="refund")])

    async def resume(self, answer=True):
        name, response = "adk_request_confirmation", {"confirmed": answer}
        await self._go(
            genai_types.Part(function_response=genai_types.FunctionResponse(id=each, name=name, response=response))
            for each in self._waiting
        )

    async def refuse(self):
        await self.resume(False)

    async def again(self):
        self._sessions, sent = self._before
        self.restart()
        await self._go(sent)

    async def _go(self, parts):
        sent = list(parts)
        self._waiting, self._before = [], (copy.deepcopy(self._sessions), sent)
        said = genai_types.Content(role="user", parts=sent)
        run = self._runner.run_async(user_id="u", session_id="s1", new_message=said, run_config=self.CONFIG)
        async for event in run:
            calls = event.get_function_calls()
            self._waiting += [each.id for each in calls if each.name == "adk_request_confirmation"]
            for each in event.get_function_responses():
                self.said = str(each.response)


class AdkStreamed(Adk):
    CONFIG = RunConfig(streaming_mode=StreamingMode.SSE)


class FrameworkModel(FunctionInvocationLayer, BaseChatClient):
    """Makes the calls of one answer after the other since the user has said something."""

    def __init__(self, calls):
        super().__init__()
        self._calls = calls

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        if not stream:
            return self._answer(messages)

        async def updates():
            for message in (await self._answer(messages)).messages:
                for content in message.contents:
                    yield ChatResponseUpdate(role="assistant", contents=[content])

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)

    async def _answer(self, messages):
        begun = max(n for n, each in enumerate(messages) if each.role == "user" and each.text)
        turn = sum(each.role == "assistant" for each in messages[begun:])
        asked = self._calls[turn] if turn < len(self._calls) else []
        contents = [Content.from_function_call(call, NAME, arguments=arguments) for call, arguments in asked]
        return ChatResponse(messages=[Message("assistant", contents or ["done"])])


class AgentFramework(Driver):
    """A tool can pause with an approval request of its own, and so does Remit. The session is saved as JSON."""

    KEPT = ("_saved", "_waiting")
    CANNOT: ClassVar = {
        "an approval lets a call through that then pauses twice": "a yes to Remit's pause is the tool's, too",
        "other arguments than were approved are another call": "an approval runs the call as it was",
        "arguments that were edited at the pause are judged": "an approval runs the call as it was",
    }

    def __init__(self, *args):
        self._saved = json.dumps(AgentSession().to_dict())
        super().__init__(*args)

    def _make(self, remit):
        other = self._agent_that(remit, 0) if self._delegates else None
        self._desk = self._agent_that(remit, self._pauses, other)

    def _agent_that(self, remit, pauses, other=None):
        @framework_tool
        async def refund_create(amount: int, ctx: FunctionInvocationContext) -> str:
            """Pay back."""
            if pauses and "approval_response" not in ctx.metadata:
                call, occurrence = (ctx.metadata[name] for name in ("call_id", "function_call_occurrence_id"))
                asked = Content.from_function_call(call, NAME, arguments={"amount": amount}, id=occurrence)
                raise UserInputRequiredException([Content.from_function_approval_request(occurrence, asked)])
            if other is not None:
                await other.run("refund")
            self.ran.append(amount)
            return "paid"

        guard = RemitFunctionMiddleware(remit, self.agent, request_approval=True)
        return FrameworkAgent(FrameworkModel(self.calls), tools=[refund_create], middleware=[guard])

    async def start(self):
        await self._go("refund")

    async def again(self):
        self._saved, said = self._before
        await self._go(said)

    async def resume(self, answer=True):
        answers = [Content.from_dict(each).to_function_approval_response(answer) for each in self._waiting]
        await self._go(Message("user", answers))

    async def refuse(self):
        await self.resume(False)

    async def _go(self, said):
        self._before = self._saved, said
        session = AgentSession.from_dict(json.loads(self._saved))
        read = await self._run(said, session=session)
        self._saved = json.dumps(session.to_dict())
        self._waiting = [each.to_dict() for each in read.user_input_requests]
        results = [each for message in read.messages for each in message.contents if each.type == "function_result"]
        self.said = str(results[-1].result) if results else ""

    async def _run(self, said, **given):
        return await self._desk.run(said, **given)


class AgentFrameworkStreamed(AgentFramework):
    async def _run(self, said, **given):
        return await self._desk.run(said, stream=True, **given).get_final_response()


class LlamaModel(MockLLM):
    """Makes the calls of one answer after the other. read: what it has read of its last call."""

    calls: list = Field(default_factory=list)
    read: str = ""

    def __init__(self, calls):
        super().__init__()
        self.calls = list(calls)

    @property
    def metadata(self):
        return LLMMetadata(is_function_calling_model=True)

    async def achat_with_tools(self, tools, chat_history=None, **kwargs):
        results = [each.content for each in chat_history if each.role == "tool"]
        self.read = results[-1] if results else ""
        return LlamaResponse(message=ChatMessage("done", role="assistant"))

    def get_tool_calls_from_response(self, response, **kwargs):
        asked = self.calls.pop(0) if self.calls else []
        return [ToolSelection(tool_id=call, tool_name=NAME, tool_kwargs=arguments) for call, arguments in asked]


class LlamaIndex(Driver):
    """A tool does not learn which call it runs for."""

    COMES_BACK = False

    def _make(self, remit):
        other = self._tool_that(remit) if self._delegates else None
        self._tool = self._tool_that(remit, other)

    def _tool_that(self, remit, other=None):
        async def refund_create(amount: int) -> str:
            """Pay back."""
            if other is not None:
                await self._run(other)
            self.ran.append(amount)
            return "paid"

        return RemitTool(FunctionTool.from_defaults(refund_create), remit, self.agent)

    async def _run(self, tool):
        model = LlamaModel(self.calls)
        await FunctionAgent(tools=[tool], llm=model, streaming=False).run(user_msg="refund")
        return model.read

    async def start(self):
        self.said = await self._run(self._tool)


DRIVERS = [
    LangGraph,
    LangGraphSync,
    LangGraphStreamed,
    OpenAI,
    OpenAIStreamed,
    Pydantic,
    PydanticStreamed,
    Adk,
    AdkStreamed,
    AgentFramework,
    AgentFrameworkStreamed,
    LlamaIndex,
]
