"""The body of an authorize request: bytes in, one tool call to judge out, in one step of decoding."""

import hashlib
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.errors import Detail, Invalid, PayloadTooLarge
from app.http.bodies import (
    count_keys,
    decode_json,
    keys_written,
    not_json,
    require_readable,
    require_unique_keys,
    two_spellings,
)
from app.model.decisions import AuthorizeRequest, Idempotency
from app.model.fields import AgentId
from app.model.ids import canonical_uuid
from app.model.keys import KEY_TYPE, without_raw_keys
from app.model.redaction import Redactor
from app.model.signer import UNSIGNED, Purpose, Signer
from app.model.text import FieldError, Name, ToolName, require_tool_name, require_visible
from app.validation_messages import explain

MAX_PARAMETERS_BYTES = 64 * 1024
MAX_NAMES = MAX_PARAMETERS_BYTES // 5
"""More names than the parameters have room for: `"":0,` is the shortest."""

MAX_IDEMPOTENCY_KEY = 255
MAX_CONTEXT_BYTES = 16 * 1024
MAX_CONTEXT_DEPTH = 8
_NESTED = frozenset({dict, list})
DEFAULT_ACTION = "authorize"
_KEY_TYPE = KEY_TYPE.encode()


class AuthorizeBody(Struct, frozen=True, kw_only=True):
    """One tool call to judge. Unknown fields are ignored, so that a PEP can send what it has.

    tool_name: The tool that the agent wants to call.
    action: What is attempted, for the log; `authorize` if left out.
    parameters: The call's parameters; up to 64 KiB and 32 levels deep.
    context: What the caller vouches for and the agent cannot choose, such as the user it acts for; up to 16 KiB and
    8 levels deep.
    """

    # Both spellings are fields, because this body is decoded in one step.
    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id", "toolName": "tool_name"}
    required_fields: ClassVar[tuple[str, ...]] = ("agent_id", "tool_name")

    agent_id: AgentId | UnsetType = UNSET
    agentId: str | UnsetType = UNSET  # noqa: N815 - the other spelling
    tool_name: ToolName | UnsetType = UNSET
    toolName: ToolName | UnsetType = UNSET  # noqa: N815 - the other spelling
    action: Name | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AuthorizeBody).decode


def decode_tool_call(
    raw: bytes, idempotency_key: bytes | None, redactor: Redactor, signer: Signer = UNSIGNED
) -> AuthorizeRequest:
    """The tool call that `raw` holds, with its parameters as the log may keep them. Raises Invalid."""
    require_readable(raw)
    if len(raw) > MAX_PARAMETERS_BYTES and raw.count(b":") > MAX_NAMES and keys_written(raw) > MAX_NAMES:
        raise Invalid.at("$", f"holds more than {MAX_NAMES} names")
    try:
        body = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _refused(raw, error) from None
    parameters = {} if body.parameters is UNSET else body.parameters
    context = None if body.context is UNSET or not body.context else body.context
    require_unique_keys(
        raw, _fields_given(body) + count_keys(parameters) + (0 if context is None else count_keys(context))
    )

    agent_id = _one_of(body.agent_id, body.agentId, "agent_id", "agentId")
    tool_name = _one_of(body.tool_name, body.toolName, "tool_name", "toolName")
    action = DEFAULT_ACTION if body.action is UNSET else body.action
    try:
        require_tool_name("tool_name", tool_name)
        require_visible("action", action)
    except FieldError as error:
        raise Invalid.at(f"$.{error.field}", error.message) from None
    canonical = canonical_uuid(agent_id)
    if canonical is None:
        raise Invalid.at("$.agent_id", "must be a UUID")

    if len(raw) > MAX_PARAMETERS_BYTES:
        _require_short(_encode(parameters))  # before every name in them is looked at
    recorded = _recorded(parameters, redactor)
    _require_short(recorded)
    idempotency = None
    if idempotency_key is not None:
        asked = (canonical, tool_name, action, parameters)
        idempotency = _idempotency(idempotency_key, asked if context is None else (*asked, context), signer)
    if context is None:
        return AuthorizeRequest(
            canonical, tool_name, action, parameters, recorded, idempotency, size=len(raw), body=raw
        )
    _require_small(context)
    return AuthorizeRequest(
        canonical,
        tool_name,
        action,
        parameters,
        recorded,
        idempotency,
        context=context,
        recorded_context=_recorded(context, redactor),
        size=len(raw),
        body=raw,
    )


def _recorded(value: dict[str, Any], redactor: Redactor) -> bytes:
    """JSON of it as the log may keep it."""
    recorded = _encode(redactor.redacted(value))
    return without_raw_keys(recorded.decode()).encode() if _KEY_TYPE in recorded else recorded


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
    if len(parameters) > MAX_PARAMETERS_BYTES:
        message = f"have {len(parameters)} bytes as JSON; at most {MAX_PARAMETERS_BYTES} are kept"
        raise PayloadTooLarge(f"$.parameters: {message}", [Detail("$.parameters", message)])


def _idempotency(key: bytes, asked: tuple[Any, ...], signer: Signer) -> Idempotency:
    """The digests of the header and of what is asked; the order of names in an object does not matter."""
    if not (0 < len(key) <= MAX_IDEMPOTENCY_KEY and key.isascii() and key.decode().isprintable()):
        raise Invalid.at("Idempotency-Key", f"must be 1 to {MAX_IDEMPOTENCY_KEY} visible ASCII characters")
    question = msgspec.json.encode(asked, order="deterministic")
    # What is asked holds what redaction keeps out of the log, so nobody may try values on its digest.
    newest, *former = signer.macs(Purpose.QUESTION, question) or [hashlib.sha256(question).hexdigest()]
    return Idempotency(hashlib.sha256(key).hexdigest(), newest, tuple(former))


def _fields_given(body: AuthorizeBody) -> int:
    # Written out, because a loop over the struct costs more than decoding it did.
    return (
        (body.agent_id is not UNSET)
        + (body.agentId is not UNSET)
        + (body.tool_name is not UNSET)
        + (body.toolName is not UNSET)
        + (body.action is not UNSET)
        + (body.parameters is not UNSET)
        + (body.context is not UNSET)
    )


def _one_of(snake: str | UnsetType, camel: str | UnsetType, name: str, alias: str) -> str:
    if snake is UNSET:
        if camel is UNSET:
            raise Invalid.at(f"$.{name}", f"is missing; {alias} will do as well")
        return camel
    if camel is not UNSET and camel != snake:
        raise two_spellings(name, alias)
    return snake


def _refused(raw: bytes, error: Exception) -> Invalid:
    """Why `raw` was not decoded; slow, since it is read again for that."""
    value = decode_json(raw)
    if not isinstance(error, msgspec.ValidationError):
        return not_json(error)
    detail = explain(error, AuthorizeBody, value)
    return Invalid.at(detail.path, detail.message)
