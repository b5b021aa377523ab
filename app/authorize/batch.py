"""Decides batches: each call by itself, with its own entry, quotas and approval; or all of them, or none, together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import TypeVar, cast
from uuid import UUID, uuid4

from msgspec import Struct
from msgspec.structs import replace

from app.authorize.agent_cache import CachedAgent
from app.authorize.authorizer import Authorizer, with_message
from app.authorize.commit import CommitAnswer, CommitQuestion, Stale, require_stale
from app.authorize.commit.batch import commit_whole
from app.errors import (
    AgentNotFound,
    AppError,
    ApprovalMismatch,
    BatchTooLarge,
    IdempotencyConflict,
    IdempotencyStale,
    InsufficientScope,
    Invalid,
    LimitReached,
    StoreUnavailable,
    TooManyMismatches,
    Unauthorized,
)
from app.model.api_keys import Caller
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, BatchSemantics, Decision, Outcome, Result
from app.model.plans import Plan
from app.pdp import CompiledAgent
from app.redis_client.packed_call import CALLS_AT_ONCE
from app.runtime.fairness.loop_turns import take_turn

Asked = AuthorizeRequest | AppError
Answered = Decision | AppError
ATTEMPTS = 16
MAX_WHOLE = 128
"""The most calls: one script takes them all, which keeps the store for about five milliseconds."""
_OF_ONE_CALL = (AgentNotFound, ApprovalMismatch, InsufficientScope, Invalid, TooManyMismatches)
"""Errors of a call that say nothing about the others of its batch."""
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
    except (*_OF_ONE_CALL, *_OF_AN_ANSWER) as error:
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


class _Planned(Exception):
    def __init__(self, question: CommitQuestion) -> None:
        super().__init__()
        self.question = question


class _Obstacle(Struct, frozen=True):
    """The first call that cannot be allowed: its place, and its outcome, or the error in place of one."""

    place: int
    outcome: Outcome | AppError


async def decide_whole(
    authorizer: Authorizer, caller: Caller, calls: Sequence[AuthorizeRequest], arrived_us: int
) -> list[Decision | AppError]:
    """The decisions, all of them allowed, or none: one script takes everything, or nothing is taken.

    A call that needs approval is not allowed.

    Raises, with nothing written, BatchTooLarge, Unauthorized, IdempotencyStale, IdempotencyConflict, LimitReached,
    Overloaded; and StoreUnavailable, with everything or nothing.
    """
    if len(calls) > MAX_WHOLE:
        raise BatchTooLarge(f"All or nothing is possible for up to {MAX_WHOLE} calls; the batch has {len(calls)}")
    for _ in range(ATTEMPTS):
        planned = await asyncio.gather(*(_planned(authorizer, caller, each, arrived_us) for each in calls))
        questions = {place: each for place, each in enumerate(planned) if isinstance(each, CommitQuestion)}
        obstacle = _first_obstacle(planned)
        if obstacle is None:
            answer = await commit_whole(authorizer.commit, list(questions.values()), allowed=True)
            if isinstance(answer, list):
                return list[Decision | AppError](answer)
            place, refusal = answer
            if isinstance(refusal, Stale):
                authorizer.forget(caller, questions[place], refusal)
                continue
            obstacle = _Obstacle(place, refusal.outcome)
        denials = [_denied(question, _outcome_of(obstacle, place)) for place, question in questions.items()]
        answer = await commit_whole(authorizer.commit, denials, allowed=False) if denials else []
        if isinstance(answer, list):
            return _merged(planned, answer)
        place, stale = answer
        authorizer.forget(caller, denials[place], require_stale(stale))
    raise StoreUnavailable(f"The agents' policies changed {ATTEMPTS} times during one batch; try again")


async def _planned(
    authorizer: Authorizer, caller: Caller, call: AuthorizeRequest, arrived_us: int
) -> CommitQuestion | AppError:
    """The call's plan, as it would be committed."""

    async def commit(question: CommitQuestion) -> CommitAnswer:
        raise _Planned(question)

    try:
        await replace(authorizer, commit=commit).authorize(caller, call, arrived_us)
    except _Planned as planned:
        return replace(planned.question, approval=None)
    except _OF_ONE_CALL as error:
        return error
    raise RuntimeError("a call was decided without a commit")


def _first_obstacle(planned: Sequence[CommitQuestion | AppError]) -> _Obstacle | None:
    for place, each in enumerate(planned):
        if isinstance(each, AppError):
            return _Obstacle(place, each)
        if each.plan.outcome.result is not Result.ALLOWED:
            return _Obstacle(place, each.plan.outcome)
    return None


def _denied(question: CommitQuestion, outcome: Outcome) -> CommitQuestion:
    plan = question.plan
    return replace(question, plan=Plan(outcome, holds_from_us=plan.holds_from_us, holds_until_us=plan.holds_until_us))


def _merged(planned: Sequence[CommitQuestion | AppError], denials: Sequence[Decision]) -> list[Decision | AppError]:
    """The answers: of each call that could be planned its denial, of the others the error."""
    denied = iter(denials)
    return [
        each
        if isinstance(each, AppError)
        else with_message(next(denied), cast("CachedAgent[CompiledAgent]", each.cached).compiled)
        for each in planned
    ]


def _outcome_of(obstacle: _Obstacle, place: int) -> Outcome:
    """The outcome of the call at this place, of a batch that is refused."""
    cause = obstacle.outcome
    if place == obstacle.place and not isinstance(cause, AppError) and cause.result is Result.DENIED:
        return cause
    why = cause.message if isinstance(cause, AppError) else cause.reason
    which = "this call" if place == obstacle.place else f"call {obstacle.place} of the batch, counted from 0,"
    reason = f"All or nothing: {which} cannot be allowed, so nothing is: {why}"
    return Outcome(Result.DENIED, None, None, reason, DecisionCode.BATCH_REFUSED)
