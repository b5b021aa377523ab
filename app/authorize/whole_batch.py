"""Batches of which all calls are allowed or none: one script takes everything, or nothing is taken."""

import asyncio
from collections.abc import Sequence
from typing import cast

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
    InsufficientScope,
    Invalid,
    StoreUnavailable,
    TooManyMismatches,
)
from app.model.api_keys import Caller
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Decision, Outcome, Result
from app.model.plans import Plan
from app.pdp import CompiledAgent

ATTEMPTS = 16
MAX_WHOLE = 128
"""The most calls: one script takes them all, which keeps the store for about five milliseconds."""

OF_ONE_CALL = (AgentNotFound, ApprovalMismatch, InsufficientScope, Invalid, TooManyMismatches)
"""Errors of a call that say nothing about the others of its batch."""

REFUSED = "All or nothing: "
"""Exactly as in `model.logged_codes`."""


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
    """The decisions, all of them allowed, or none. A call that needs approval is not allowed.

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
    except OF_ONE_CALL as error:
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
    reason = f"{REFUSED}{which} cannot be allowed, so nothing is: {why}"
    return Outcome(Result.DENIED, None, None, reason, DecisionCode.BATCH_REFUSED)
