"""Commits of one batch, sent to the store together."""

import asyncio
from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from app.authorize.commit.decision import CommitDecision
from app.authorize.commit.question import CommitQuestion
from app.authorize.commit.reply import Stale
from app.errors import IdempotencyStale
from app.model.decisions import Decision
from app.redis_client.packed_call import BatchedCalls, NotTaken


async def commit_whole(
    commit: CommitDecision, questions: Sequence[CommitQuestion], *, allowed: bool
) -> "list[Decision] | tuple[int, Decision | Stale]":
    """The decisions on plans that all allow their calls, or all deny them; or, with nothing written, the place of the
    first that is out of date or, if they must be allowed, is not, and its answer.

    If their Idempotency-Key was used before, they are the earlier decisions. Raises what a commit raises, with nothing
    written.
    """
    calls = BatchedCalls(len(questions), "allowed" if allowed else "logged")
    answers = await asyncio.gather(*map(replace(commit, together=calls), questions), return_exceptions=True)
    error = next((each for each in answers if isinstance(each, BaseException) and not isinstance(each, NotTaken)), None)
    if error is not None:
        raise error
    place = calls.refused
    if place is None:
        return cast("list[Decision]", answers)
    answer = cast("Decision | Stale", answers[place])
    if isinstance(answer, Decision) and (
        answer.repeated or answer.outcome.result is questions[place].plan.outcome.result
    ):
        raise IdempotencyStale(
            "This Idempotency-Key has answers for some calls of the batch only: agents have been made since, or its "
            "answers run out just now. Nothing was decided now; ask again with a new one"
        )
    return place, answer


def batched(commit: CommitDecision) -> CommitDecision:
    """The commit for one batch: its calls of one pass of the loop are one script call (`lua/commit_batch.lua`)."""
    return replace(commit, together=BatchedCalls())
