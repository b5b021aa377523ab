"""Tool calls from the bodies of requests: what every door checks, records and identifies alike."""

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct, field

from app.errors import Detail, Invalid, PayloadTooLarge
from app.http.answers import Header
from app.http.bodies import decode_json, not_json
from app.model.agents import REFERENCE_RULES, agent_reference
from app.model.api_keys import KEY_SESSION, Caller
from app.model.constraints import MAX_REQUEST_BYTES, REQUEST
from app.model.decisions import AuthorizeRequest, Idempotency
from app.model.text import FieldError, Name, ToolName, require_tool_name, require_visible
from app.redaction.recording import MAX_RECORDED_BYTES, recorded, recorded_request
from app.redaction.redactor import Redactor
from app.redaction.signer import UNSIGNED, Purpose, Signer
from app.redaction.work import MAX_SHORTENED, TooMuchWork, Work
from app.replica import Decisions
from app.settings import Settings
from app.validation_messages import explain

MAX_NAMES = MAX_RECORDED_BYTES // 8
"""Each name is examined, which takes up to 5 µs; an entry has room for as many of two letters: `"ab":0,`."""

MAX_IDEMPOTENCY_KEY = 255
MAX_CONTEXT_BYTES = 16 * 1024
MAX_CONTEXT_DEPTH = 8
_RESERVED = f"must not begin with `{KEY_SESSION}`: only calls of a key with `sessionFrom` are in such a session"
_NESTED = frozenset({dict, list})
_encode = msgspec.json.Encoder().encode


class Reading(Struct, frozen=True, gc=False):
    """The inputs of reading a call, besides its body.

    workspace_id: of the caller; the MACs in the log are its own. idempotency_key: the header's value, None if it was
    not sent. agents: ids of the only agents that the key may ask about; None
    = all. work: what redaction may still do for the request, all calls of a batch together.
    """

    redactor: Redactor
    workspace_id: str
    signer: Signer = UNSIGNED
    settings: Settings = Settings()
    idempotency_key: bytes | None = None
    headers: Sequence[Header] = ()
    agents: frozenset[str] | None = None
    work: Work = field(default_factory=Work)


def reading_of(
    decisions: Decisions, caller: Caller, headers: Sequence[Header], idempotency_key: bytes | None = None
) -> Reading:
    """What every question of this caller is read with, however it is asked."""
    return Reading(
        decisions.redactor,
        caller.workspace_id,
        decisions.signer,
        settings=decisions.settings,
        idempotency_key=idempotency_key,
        headers=headers,
        agents=caller.agents,
    )


class _Names(Struct):
    tool_name: ToolName
    action: Name


def tool_call(
    written: bytes | Callable[[], bytes],
    size: int,
    reading: Reading,
    *,
    agent_id: str,
    tool_name: str,
    action: str,
    parameters: dict[str, Any],
    context: dict[str, Any] | None,
    approval_id: str = "",
    agent_type: str = "",
    recorded_context: bytes | None = None,
) -> AuthorizeRequest:
    """The call, with the parts that the log may keep. Raises Invalid or PayloadTooLarge.

    written: a JSON object with `parameters` and `context` as the caller wrote them; no key in it occurs twice.
    size: an upper bound of its size, in bytes.
    agent_id: an id or an alias. agent_type: "" = an agent of any type. context: None if it is empty.
    recorded_context: of a small context, if it is known already.
    """
    _require_names(tool_name, action)
    called = agent_reference(agent_id)
    if called is None:
        raise Invalid.at("$.agent_id", REFERENCE_RULES)
    is_large = size > MAX_RECORDED_BYTES
    if is_large:
        _require_short_names(parameters)  # before each of them is examined
    recorded_parameters = _recorded("parameters", parameters, reading, is_large=is_large)
    if len(recorded_parameters) > MAX_RECORDED_BYTES:
        raise _too_much(f"have {len(recorded_parameters)} bytes as JSON even with long texts shortened")
    idempotency = None
    if reading.idempotency_key is not None:
        question: tuple[Any, ...] = (called, tool_name, action, parameters)
        if approval_id:
            question = (*question, context, approval_id)
        elif context is not None:
            question = (*question, context)
        idempotency = idempotency_of(reading.idempotency_key, question, reading.signer)
    if context is not None:
        _require_no_key_session(context)
    if recorded_context is None:
        recorded_context = b""
        if context is not None:
            recorded_context = _recorded_context(context, reading)
    return AuthorizeRequest(
        called,
        tool_name,
        action,
        parameters,
        recorded_parameters,
        idempotency=idempotency,
        context=context,
        recorded_context=recorded_context,
        size=size,
        written=written,
        approval_id=approval_id,
        agent_type=agent_type,
    )


