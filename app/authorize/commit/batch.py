"""Commits of one batch, sent to the store together."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from app.authorize.commit.decision import CommitDecision
from app.authorize.commit.question import CommitQuestion
from app.authorize.commit.reply import Stale
from app.errors import StoreUnavailable
from app.model.decisions import Decision
from app.redis_client.client import Value
from app.redis_client.packed_call import BatchedCalls, NotTaken, PackedCall, ScriptCall
from app.redis_client.pipelined import PipelinedClient


class BatchedCommit(CommitDecision):
    """As the commit of single calls, but those of one pass of the loop are one script call (`lua/commit_batch.lua`)."""

    def __init__(self, commit: CommitDecision, calls: BatchedCalls) -> None:
        vars(self).update(vars(commit))
        self._calls = calls

    def _packed(self, question: CommitQuestion) -> ScriptCall:
        packed = super()._packed(question)
        return partial(self._together, packed) if isinstance(packed, PackedCall) else packed

    def _together(self, packed: PackedCall, *per_call: Value) -> asyncio.Future[Any]:
        return self._calls.call(packed, per_call)


async def commit_whole(
    commit: CommitDecision, questions: Sequence[CommitQuestion]
) -> "list[Decision] | tuple[int, Decision | Stale]":
    """The decisions on plans that all allow their calls; or, with nothing written, the place of the first that is not
    allowed, and its answer.

    Raises what a commit raises; StoreUnavailable over a cluster, whose client picks a node for each call.
    """
    runner = commit.runner
    if not isinstance(runner, PipelinedClient):
        raise StoreUnavailable(
            "All or nothing is not possible over Redis Cluster, where each call is committed by itself"
        )
    calls = runner.batched(len(questions))
    answers = await asyncio.gather(*map(BatchedCommit(commit, calls), questions), return_exceptions=True)
    place = calls.refused
    if place is not None and not isinstance(answers[place], BaseException):
        return place, cast("Decision | Stale", answers[place])
    error = next((each for each in answers if isinstance(each, BaseException) and not isinstance(each, NotTaken)), None)
    if error is not None:
        raise error
    return cast("list[Decision]", answers)


def batched(commit: CommitDecision) -> CommitDecision:
    """The commit for one batch. Over a cluster, whose client picks a node for each call, it is the same commit."""
    runner = commit.runner
    return BatchedCommit(commit, runner.batched()) if isinstance(runner, PipelinedClient) else commit
