"""What both ways to ask for a batch have in common: how its body is read, what it counts as, and who decides."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from litestar import Request
from msgspec.structs import replace

from app.authorize.batch import Answered, Asked, Asker
from app.errors import AppError
from app.http.authentication import judged_anew, raw_key_in_use
from app.http.bodies import decode_json, read_body
from app.http.headers import IDEMPOTENCY_KEY, single_headers
from app.http.throttle import charge
from app.http.tool_calls import Reading, reading_of
from app.model.api_keys import Caller
from app.model.decisions import AuthorizeRequest, BatchSemantics, Decision, Idempotency
from app.replica import Services
from app.runtime.clock import monotonic_us

_Read = TypeVar("_Read")
_IN_THE_LOOP_BYTES = 4 * 1024
MAX_NESTED = 20_000


async def read_batch(
    request: Request[Any, Any, Any], caller: Caller, services: Services, read: Callable[[bytes, Reading], _Read]
) -> _Read:
    """What `read` makes of the body, in a thread unless it is short. Raises Invalid, PayloadTooLarge, Overloaded."""
    decisions, headers = services.decisions, list(request.scope["headers"])
    named = single_headers(headers, frozenset({IDEMPOTENCY_KEY})).get(IDEMPOTENCY_KEY)
    raw = await read_body(request.receive, decisions.settings.call_bytes_max)
    reading = reading_of(decisions, caller, headers, named)
    if len(raw) <= _IN_THE_LOOP_BYTES:
        return read(raw, reading)
    with decisions.large_calls.room_for(caller.workspace_id, caller.root, len(raw)):
        return await services.pool.run(caller.workspace_id, read, raw, reading)


def repeatable(asked: Sequence[Asked], semantics: BatchSemantics) -> list[Asked]:
    """The calls of a batch; if it has an Idempotency-Key, each with one of its own, for its place in this very batch.

    So however much of a batch was decided before, its repetition answers that and decides the rest.
    """
    named = [each.idempotency if isinstance(each, AuthorizeRequest) else None for each in asked]
    first = next((each for each in named if each is not None), None)
    if first is None:
        return list(asked)
    newest = _digest(semantics, *("" if each is None else each.body_digest for each in named))
    former = tuple(
        _digest(semantics, *("" if each is None else each.former_digests[number] for each in named))
        for number in range(len(first.former_digests))
    )
    key = first.key_digest
    return [
        each
        if isinstance(each, AppError)
        else replace(each, idempotency=Idempotency(_digest(key, str(place)), newest, former, batch=key))
        for place, each in enumerate(asked)
    ]


def _digest(*parts: str) -> str:
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def replayed(answers: Sequence[Answered]) -> dict[str, str]:
    """The header of an answer that decided nothing, because the Idempotency-Key was answered before."""
    decisions = [each for each in answers if isinstance(each, Decision)]
    return {"Idempotency-Replayed": "true"} if decisions and all(each.repeated for each in decisions) else {}


def require_distinct_names(raw: bytes, reading: Reading) -> Any:
    """The document as plain values. Raises Invalid unless no name is given twice in an object, or PayloadTooLarge."""
    return decode_json(raw, reading.settings.call_bytes_max, MAX_NESTED)


async def decide_batch(
    request: Request[Any, Any, Any],
    caller: Caller,
    services: Services,
    asked: Sequence[Asked],
    semantics: BatchSemantics,
) -> list[Answered]:
    """The answers. Each counts as a request of its key. Raises TooManyRequests and what the decision raises."""
    arrived_us, decisions = monotonic_us(), services.decisions
    charged = charge(decisions, caller, len(asked) - 1)
    asker = Asker(caller, partial(judged_anew, decisions, raw_key_in_use(request)))
    answers = await decisions.batches.decide(asker, asked, semantics, arrived_us)
    charge(decisions, caller, min(0, len(answers) - 1 - charged))  # the semantics may have ended it early
    for call, answer in zip(asked, answers, strict=False):
        if not isinstance(answer, Decision):
            decisions.metrics.refused(answer.code)
            continue
        if not answer.repeated:
            decisions.metrics.decided(answer.outcome.result, answer.latency_us)
        if decisions.note_decision is not None and not isinstance(call, Exception):
            decisions.note_decision(caller.workspace_id, call, answer, monotonic_us() - arrived_us)
    return answers
