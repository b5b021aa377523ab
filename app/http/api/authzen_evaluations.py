"""POST /access/v1/evaluations: several questions of AuthZEN's Access Evaluations API."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from litestar import Request, Response
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from app.authorize.batch import Answered, Asked
from app.errors import (
    AgentNotFound,
    AppError,
    IdempotencyConflict,
    IdempotencyStale,
    Invalid,
    LimitReached,
    PayloadTooLarge,
)
from app.http.api.authzen_evaluation import NOT_ERRORS, answer_approval, encode_answer
from app.http.authzen.entities import QUESTION, Action, EvaluationBody, Object, Resource, Subject, call_of, require_json
from app.http.batches import decide_batch, read_batch, repeatable, replayed, require_distinct_names
from app.http.endpoint import JSON, endpoint
from app.http.openapi.described_headers import BATCH_IDEMPOTENCY_KEY, REPLAYED
from app.http.own_fields import own_fields, require_spelled
from app.http.tool_calls import Reading, not_a_call
from app.http.views.evaluations import EvaluationView, encode_evaluation, evaluation_error
from app.model.api_keys import Caller, Scope, without_raw_keys
from app.model.decisions import MAX_CALLS, BatchSemantics, Decision
from app.replica import Services
from app.settings import Settings

PATH = "/access/v1/evaluations"
_ENTITIES = ("subject", "action", "resource", "context")


class EvaluationOptions(Struct, frozen=True, kw_only=True):
    """How the evaluations are executed.

    evaluations_semantic: Which of them are decided; `execute_all` if left out.
    """

    evaluations_semantic: Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"] = "execute_all"


class EvaluationsBody(Struct, frozen=True, kw_only=True):
    """Several questions. Without `evaluations`, a single one. Fields that are not named here are ignored.

    subject: Of every evaluation that has none.
    action: Of every evaluation that has none.
    resource: Of every evaluation that has none.
    context: Of every evaluation that has none.
    evaluations: The questions; each may have its own entities, which replace those beside this list as a whole.
    options: How they are executed.
    """

    aliases: ClassVar[dict[str, str]] = {}
    required_fields: ClassVar[tuple[str, ...]] = ()

    subject: Subject | UnsetType = UNSET
    action: Action | UnsetType = UNSET
    resource: Resource | UnsetType = UNSET
    context: Object | UnsetType = UNSET
    evaluations: Annotated[list[Object], Meta(max_length=MAX_CALLS)] | UnsetType = UNSET
    options: EvaluationOptions | UnsetType = UNSET


class EvaluationsView(Struct, frozen=True, kw_only=True):
    """The decisions; a request without evaluations is answered with an `EvaluationView` by itself.

    evaluations: In the order of the request; fewer if its semantic ends it early.
    """

    evaluations: list[EvaluationView]


class _Given(Struct, frozen=True):
    """The entities of a body or of one evaluation, as written."""

    subject: Raw | UnsetType = UNSET
    action: Raw | UnsetType = UNSET
    resource: Raw | UnsetType = UNSET
    context: Raw | UnsetType = UNSET


class _Batch(Struct, frozen=True):
    calls: list[Asked]
    semantics: BatchSemantics
    is_single: bool


_FIELDS = own_fields(
    "context", **QUESTION, evaluations=own_fields("context", **QUESTION), options=own_fields("evaluations_semantic")
)
_decode = msgspec.json.Decoder(EvaluationsBody).decode
_decode_given = msgspec.json.Decoder(_Given).decode
_decode_one = msgspec.json.Decoder(EvaluationBody).decode


@endpoint(
    "POST",
    PATH,
    tag="AuthZEN",
    scopes=(Scope.READ, Scope.AUTHORIZE),
    body=EvaluationsBody,
    answer=EvaluationsView | EvaluationView,
    errors=(IdempotencyConflict, IdempotencyStale, LimitReached),
    headers=REPLAYED,
    request_headers=(BATCH_IDEMPOTENCY_KEY,),
)
async def evaluations(request: Request[Any, Any, Any], caller: Caller, services: Services) -> Response[bytes]:
    """Evaluate access several times, as AuthZEN asks for it.

    The Access Evaluations API of AuthZEN 1.0. An evaluation that cannot be decided is `false`, with `context.error`;
    the others are decided all the same.
    """
    batch = await read_batch(request, caller, services, _read)
    answers = await decide_batch(request, caller, services, batch.calls, batch.semantics)
    if batch.is_single:
        if isinstance(answers[0], AppError) and not isinstance(answers[0], NOT_ERRORS):
            raise answers[0]
        body = _encoded(batch.calls[0], answers[0], services.settings)
        return Response(body, media_type=JSON, headers=replayed(answers))
    encoded = (_encoded(call, answer, services.settings) for call, answer in zip(batch.calls, answers, strict=False))
    body = b'{"evaluations":[%b]}' % b",".join(encoded)
    return Response(body, media_type=JSON, headers=replayed(answers))


def _read(raw: bytes, reading: Reading) -> _Batch:
    """The questions as tool calls, or in the place of one that is none, its error. Raises Invalid, PayloadTooLarge."""
    require_json(reading.headers)
    require_spelled(require_distinct_names(raw, reading), _FIELDS)
    try:
        body, defaults = _decode(raw), _decode_given(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_a_call(raw, error, EvaluationsBody, reading.settings.call_bytes_max) from None
    options = EvaluationOptions() if body.options is UNSET else body.options
    if body.evaluations is UNSET or not body.evaluations:
        try:
            calls = [_call(_given_in(defaults, None), reading)]
        except AgentNotFound as error:
            calls = [error]
        return _Batch(repeatable(calls, BatchSemantics.EXECUTE_ALL), BatchSemantics.EXECUTE_ALL, is_single=True)
    semantics = BatchSemantics(options.evaluations_semantic)
    calls = [_asked(each, defaults, reading) for each in body.evaluations]
    return _Batch(repeatable(calls, semantics), semantics, is_single=False)


def _asked(evaluation: Raw, defaults: _Given, reading: Reading) -> Asked:
    try:
        return _call(_given_in(defaults, evaluation), reading)
    except (Invalid, PayloadTooLarge, AgentNotFound) as error:
        return error


def _given_in(defaults: _Given, evaluation: Raw | None) -> bytes:
    """The whole question: each entity as the evaluation has it, or else as the body has it."""
    try:
        own = _Given() if evaluation is None else _decode_given(evaluation)
    except msgspec.MsgspecError:
        raise Invalid.at("$", "an evaluation is an object") from None
    fields = []
    for name in _ENTITIES:
        given = getattr(own, name)
        given = getattr(defaults, name) if given is UNSET else given
        if given is not UNSET:
            fields.append(b'"%b":%b' % (name.encode(), given))
    return b"{%b}" % b",".join(fields)


def _call(question: bytes, reading: Reading) -> Asked:
    try:
        asked = _decode_one(question)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_a_call(question, error, EvaluationBody, reading.settings.call_bytes_max) from None
    return call_of(asked, reading, len(question))[0]


def _encoded(call: Asked, answer: Answered, settings: Settings) -> bytes:
    if isinstance(answer, NOT_ERRORS):
        return encode_answer(answer)
    if isinstance(answer, Decision):
        if isinstance(call, AppError) or (answer.approval is None and not call.approval_id):
            return encode_evaluation(answer)
        return answer_approval(answer, call, settings)
    return msgspec.json.encode(evaluation_error(answer.status, without_raw_keys(answer.message)))
