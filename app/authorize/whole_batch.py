"""Batches of which all calls are allowed or none: one script takes everything, or nothing is taken."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from app.authorize.authorizer import Authorizer
from app.authorize.commit import CommitAnswer, CommitQuestion, Stale
from app.authorize.commit.batch import commit_whole
from app.errors import AppError, BatchTooLarge, StoreUnavailable
from app.model.api_keys import Caller
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Decision, Outcome, Result
from app.model.plans import Plan
from app.redis_client.packed_call import CALLS_AT_ONCE
from app.runtime.fairness.loop_turns import take_turn

ATTEMPTS = 16
MAX_WHOLE = 128
"""The most calls: one script takes them all, which keeps the store for about five milliseconds."""

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

    Raises BatchTooLarge, Unauthorized, StoreUnavailable, Overloaded.
    """
    if len(calls) > MAX_WHOLE:
        raise BatchTooLarge(f"All or nothing is possible for up to {MAX_WHOLE} calls; the batch has {len(calls)}")
    for _ in range(ATTEMPTS):
        planned = await asyncio.gather(*(_planned(authorizer, caller, each, arrived_us) for each in calls))
        obstacle = _first_obstacle(planned)
        if obstacle is None:
            questions = cast("list[CommitQuestion]", planned)
            answer = await commit_whole(authorizer.commit, questions)
            if isinstance(answer, list):
                return list[Decision | AppError](answer)
            place, refusal = answer
            if isinstance(refusal, Stale):
                authorizer.forget(caller, questions[place], refusal)
                continue
            obstacle = _Obstacle(place, refusal.outcome)
        return await _refuse(authorizer, caller, calls, arrived_us, obstacle)
    raise StoreUnavailable(f"The agents' policies changed {ATTEMPTS} times during one batch; try again")


async def _planned(
    authorizer: Authorizer, caller: Caller, call: AuthorizeRequest, arrived_us: int
) -> CommitQuestion | AppError:
    """The call's plan, as it would be committed."""

    async def commit(question: CommitQuestion) -> CommitAnswer:
        raise _Planned(question)

    try:
        await authorizer.committing(commit).authorize(caller, call, arrived_us)
    except _Planned as planned:
        return replace(planned.question, approval=None)
    except AppError as error:
        return error
    raise RuntimeError("a call was decided without a commit")


def _first_obstacle(planned: Sequence[CommitQuestion | AppError]) -> _Obstacle | None:
    for place, each in enumerate(planned):
        if isinstance(each, AppError):
            return _Obstacle(place, each)
        if each.plan.outcome.result is not Result.ALLOWED:
            return _Obstacle(place, each.plan.outcome)
    return None


async def _refuse(
    authorizer: Authorizer, caller: Caller, calls: Sequence[AuthorizeRequest], arrived_us: int, obstacle: _Obstacle
) -> list[Decision | AppError]:
    """Deny every call, each with its entry, a script's worth at a time."""
    together = authorizer.for_batch()

    async def refused(place: int, call: AuthorizeRequest) -> Decision | AppError:
        outcome = _outcome_of(obstacle, place)
        if isinstance(outcome, AppError):
            return outcome

        async def commit(question: CommitQuestion) -> Any:
            denial = Plan(
                outcome, holds_from_us=question.plan.holds_from_us, holds_until_us=question.plan.holds_until_us
            )
            return await together.commit(replace(question, plan=denial, approval=None))

        try:
            return await authorizer.committing(commit).authorize(caller, call, arrived_us)
        except AppError as error:  # of an agent, say, that is unknown as well
            return error

    answers: list[Decision | AppError] = []
    for start in range(0, len(calls), CALLS_AT_ONCE):
        some = calls[start : start + CALLS_AT_ONCE]
        answers += await asyncio.gather(*(refused(place, call) for place, call in enumerate(some, start)))
        await take_turn()
    return answers


def _outcome_of(obstacle: _Obstacle, place: int) -> Outcome | AppError:
    """The outcome of the call at this place, of a batch that is refused."""
    cause = obstacle.outcome
    if place == obstacle.place and (isinstance(cause, AppError) or cause.result is Result.DENIED):
        return cause
    why = cause.message if isinstance(cause, AppError) else cause.reason
    which = "this call" if place == obstacle.place else f"call {obstacle.place} of the batch, counted from 0,"
    reason = f"{REFUSED}{which} cannot be allowed, so nothing is: {why}"
    return Outcome(Result.DENIED, None, None, reason, DecisionCode.BATCH_REFUSED)
