"""POST /v1/authorize/batch: several calls decided in one request."""

from typing import Annotated, Any, ClassVar

import msgspec
from litestar import Request, Response
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from app.authorize.batch import Answered, Asked
from app.errors import AppError, BatchTooLarge, IdempotencyConflict, IdempotencyStale, Invalid, LimitReached
from app.http.api.authorize import read_call
from app.http.batches import MAX_NESTED, decide_batch, read_batch, repeatable, replayed
from app.http.bodies import keys_written, require_readable, require_unique_keys
from app.http.endpoint import JSON, endpoint
from app.http.openapi.described_headers import BATCH_IDEMPOTENCY_KEY, REPLAYED
from app.http.own_fields import own_fields
from app.http.problems import Problem
from app.http.tool_calls import Reading, not_a_call
from app.http.views.decisions import DecisionView, encode_decision
from app.model.api_keys import Caller, Scope
from app.model.decisions import MAX_CALLS, AuthorizeRequest, BatchSemantics, Decision
from app.replica import Services
from app.validation_messages import visible

_Call = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/AuthorizeBody"})]


class AuthorizeBatch(Struct, frozen=True, kw_only=True):
    """Calls to judge. Unknown fields are ignored.

    calls: Each as in `POST /v1/authorize`.
    semantics: Which of them are decided; `execute_all` if left out.
    """

    aliases: ClassVar[dict[str, str]] = {}
    required_fields: ClassVar[tuple[str, ...]] = ("calls",)

    calls: Annotated[list[_Call], Meta(min_length=1, max_length=MAX_CALLS)]
    semantics: BatchSemantics | UnsetType = UNSET


class BatchResult(Struct, frozen=True, kw_only=True):
    """The answer to one call of a batch: one of the two.

    decision: The decision, as `POST /v1/authorize` answers it; its entry is in the audit log.
    error: Why there is none for this call.
    """

    decision: DecisionView | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class BatchResults(Struct, frozen=True, kw_only=True):
    """The answers to a batch.

    results: In the order of the calls; fewer than these if the semantics end the batch early.
    """

    results: list[BatchResult]


_decode = msgspec.json.Decoder(AuthorizeBatch).decode
_FIELDS = own_fields(*AuthorizeBatch.__struct_fields__)


@endpoint(
    "POST",
    "/v1/authorize/batch",
    tag="Decisions",
    scopes=(Scope.READ, Scope.AUTHORIZE),
    body=AuthorizeBatch,
    answer=BatchResults,
    errors=(BatchTooLarge, IdempotencyConflict, IdempotencyStale, LimitReached),
    headers=REPLAYED,
    request_headers=(BATCH_IDEMPOTENCY_KEY,),
)
async def authorize_batch(request: Request[Any, Any, Any], caller: Caller, services: Services) -> Response[bytes]:
    """Ask whether agents may make several calls.

    Up to 1,000 calls, each decided as by `POST /v1/authorize`, with its own entry in the audit log. Limits and budgets
    count across the calls of a batch exactly as if they had been asked one after the other. `all_or_nothing` takes up
    to 128 calls.
    """
    calls, semantics = await read_batch(request, caller, services, _read)
    answers = await decide_batch(request, caller, services, calls, semantics)
    body = b'{"results":[%b]}' % b",".join(map(_encoded, answers))
    return Response(body, media_type=JSON, headers=replayed(answers))


def _read(raw: bytes, reading: Reading) -> tuple[list[Asked], BatchSemantics]:
    """The calls and their semantics. Raises Invalid, PayloadTooLarge."""
    require_readable(raw, reading.settings.call_bytes_max, MAX_NESTED)
    try:
        batch = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_a_call(raw, error, AuthorizeBatch, reading.settings.call_bytes_max) from None
    own = 1 + (batch.semantics is not UNSET)
    require_unique_keys(raw, own + sum(keys_written(bytes(call)) for call in batch.calls), _FIELDS)
    calls = list[AuthorizeRequest]()
    for index, call in enumerate(batch.calls):
        try:
            calls.append(read_call(bytes(call), reading))
        except Invalid as error:
            detail = error.details[0]
            raise Invalid.at(f"$.calls[{index}]{detail.path.removeprefix('$')}", detail.message) from None
    semantics = BatchSemantics.EXECUTE_ALL if batch.semantics is UNSET else batch.semantics
    return repeatable(calls, semantics), semantics


def _encoded(answer: Answered) -> bytes:
    if isinstance(answer, Decision):
        return b'{"decision":%b}' % encode_decision(answer)
    return msgspec.json.encode(BatchResult(error=_problem(answer)))


def _problem(error: AppError) -> Problem:
    return Problem(error.code, visible(error.message), error.details)
