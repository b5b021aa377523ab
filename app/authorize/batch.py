"""Decides the calls of a batch, each as a call by itself: with its own entry, quotas, and approval."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import TypeVar
from uuid import UUID, uuid4

from msgspec.structs import replace

from app.authorize.authorizer import Authorizer
from app.authorize.whole_batch import OF_ONE_CALL, decide_whole
from app.errors import (
    AppError,
    IdempotencyConflict,
    IdempotencyStale,
    LimitReached,
    Unauthorized,
)
from app.model.api_keys import Caller
from app.model.decisions import AuthorizeRequest, BatchSemantics, Decision, Result
from app.redis_client.packed_call import CALLS_AT_ONCE
from app.runtime.fairness.loop_turns import take_turn

Asked = AuthorizeRequest | AppError
Answered = Decision | AppError
_OF_AN_ANSWER = (IdempotencyConflict, IdempotencyStale, LimitReached)
"""Errors of a call whose first answer cannot be given, or cannot be kept: it is not decided."""

_Made = TypeVar("_Made")


class Asker:
    """Who asks for a batch. judged_anew: the caller, if its key counts after all; otherwise raises the error given."""

    def __init__(self, caller: Caller, judged_anew: Callable[[Unauthorized], Awaitable[Caller]]) -> None:
        self._caller = caller
        self._judged_anew = judged_anew

    @property
    def key_id(self) -> str:
        """The key that asks."""
        return self._caller.key_id

    async def ask(self, question: Callable[[Caller], Awaitable[_Made]]) -> _Made:
        """The answer to the question, as the caller that its key stands for now. Raises Unauthorized."""
        try:
            return await question(self._caller)
        except Unauthorized as error:
            self._caller = await self._judged_anew(error)
        return await question(self._caller)


class BatchAuthorizer:
    """Decides batches. What is an error of one call only is its answer; any other error is the batch's."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def decide(
        self, asker: Asker, asked: Sequence[Asked], semantics: BatchSemantics, arrived_us: int
    ) -> list[Answered]:
        """The answers, in order; fewer than asked if the semantics end the batch early.

        asked: calls, and in the place of one that could not be read, its error. With an Idempotency-Key, each call has
        one of its own.
        Raises Unauthorized, StoreUnavailable, Overloaded; IdempotencyConflict, IdempotencyStale and LimitReached, if no
        call was decided.
        """
        authorizer = self._authorizer.in_turns()
        if semantics is BatchSemantics.ALL_OR_NOTHING:
            return await _whole(authorizer, asker, asked, arrived_us)
        if len(asked) > 1:
            asked = _in_plan(asker.key_id, asked)
        at_once = CALLS_AT_ONCE if semantics is BatchSemantics.EXECUTE_ALL else 1
        authorizer = authorizer if at_once == 1 else authorizer.for_batch()
        answers: list[Answered] = []
        for start in range(0, len(asked), at_once):
            some = asked[start : start + at_once]
            answers += await asyncio.gather(*(_answer(authorizer, asker, each, arrived_us) for each in some))
            _require_decided(answers)
            if _ends(semantics, answers[-1]):
                break
            await take_turn()
        return answers


async def _whole(authorizer: Authorizer, asker: Asker, asked: Sequence[Asked], arrived_us: int) -> list[Answered]:
    error = next((each for each in asked if isinstance(each, AppError)), None)
    if error is not None:  # what could not be read cannot be denied, so there is nothing to decide
        raise error
    calls = [each for each in asked if not isinstance(each, AppError)]
    return list(await asker.ask(lambda caller: decide_whole(authorizer, caller, calls, arrived_us)))


def _in_plan(key_id: str, asked: Sequence[Asked]) -> list[Asked]:
    """The calls, each with its place in one plan, so that people see together what they are asked about.

    A repeated batch is the same plan: what was asked before, and what is asked now.
    """
    named = next((each.idempotency for each in asked if isinstance(each, AuthorizeRequest) and each.idempotency), None)
    seed = None if named is None else sha256(f"{key_id} {named.batch}".encode()).digest()[:16]
    plan, of = uuid4() if seed is None else UUID(bytes=seed, version=4), len(asked)
    return [
        each if isinstance(each, AppError) else replace(each, plan=f"{plan} {place} {of}")
        for place, each in enumerate(asked)
    ]


async def _answer(authorizer: Authorizer, asker: Asker, asked: Asked, arrived_us: int) -> Answered:
    if isinstance(asked, AppError):
        return asked
    try:
        return await asker.ask(lambda caller: authorizer.authorize(caller, asked, arrived_us))
    except (*OF_ONE_CALL, *_OF_AN_ANSWER) as error:
        return error


def _require_decided(answers: Sequence[Answered]) -> None:
    """Raise the error of a first answer, unless that would hide what was decided now."""
    if any(isinstance(each, Decision) and not each.repeated for each in answers):
        return
    for each in answers:
        if isinstance(each, _OF_AN_ANSWER):
            raise each


def _ends(semantics: BatchSemantics, latest: Answered) -> bool:
    """True if nothing after this answer is decided."""
    if semantics is not BatchSemantics.EXECUTE_ALL and isinstance(latest, _OF_AN_ANSWER):
        return True
    is_allowed = isinstance(latest, Decision) and latest.outcome.result is Result.ALLOWED
    if semantics is BatchSemantics.DENY_ON_FIRST_DENY:
        return not is_allowed
    return semantics is BatchSemantics.PERMIT_ON_FIRST_PERMIT and is_allowed
