"""The body of an authorize request: from bytes to one tool call to judge, in one decoding step."""

import hashlib
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.errors import Detail, Invalid, PayloadTooLarge
from app.http.agent_references import REFERENCE_RULES, agent_reference
from app.http.bodies import (
    count_keys,
    decode_json,
    keys_written,
    not_json,
    require_readable,
    require_unique_keys,
    two_spellings,
)
from app.model.agents import AgentRef
from app.model.decisions import AuthorizeRequest, Idempotency
from app.model.fields import Uuid
from app.model.ids import canonical_uuid
from app.model.text import FieldError, Name, ToolName, require_tool_name, require_visible
from app.redaction.recording import recorded
from app.redaction.redactor import Redactor
from app.redaction.signer import UNSIGNED, Purpose, Signer
from app.validation_messages import explain

MAX_CALL_BYTES = (1024 + 16) * 1024
"""Room for a parameter of 1 MiB and what surrounds it."""
MAX_RECORDED_BYTES = 64 * 1024
"""For the parameters as logged."""

MAX_NAMES = MAX_RECORDED_BYTES // 5
"""More names than fit into an entry: `"":0,` is the shortest."""

MAX_IDEMPOTENCY_KEY = 255
MAX_CONTEXT_BYTES = 16 * 1024
MAX_CONTEXT_DEPTH = 8
_NESTED = frozenset({dict, list})
DEFAULT_ACTION = "authorize"


class AuthorizeBody(Struct, frozen=True, kw_only=True):
    """One tool call to judge. Unknown fields are ignored, so a PEP can send what it has.

    tool_name: The tool that the agent wants to call.
    action: The attempted action, for the log; `authorize` if left out.
    parameters: The call's parameters, up to 32 levels deep. Their size is limited only by the body's, 1040 KiB unless
    configured otherwise; the entry keeps up to 64 KiB, and only the beginning of strings beyond 2 KiB.
    context: What the caller vouches for and the agent cannot choose, such as the user it acts for; up to 16 KiB and 8
    levels deep.
    approval_id: The approval that an earlier answer to this call named. If the call still needs approval, only this one
    can let it through, and no new one is requested: 409 `APPROVAL_MISMATCH` if it is not this call's or no longer open.
    """

    # Both spellings are fields, because this body is decoded in one step.
    aliases: ClassVar[dict[str, str]] = {
        "agentId": "agent_id",
        "toolName": "tool_name",
        "approvalId": "approval_id",
    }
    required_fields: ClassVar[tuple[str, ...]] = ("agent_id", "tool_name")

    agent_id: AgentRef | UnsetType = UNSET
    agentId: str | UnsetType = UNSET  # noqa: N815 - the other spelling
    tool_name: ToolName | UnsetType = UNSET
    toolName: ToolName | UnsetType = UNSET  # noqa: N815 - the other spelling
    action: Name | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET
    approval_id: Uuid | UnsetType = UNSET
    approvalId: Uuid | UnsetType = UNSET  # noqa: N815 - the other spelling


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AuthorizeBody).decode


def decode_tool_call(
    raw: bytes,
    idempotency_key: bytes | None,
    redactor: Redactor,
    signer: Signer = UNSIGNED,
    max_bytes: int = MAX_CALL_BYTES,
) -> AuthorizeRequest:
    """The tool call in `raw`, and what the log may keep of it. Raises Invalid or PayloadTooLarge."""
    require_readable(raw, max_bytes)
    if len(raw) > MAX_RECORDED_BYTES and raw.count(b":") > MAX_NAMES and keys_written(raw) > MAX_NAMES:
        raise Invalid.at("$", f"holds more than {MAX_NAMES} names")
    try:
        body = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _refused(raw, error, max_bytes) from None
    parameters = {} if body.parameters is UNSET else body.parameters
    context = None if body.context is UNSET or not body.context else body.context
    require_unique_keys(
        raw, _fields_given(body) + count_keys(parameters) + (0 if context is None else count_keys(context))
    )

    agent_id = _one_of(body.agent_id, body.agentId, "agent_id", "agentId")
    tool_name = _one_of(body.tool_name, body.toolName, "tool_name", "toolName")
    action = DEFAULT_ACTION if body.action is UNSET else body.action
    _require_names(tool_name, action)
    called = agent_reference(agent_id)
    if called is None:
        raise Invalid.at("$.agent_id", REFERENCE_RULES)
    approval_id = "" if body.approval_id is UNSET and body.approvalId is UNSET else _approval_named(body)

    is_large = len(raw) > MAX_RECORDED_BYTES
    if is_large:
        _require_short_names(parameters)  # before each of them is examined
    recorded_parameters = recorded(parameters, redactor, signer, is_large=is_large)
    _require_short(recorded_parameters)
    idempotency = None
    if idempotency_key is not None:
        asked: tuple[Any, ...] = (called, tool_name, action, parameters)
        if approval_id:
            asked = (*asked, context, approval_id)
        elif context is not None:
            asked = (*asked, context)
        idempotency = _idempotency(idempotency_key, asked, signer)
    recorded_context = b""
    if context is not None:
        _require_small(context)
        recorded_context = recorded(context, redactor, signer)
    return AuthorizeRequest(
        called,
        tool_name,
        action,
        parameters,
        recorded_parameters,
        idempotency,
        context,
        recorded_context,
        size=len(raw),
        body=raw,
        approval_id=approval_id,
    )


