"""/v1/hooks/claude-code: the HTTP hook of a coding agent, called before each of its tools.

The hook's call becomes the body of /v1/authorize, so there is only one way to make, bind and record decisions. Every
answer is 200: the coding agent treats any other status as a failed hook, and then runs the tool unless its settings
have `onFailure`.
"""

from typing import Annotated, ClassVar, Literal

import msgspec
from litestar import asgi
from litestar.types import HTTPScope, Receive, Scope, Send
from msgspec import Meta, Raw, Struct

from app.errors import Invalid
from app.http.answers import JSON, Answer, Header, send_answer
from app.http.api.authorize import AsgiCall, respond
from app.http.bodies import MAX_BODY_BYTES, require_readable
from app.http.methods import not_allowed
from app.http.problems import error_answer
from app.model.decisions import Result
from app.replica import Services

PATH = "/v1/hooks/claude-code"
AGENT = b"x-remit-agent"
EVENT = "PreToolUse"
VOUCHED = ("cwd", "permission_mode", "agent_type")


class HookCall(Struct, frozen=True, kw_only=True):
    """What the coding agent sends before it runs a tool. Fields that are not named here are ignored.

    hook_event_name: `PreToolUse`; other events are not judged here.
    session_id: Becomes `context.session`.
    tool_name: Such as `Bash`, `Write` or `mcp__github__create_issue`.
    tool_input: Becomes the parameters, exactly as written: a key given twice in it is still detected.
    cwd: The folder it works in, as `context.cwd`.
    permission_mode: Its own permission mode, such as `default` or `plan`, as `context.permission_mode`.
    agent_type: The kind of subagent that calls, as `context.agent_type`.
    """

    aliases: ClassVar[dict[str, str]] = {}
    required_fields: ClassVar[tuple[str, ...]] = ()

    hook_event_name: str
    session_id: str
    tool_name: str
    tool_input: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    cwd: str | None = None
    permission_mode: str | None = None
    agent_type: str | None = None


class HookDecision(Struct, frozen=True, kw_only=True, rename="camel"):
    """The decision in the hook's own words.

    hook_event_name: As in the request.
    permission_decision: `ask` if a person must approve; the coding agent then asks its user.
    permission_decision_reason: Why; shown to the model on a denial, to the user when asked.
    """

    hook_event_name: str
    permission_decision: Literal["allow", "deny", "ask"]
    permission_decision_reason: str


class HookAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to the hook.

    hook_specific_output: The part that the coding agent obeys.
    """

    hook_specific_output: HookDecision


class _Judged(Struct, frozen=True, rename="camel"):
    result: Result
    reason: str
    agent_message: str | None = None


class _Error(Struct, frozen=True):
    code: str
    message: str


class _Problem(Struct, frozen=True):
    error: _Error


@asgi(PATH, copy_scope=False)
async def claude_code_hook(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one hook."""
    await answer(scope["litestar_app"].state.services, scope, receive, send)  # type: ignore[arg-type]


async def answer(services: Services, scope: HTTPScope, receive: Receive, send: Send) -> None:
    """The same as `claude_code_hook`, for a caller that has the services."""
    if scope["method"] != "POST":
        return await send_answer(send, error_answer(not_allowed(scope["method"], "OPTIONS, POST")))
    answered = await respond(services, AsgiCall(scope, receive), authorize_body)
    if answered.status == 200:  # noqa: PLR2004 - OK
        judged = _decode_judged(answered.body)
        # The model reads the reason of a denial; the user reads the reason of a request for approval.
        said_to_agent = judged.agent_message if judged.result is Result.DENIED else None
        decision = _WORDS[judged.result], said_to_agent or judged.reason
    else:
        error = _decode_problem(answered.body).error
        decision = "deny", f"Remit has not decided ({error.code}): {error.message}"
    said = HookDecision(hook_event_name=EVENT, permission_decision=decision[0], permission_decision_reason=decision[1])
    kept = [header for header in answered.headers if header[0] not in _OF_THE_BODY]
    return await send_answer(send, Answer(200, [JSON, *kept], _encode(HookAnswer(hook_specific_output=said))))


def authorize_body(raw: bytes, headers: list[Header], max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """The body of /v1/authorize for the hook's call; tool_input is passed on exactly as written.

    Raises Invalid, which the hook's answer reports as a denial.
    """
    agents = [value for name, value in headers if name == AGENT]
    if len(agents) != 1:
        raise Invalid.at("X-Remit-Agent", f"is given {len(agents)} times; exactly one header must name the agent")
    require_readable(raw, max_bytes)
    try:
        call = _decode_call(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Invalid.at("$", f"this is no {EVENT} hook: {error}") from None
    if call.hook_event_name != EVENT:
        raise Invalid.at("$.hook_event_name", f"only {EVENT} is judged; register the hook for that event only")
    context = {"session": call.session_id, "source": "claude-code"}
    context |= {name: value for name in VOUCHED if isinstance(value := getattr(call, name), str)}
    return _encode(
        {
            "agent_id": agents[0].decode("latin-1"),
            "tool_name": call.tool_name,
            "parameters": call.tool_input,
            "context": context,
        }
    )


_WORDS: dict[Result, Literal["allow", "deny", "ask"]] = {
    Result.ALLOWED: "allow",
    Result.DENIED: "deny",
    Result.ESCALATED: "ask",
}
_OF_THE_BODY = {JSON[0], b"www-authenticate", b"retry-after"}
_encode = msgspec.json.Encoder().encode
_decode_call = msgspec.json.Decoder(HookCall).decode
_decode_judged = msgspec.json.Decoder(_Judged).decode
_decode_problem = msgspec.json.Decoder(_Problem).decode
