"""Decides the calls of a batch, each as a call by itself: with its own entry, quotas, and approval."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import uuid4

from msgspec.structs import replace

from app.authorize.authorizer import Authorizer
from app.authorize.whole_batch import decide_whole
from app.errors import (
    AgentNotFound,
    AppError,
    ApprovalMismatch,
    InsufficientScope,
    Invalid,
    TooManyMismatches,
    Unauthorized,
)
from app.model.api_keys import Caller
from app.model.decisions import AuthorizeRequest, BatchSemantics, Decision, Result
from app.redis_client.packed_call import CALLS_AT_ONCE
from app.runtime.fairness.loop_turns import take_turn

Asked = AuthorizeRequest | AppError
Answered = Decision | AppError
_OF_ONE_CALL = (AgentNotFound, ApprovalMismatch, InsufficientScope, Invalid, TooManyMismatches)
"""Errors of a call that say nothing about the others of its batch."""

_Made = TypeVar("_Made")


class Asker:
    """Who asks for a batch. judged_anew: the caller, if its key counts after all; otherwise raises the error given."""

    def __init__(self, caller: Caller, judged_anew: Callable[[Unauthorized], Awaitable[Caller]]) -> None:
        self._caller = caller
        self._judged_anew = judged_anew

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

        asked: calls, and in the place of one that could not be read, its error.
        Raises Unauthorized, StoreUnavailable, Overloaded.
        """
        authorizer = self._authorizer.in_turns()
        if semantics is BatchSemantics.ALL_OR_NOTHING:
            return await _whole(authorizer, asker, asked, arrived_us)
        if len(asked) > 1:
            asked = _in_plan(asked)
        at_once = CALLS_AT_ONCE if semantics is BatchSemantics.EXECUTE_ALL else 1
        authorizer = authorizer if at_once == 1 else authorizer.for_batch()
        answers: list[Answered] = []
        for start in range(0, len(asked), at_once):
            some = asked[start : start + at_once]
            answers += await asyncio.gather(*(_answer(authorizer, asker, each, arrived_us) for each in some))
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


def _in_plan(asked: Sequence[Asked]) -> list[Asked]:
    """The calls, each with its place in one plan, so that people see together what they are asked about."""
    plan, of = uuid4(), len(asked)
    return [
        each if isinstance(each, AppError) else replace(each, plan=f"{plan} {place} {of}")
        for place, each in enumerate(asked)
    ]


async def _answer(authorizer: Authorizer, asker: Asker, asked: Asked, arrived_us: int) -> Answered:
    if isinstance(asked, AppError):
        return asked
    try:
        return await asker.ask(lambda caller: authorizer.authorize(caller, asked, arrived_us))
    except _OF_ONE_CALL as error:
        return error


def _ends(semantics: BatchSemantics, latest: Answered) -> bool:
    """True if nothing after this answer is decided."""
    is_allowed = isinstance(latest, Decision) and latest.outcome.result is Result.ALLOWED
    if semantics is BatchSemantics.DENY_ON_FIRST_DENY:
        return not is_allowed
    return semantics is BatchSemantics.PERMIT_ON_FIRST_PERMIT and is_allowed