def not_a_call(raw: bytes, error: Exception, kind: type[Struct], max_bytes: int) -> Invalid:
    """The reason why `raw` could not be decoded as `kind`. Slow, because `raw` is parsed again to find it."""
    value = decode_json(raw, max_bytes)
    if not isinstance(error, msgspec.ValidationError):
        return not_json(error)
    detail = explain(error, kind, value)
    return Invalid.at(detail.path, detail.message)


@lru_cache(maxsize=4096)
def _require_names(tool_name: str, action: str) -> None:
    """Raise Invalid unless both names are of a valid length and visible. Common names are checked in one step."""
    named = {"tool_name": tool_name, "action": action}
    try:
        msgspec.convert(named, _Names)
        require_tool_name("tool_name", tool_name)
        require_visible("action", action)
    except msgspec.ValidationError as error:
        detail = explain(error, _Names, named)
        raise Invalid.at(detail.path, detail.message) from None
    except FieldError as error:
        raise Invalid.at(f"$.{error.field}", error.message) from None


def _require_no_key_session(context: dict[str, Any]) -> None:
    session = context.get("session")
    if type(session) is str and session.startswith(KEY_SESSION):
        raise Invalid.at("$.context.session", _RESERVED)


def _recorded_context(context: dict[str, Any], reading: Reading) -> bytes:
    """The context as the log keeps it: of the user's request, only a MAC. Raises PayloadTooLarge."""
    request = context.get(REQUEST)
    if type(request) is not str or reading.redactor.is_secret(REQUEST):
        _require_small(context)
        return _recorded("context", context, reading)
    size = len(request.encode())
    if size > MAX_REQUEST_BYTES:
        raise PayloadTooLarge(f"$.context.{REQUEST} has {size} bytes; at most {MAX_REQUEST_BYTES} are taken")
    others = {name: value for name, value in context.items() if name != REQUEST}
    _require_small(others)
    kept = _encode({REQUEST: recorded_request(request, reading.signer, reading.workspace_id)})
    return kept[:-1] + b"," + _recorded("context", others, reading)[1:] if others else kept


def _require_small(context: dict[str, Any]) -> None:
    size = len(_encode(context))
    if size > MAX_CONTEXT_BYTES:
        raise PayloadTooLarge(f"$.context has {size} bytes as JSON; at most {MAX_CONTEXT_BYTES} are taken")
    level: list[Any] = [context]
    for _ in range(MAX_CONTEXT_DEPTH):
        insides = (value.values() if type(value) is dict else value for value in level)
        level = [inner for inside in insides for inner in inside if type(inner) in _NESTED]
        if not level:
            return
    raise Invalid.at("$.context", f"values are nested more than {MAX_CONTEXT_DEPTH} levels deep")


def _recorded(name: str, value: dict[str, Any], reading: Reading, *, is_large: bool = False) -> bytes:
    """The parameters or the context as the log keeps them. Raises PayloadTooLarge."""
    try:
        return recorded(
            value, reading.redactor, reading.signer, reading.workspace_id, is_large=is_large, work=reading.work
        )
    except TooMuchWork:
        message = f"more than {MAX_SHORTENED} strings would have to be shortened for the log"
        raise PayloadTooLarge(f"$.{name}: {message}", [Detail(f"$.{name}", message)]) from None


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


def idempotency_of(key: bytes, question: Any, signer: Signer) -> Idempotency:
    """The digests of the header and of the request; the order of names in an object does not matter."""
    if not (0 < len(key) <= MAX_IDEMPOTENCY_KEY and key.isascii() and key.decode().isprintable()):
        raise Invalid.at("Idempotency-Key", f"must be 1 to {MAX_IDEMPOTENCY_KEY} visible ASCII characters")
    encoded = msgspec.json.encode(question, order="deterministic")
    # The request includes what redaction keeps out of the log, so its digest must not allow guessing values.
    newest, *former = signer.macs(Purpose.QUESTION, encoded) or [hashlib.sha256(encoded).hexdigest()]
    return Idempotency(hashlib.sha256(key).hexdigest(), newest, tuple(former))
