"""Commits of one batch, sent to the store together."""

import asyncio
from functools import partial
from typing import Any

from app.authorize.commit.decision import CommitDecision
from app.authorize.commit.question import CommitQuestion
from app.redis_client.client import Value
from app.redis_client.packed_call import BatchedCalls, PackedCall, ScriptCall
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


def batched(commit: CommitDecision) -> CommitDecision:
    """The commit for one batch. Over a cluster, whose client picks a node for each call, it is the same commit."""
    runner = commit.runner
    return BatchedCommit(commit, runner.batched()) if isinstance(runner, PipelinedClient) else commit
