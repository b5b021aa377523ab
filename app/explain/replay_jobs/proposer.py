"""Reads the log and the catalogue that a proposal is made from."""

import time
from collections.abc import AsyncIterator

import msgspec

from app.audit.log import AuditLog
from app.errors import Invalid, NothingToLearn
from app.model.audit import AuditQuery
from app.model.catalog import CatalogTool
from app.model.decisions import Result
from app.model.policies import Owner, evaluation_order
from app.model.proposals import ProposalLine, ProposeTask
from app.model.replays import ReplayProgress
from app.model.times import rfc3339
from app.policy_tools.compare.combinations import Effort
from app.policy_tools.compare.meaning import compare_meaning
from app.policy_tools.files.policy_file import as_file
from app.propose.observed_calls import Observer
from app.propose.proposal import proposal_of
from app.propose.proposed_policies import KnownTool
from app.runtime.fairness.loop_turns import take_turn
from app.store.agents import Agents
from app.store.catalog import Catalog
from app.store.policies import Policies

_MAX_CALLS = 200_000
_PROGRESS_S = 0.5


class Proposer:
    """Makes proposals on one store."""

    def __init__(self, agents: Agents, policies: Policies, catalog: Catalog, audit: AuditLog) -> None:
        self._agents = agents
        self._policies = policies
        self._catalog = catalog
        self._audit = audit

    async def require_possible(self, task: ProposeTask) -> None:
        """Raise AgentNotFound, Invalid, or NothingToLearn if the log has no call that was allowed."""
        await self._agents.get(task.workspace_id, task.agent_id)
        if task.from_ms > task.to_ms:
            raise Invalid.at("$.from", f"must not be after `to`, which is {rfc3339(task.to_ms)}")
        query = AuditQuery(
            agent_id=task.agent_id, result=Result.ALLOWED, from_ms=task.from_ms, to_ms=task.to_ms, limit=1
        )
        if not (await self._audit.query(task.workspace_id, query)).lines:
            raise NothingToLearn(await self._why_nothing(task))

    async def lines(self, task: ProposeTask) -> AsyncIterator[ProposalLine]:
        """Yield progress, and finally the proposal. Raises NothingToLearn, Invalid, and as `AuditLog.entries` does."""
        yield ProposalLine(progress=ReplayProgress(entries=0, done=0, of=1))
        observer = Observer(task.agent_id, task.from_ms, task.to_ms, task.wanted)
        at, of = 0, 1

        def move(done: int, whole: int) -> None:
            nonlocal at, of
            at, of = done, whole

        entries, reported_s = 0, time.monotonic()
        # What is said about a call comes later than the call.
        now_ms = await self._audit.now_ms()
        async for chunk in self._audit.entries(task.workspace_id, task.agent_id, task.from_ms, now_ms, move):
            observer.feed(chunk.body.splitlines())
            entries += len(chunk.sequences)
            if observer.count > _MAX_CALLS:
                raise Invalid.at("$.from", f"the span has more than {_MAX_CALLS} calls; take a shorter one")
            if time.monotonic() - reported_s >= _PROGRESS_S:
                reported_s = time.monotonic()
                yield ProposalLine(progress=ReplayProgress(entries=entries, done=at, of=of))
            await take_turn()
        yield ProposalLine(progress=ReplayProgress(entries=entries, done=of, of=of))
        seen = observer.finish()
        if not seen.calls:
            raise NothingToLearn(await self._why_nothing(task))
        floor = await self._audit.floor(task.workspace_id)
        dropped = floor is not None and floor.time_ms >= task.from_ms
        said = [f"retention dropped entries up to {rfc3339(floor.time_ms)}"] if floor is not None and dropped else []
        tools = (await self._catalog.read(task.workspace_id)).tools
        owned = [each async for each in self._policies.each(task.workspace_id, Owner(task.agent_id))]
        effort = Effort()
        proposal = proposal_of(
            task,
            seen,
            {name: _known(tool) for name, tool in tools.items()},
            said,
            as_file(evaluation_order(owned), {})["policies"],
            max((each.updated_ms for each in owned), default=0),
            lambda before, after: compare_meaning(before, after, effort),
        )
        yield ProposalLine(proposal=proposal)

    async def _why_nothing(self, task: ProposeTask) -> str:
        span = f"from {rfc3339(task.from_ms)} to {rfc3339(task.to_ms)}"
        floor = await self._audit.floor(task.workspace_id)
        gone = "" if floor is None else f"; retention dropped entries up to {rfc3339(floor.time_ms)}"
        return f"The log has no call of this agent {span} that was allowed, did not fail, and fits the filter{gone}"


def _known(tool: CatalogTool) -> KnownTool:
    schema = msgspec.json.decode(tool.input_schema)
    return KnownTool(tool.consequence, tool.foreign, schema if isinstance(schema, dict) else None)