@lru_cache(maxsize=4096)
def _require_names(tool_name: str, action: str) -> None:
    """Raise Invalid unless every character of both names is visible. Common names are checked in one step."""
    try:
        require_tool_name("tool_name", tool_name)
        require_visible("action", action)
    except FieldError as error:
        raise Invalid.at(f"$.{error.field}", error.message) from None


def _require_small(context: dict[str, Any]) -> None:
    size = len(_encode(context))
    if size > MAX_CONTEXT_BYTES:
        raise PayloadTooLarge(f"$.context has {size} bytes as JSON; at most {MAX_CONTEXT_BYTES} are taken")
    level: list[Any] = [context]
    for _ in range(MAX_CONTEXT_DEPTH):
        insides = (each.values() if type(each) is dict else each for each in level)
        level = [inner for inside in insides for inner in inside if type(inner) in _NESTED]
        if not level:
            return
    raise Invalid.at("$.context", f"values are nested more than {MAX_CONTEXT_DEPTH} levels deep")


def _require_short(parameters: bytes) -> None:
    if len(parameters) > MAX_RECORDED_BYTES:
        raise _too_much(f"have {len(parameters)} bytes as JSON even with long texts shortened")


def _require_short_names(parameters: dict[str, Any]) -> None:
    size = _size_of_names(parameters)
    if size > MAX_RECORDED_BYTES:
        raise _too_much(f"have names of {size} bytes as JSON")


def _size_of_names(value: Any) -> int:
    """A lower bound of the size of all names in it as JSON, in bytes."""
    if type(value) is dict:
        return sum(map(len, value)) + sum(_size_of_names(inner) for inner in value.values() if type(inner) in _NESTED)
    return sum(_size_of_names(inner) for inner in value if type(inner) in _NESTED)


def _too_much(has: str) -> PayloadTooLarge:
    message = f"{has}; at most {MAX_RECORDED_BYTES} are kept"
    return PayloadTooLarge(f"$.parameters: {message}", [Detail("$.parameters", message)])


def _idempotency(key: bytes, asked: tuple[Any, ...], signer: Signer) -> Idempotency:
    """The digests of the header and of the request; the order of names in an object does not matter."""
    if not (0 < len(key) <= MAX_IDEMPOTENCY_KEY and key.isascii() and key.decode().isprintable()):
        raise Invalid.at("Idempotency-Key", f"must be 1 to {MAX_IDEMPOTENCY_KEY} visible ASCII characters")
    question = msgspec.json.encode(asked, order="deterministic")
    # The request includes what redaction keeps out of the log, so its digest must not allow guessing values.
    newest, *former = signer.macs(Purpose.QUESTION, question) or [hashlib.sha256(question).hexdigest()]
    return Idempotency(hashlib.sha256(key).hexdigest(), newest, tuple(former))


def _fields_given(body: AuthorizeBody) -> int:
    # Written out, because a loop over the struct would cost more than decoding it does.
    given = [
        body.agent_id,
        body.agentId,
        body.tool_name,
        body.toolName,
        body.action,
        body.parameters,
        body.context,
        body.approval_id,
        body.approvalId,
    ]
    return len(given) - given.count(UNSET)


def _one_of(snake: str | UnsetType, camel: str | UnsetType, name: str, alias: str) -> str:
    if snake is UNSET:
        if camel is UNSET:
            raise Invalid.at(f"$.{name}", f"is missing; {alias} is accepted, too")
        return camel
    if camel is not UNSET and camel != snake:
        raise two_spellings(name, alias)
    return snake


def _approval_named(body: AuthorizeBody) -> str:
    given = _one_of(body.approval_id, body.approvalId, "approval_id", "approvalId")
    approval_id = canonical_uuid(given)
    if approval_id is None:
        raise Invalid.at("$.approval_id", "must be an approval's id, a UUID")
    return approval_id


def _refused(raw: bytes, error: Exception, max_bytes: int) -> Invalid:
    """Why `raw` was not decoded; slow, because it is parsed again to find out."""
    value = decode_json(raw, max_bytes)
    if not isinstance(error, msgspec.ValidationError):
        return not_json(error)
    detail = explain(error, AuthorizeBody, value)
    return Invalid.at(detail.path, detail.message)
