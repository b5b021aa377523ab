"""POST /v1/hooks/claude-code: the HTTP hook of a coding agent, called before each of its tools.

Every answer is 200: the coding agent treats any other status as a failed hook, and then runs the tool unless its
settings have `onFailure`.
"""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from app.errors import (
    AgentNotFound,
    ApiKeyExpired,
    AppError,
    InsufficientScope,
    Invalid,
    StoreUnavailable,
    Unauthorized,
)
from app.http.answers import JSON, RawResponse
from app.http.bodies import count_keys, require_readable, require_unique_keys
from app.http.endpoint import Endpoint
from app.http.hot_path import Door
from app.http.openapi.described_headers import HOOK_AGENT, HOOK_ALLOWED, HOOK_PROJECT
from app.http.own_fields import own_fields, require_spelled
from app.http.problems import headers_of
from app.http.tool_calls import MAX_NAMES, Reading, not_a_call, tool_call
from app.model.api_keys import Scope, without_raw_keys
from app.model.decisions import DEFAULT_ACTION, AuthorizeRequest, Decision, Result
from app.settings import Settings

AGENT = b"x-remit-agent"
PROJECT = b"x-remit-project"
ALLOWED = b"x-remit-allowed"
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


class HookAnswer(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The answer to the hook.

    hook_specific_output: The part that the coding agent obeys. Left out if the call is allowed and the request says
    `X-Remit-Allowed: continue`: its own permissions then decide.
    """

    hook_specific_output: HookDecision | None = None


def read_hook(raw: bytes, reading: Reading) -> AuthorizeRequest:
    """The hook's call as a tool call. Raises Invalid, which the hook's answer reports as a denial."""
    agents = [value for name, value in reading.headers if name == AGENT]
    if len(agents) != 1:
        found = "is missing" if not agents else f"is given {len(agents)} times"
        raise Invalid.at("X-Remit-Agent", f"{found}; one header must name the agent, from REMIT_AGENT")
    require_readable(raw, reading.settings.call_bytes_max, max_names=MAX_NAMES)
    try:
        call, given = _decode_call(raw), msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Invalid.at("$", f"this is no {EVENT} hook: {error}") from None
    require_unique_keys(raw, count_keys(given))
    require_spelled(given, _FIELDS)
    if call.hook_event_name != EVENT:
        raise Invalid.at("$.hook_event_name", f"only {EVENT} is judged; register the hook for that event only")
    context = {"session": call.session_id, "source": "claude-code"}
    if project := _header(reading, PROJECT, "one header may name the project's folder"):
        context["project"] = project
    if allowed := _header(reading, ALLOWED, "one header may say what follows a yes"):
        if allowed not in ("allow", "continue"):
            raise Invalid.at("X-Remit-Allowed", f'is "{allowed}"; it may be "allow" or "continue"')
        context["allowed"] = allowed
    context |= {name: value for name in VOUCHED if isinstance(value := getattr(call, name), str)}
    body = b'{"parameters":%b,"context":%b}' % (call.tool_input, _encode(context))
    try:
        parameters = _decode_parameters(body).parameters
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_a_call(body, error, _Parameters, reading.settings.call_bytes_max) from None
    agent = agents[0].decode("latin-1")
    return tool_call(
        body,
        len(body),
        reading,
        agent_id=agent,
        tool_name=call.tool_name,
        action=DEFAULT_ACTION,
        parameters=parameters,
        context=context,
    )


def _header(reading: Reading, header: bytes, most: str) -> str:
    """What the hook's settings say in a header, or "". Raises Invalid."""
    values = [value for name, value in reading.headers if name == header]
    name = header.decode().title()
    if len(values) > 1:
        raise Invalid.at(name, f"is given more than once; {most}")
    try:
        return values[0].decode() if values else ""
    except UnicodeDecodeError:
        raise Invalid.at(name, "is not UTF-8") from None


def answer_hook(decision: Decision) -> bytes:
    """The decision in the hook's words. The model reads the reason of a denial, the user that of a question."""
    outcome = decision.outcome
    to_agent = decision.agent_message if outcome.result is Result.DENIED else None
    return _encoded_decision(_WORDS[outcome.result], to_agent or outcome.reason)


def _answer_to(decision: Decision, request: AuthorizeRequest, _: Settings) -> bytes:
    is_allowed = decision.outcome.result is Result.ALLOWED
    if is_allowed and request.context is not None and request.context.get("allowed") == "continue":
        return _NOTHING_TO_SAY
    return answer_hook(decision)


def refuse_hook(error: AppError) -> RawResponse:
    """A denial, with status 200: the coding agent would run the tool after any other. It says what a person can run."""
    kept = [header for header in headers_of(error) if header[0] not in _OF_A_STATUS]
    run = _RUN.get(error.code)
    said = f"{error.message}. For whoever set this hook up: {run}" if run else error.message
    reason = without_raw_keys(f"Remit has not decided ({error.code}): {said}")
    return RawResponse(200, [JSON, *kept], _encoded_decision("deny", reason))


def _encoded_decision(word: Literal["allow", "deny", "ask"], reason: str) -> bytes:
    decision = HookDecision(hook_event_name=EVENT, permission_decision=word, permission_decision_reason=reason)
    return _encode(HookAnswer(hook_specific_output=decision))


class _Parameters(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {}
    required_fields: ClassVar[tuple[str, ...]] = ()

    parameters: dict[str, Any]


_WORDS: dict[Result, Literal["allow", "deny", "ask"]] = {
    Result.ALLOWED: "allow",
    Result.DENIED: "deny",
    Result.ESCALATED: "ask",
}
_NEW_KEY = "start it with REMIT_API_KEY from `remit keys create --scope authorize --agent $REMIT_AGENT --raw`"
_RUN = {
    Unauthorized.code: _NEW_KEY,
    ApiKeyExpired.code: _NEW_KEY,
    InsufficientScope.code: _NEW_KEY,
    AgentNotFound.code: "`remit agents list` shows all, `remit agents create NAME --alias $REMIT_AGENT` creates it",
    StoreUnavailable.code: "`remit doctor` says what is wrong",
}
"""What to run, by the code of a refusal."""
_OF_A_STATUS = {b"www-authenticate", b"retry-after"}
_encode = msgspec.json.Encoder().encode
_NOTHING_TO_SAY = _encode(HookAnswer())
_FIELDS = own_fields(*HookCall.__struct_fields__)
_decode_call = msgspec.json.Decoder(HookCall).decode
_decode_parameters = msgspec.json.Decoder(_Parameters).decode

CLAUDE_CODE = Door(
    Endpoint(
        method="POST",
        path="/v1/hooks/claude-code",
        tag="Decisions",
        scopes=(Scope.READ, Scope.AUTHORIZE),
        summary="Answer a coding agent's hook",
        description=(
            "Takes the PreToolUse hook of Claude Code as it is sent over HTTP and answers in its format: `allow`, "
            "`deny`, or `ask` where the call is escalated. With `X-Remit-Allowed: continue` it says nothing about what "
            "is allowed, so that its own permissions decide. Every answer is 200, a refusal or a fault being a denial "
            "that says why, because a coding agent without `onFailure` runs the tool after any other."
        ),
        body=HookCall,
        answer=HookAnswer,
        request_headers=(HOOK_AGENT, HOOK_PROJECT, HOOK_ALLOWED),
        always=True,
    ),
    read_hook,
    answer_hook,
    refuse_hook,
    _answer_to,
)
