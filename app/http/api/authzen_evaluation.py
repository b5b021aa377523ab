"""POST /access/v1/evaluation: one question of AuthZEN's Access Evaluation API, answered on the hot path."""

import msgspec

from app.errors import AgentNotFound, AppError, IdempotencyConflict, IdempotencyStale
from app.http.answers import JSON, RawResponse
from app.http.authzen.entities import EvaluationBody, call_of, require_json
from app.http.bodies import require_readable, require_unique_keys
from app.http.endpoint import Endpoint
from app.http.hot_path import Door
from app.http.openapi.described_headers import IDEMPOTENCY_KEY, REPLAYED
from app.http.openapi.examples.authzen import EVALUATION, EVALUATION_ANSWER
from app.http.problems import message_answer
from app.http.tool_calls import MAX_NAMES, Reading, not_a_call
from app.model.api_keys import Scope
from app.model.decisions import AuthorizeRequest
from app.views.evaluations import UNKNOWN_SUBJECT, EvaluationView, encode_evaluation

PATH = "/access/v1/evaluation"

_decode = msgspec.json.Decoder(EvaluationBody).decode


def read_evaluation(raw: bytes, reading: Reading) -> AuthorizeRequest:
    """The tool call that is asked about. Raises Invalid, PayloadTooLarge, AgentNotFound."""
    require_json(reading.headers)
    require_readable(raw, reading.max_bytes, max_names=MAX_NAMES)
    try:
        asked = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_a_call(raw, error, EvaluationBody, reading.max_bytes) from None
    call, keys = call_of(asked, reading)
    require_unique_keys(raw, keys)
    return call


def refuse_evaluation(error: AppError) -> RawResponse:
    """The answer if nothing was decided. An unknown subject is denied: the standard has no error for it."""
    if isinstance(error, AgentNotFound):
        return RawResponse(200, [JSON], msgspec.json.encode(UNKNOWN_SUBJECT))
    return message_answer(error)


EVALUATE = Door(
    Endpoint(
        method="POST",
        path=PATH,
        tag="AuthZEN",
        scopes=(Scope.READ, Scope.AUTHORIZE),
        summary="Evaluate access, as AuthZEN asks for it",
        description=(
            "The Access Evaluation API of AuthZEN 1.0. The decision is `true` only if the call is allowed, and its "
            "entry is in the audit log before the answer is sent. A subject that is not an agent is denied."
        ),
        body=EvaluationBody,
        examples=EVALUATION,
        answer=EvaluationView,
        example=EVALUATION_ANSWER,
        errors=(IdempotencyConflict, IdempotencyStale),
        headers=REPLAYED,
        request_headers=(IDEMPOTENCY_KEY,),
    ),
    read_evaluation,
    encode_evaluation,
    refuse_evaluation,
)
