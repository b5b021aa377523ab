"""POST /access/v1/evaluation: one question of AuthZEN's Access Evaluation API, answered on the hot path."""

import msgspec

from app.errors import (
    AgentNotFound,
    AppError,
    ApprovalMismatch,
    IdempotencyConflict,
    IdempotencyStale,
    TooManyMismatches,
)
from app.http.answers import JSON, RawResponse
from app.http.authzen.entities import QUESTION, EvaluationBody, call_of, require_json
from app.http.bodies import require_readable, require_unique_keys
from app.http.endpoint import Endpoint
from app.http.hot_path import Door
from app.http.openapi.described_headers import IDEMPOTENCY_KEY, REPLAYED
from app.http.own_fields import own_fields
from app.http.problems import message_answer
from app.http.tool_calls import MAX_NAMES, Reading, not_a_call
from app.http.views.evaluations import UNKNOWN_SUBJECT, UNVERIFIABLE, EvaluationView, encode_evaluation
from app.model.access_requests import requests_endpoint
from app.model.api_keys import Scope
from app.model.decisions import AuthorizeRequest, Decision
from app.settings import Settings

PATH = "/access/v1/evaluation"
NOT_ERRORS = (AgentNotFound, ApprovalMismatch)
"""Errors elsewhere, but denials in the standard: an unknown subject, and an approval that is not the caller's."""

_FIELDS = own_fields("context", **QUESTION)
_decode = msgspec.json.Decoder(EvaluationBody).decode


def read_evaluation(raw: bytes, reading: Reading) -> AuthorizeRequest:
    """The tool call that is asked about. Raises Invalid, PayloadTooLarge, AgentNotFound."""
    require_json(reading.headers)
    require_readable(raw, reading.settings.call_bytes_max, max_names=MAX_NAMES)
    try:
        asked = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_a_call(raw, error, EvaluationBody, reading.settings.call_bytes_max) from None
    call, keys = call_of(asked, reading, len(raw))
    require_unique_keys(raw, keys, _FIELDS)
    return call


def refuse_evaluation(error: AppError) -> RawResponse:
    """The answer if nothing was decided."""
    if isinstance(error, NOT_ERRORS):
        return RawResponse(200, [JSON], encode_answer(error))
    return message_answer(error)


def answer_approval(decision: Decision, request: AuthorizeRequest, settings: Settings) -> bytes:
    """The body of a decision, with how to request access if that is possible."""
    endpoint = requests_endpoint(settings.public_url)
    return msgspec.json.encode(EvaluationView.of(decision, endpoint, names_approval=bool(request.approval_id)))


def _answer_to(decision: Decision, request: AuthorizeRequest, settings: Settings) -> bytes:
    if decision.approval is None and not request.approval_id:
        return encode_evaluation(decision)
    return answer_approval(decision, request, settings)


def encode_answer(error: AgentNotFound | ApprovalMismatch) -> bytes:
    """The denial in the place of an error that the standard does not have."""
    return msgspec.json.encode(UNKNOWN_SUBJECT if isinstance(error, AgentNotFound) else UNVERIFIABLE)


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
        answer=EvaluationView,
        errors=(IdempotencyConflict, IdempotencyStale, TooManyMismatches),
        headers=REPLAYED,
        request_headers=(IDEMPOTENCY_KEY,),
    ),
    read_evaluation,
    encode_evaluation,
    refuse_evaluation,
    _answer_to,
)
