"""Reads the policies and changes that a replay needs from the store, and replays a log in chunks."""

import time
from collections.abc import AsyncIterator

from app.audit.log import AuditLog
from app.errors import Invalid
from app.model.changes import Change, ChangeQuery
from app.model.policies import Policy, owner_or_none
from app.model.replays import ReplayLine, ReplayProgress, ReplayTask, drafted
from app.model.text import FieldError
from app.model.times import SPAN_MS, parse_time_ms, rfc3339
from app.pdp.constraints import IsSecret
from app.replay import Replay
from app.replay.history import History
from app.runtime.fairness.loop_turns import take_turn
from app.store.agents import Agents
from app.store.changes import Changes
from app.store.optimistic import ATTEMPTS, contended
from app.store.policies import Policies

_LONGEST_MS = 31 * SPAN_MS["d"]
"""The longest window of any limit that ends."""

_PROGRESS_S = 0.5
_PAGE = 1000


class Replayer:
    """Replays tasks on one store."""

    def __init__(
        self, agents: Agents, policies: Policies, changes: Changes, audit: AuditLog, is_secret: IsSecret
    ) -> None:
        self._agents = agents
        self._policies = policies
        self._changes = changes
        self._audit = audit
        self._is_secret = is_secret

    async def require_possible(self, task: ReplayTask) -> None:
        """Raise AgentNotFound, or Invalid, if the task cannot be replayed here."""
        if task.agent_id is not None:
            await self._agents.get(task.workspace_id, task.agent_id)
        if task.from_ms > task.to_ms:
            raise Invalid.at("$.from", f"must not be after `to`, which is {rfc3339(task.to_ms)}")
        floor = await self._audit.floor(task.workspace_id)
        if floor is not None and floor.time_ms >= task.from_ms:
            raise Invalid.at("$.from", f"retention dropped entries up to {rfc3339(floor.time_ms)}; begin after that")
        if task.policies is not None:
            policies = self._policies.each(task.workspace_id, owner_or_none(task.agent_id, task.group))
            _draft(task, [policy async for policy in policies])

    async def lines(self, task: ReplayTask) -> AsyncIterator[ReplayLine]:
        """Yield progress and samples, and finally the report. Raises as `AuditLog.entries` does."""
        history, replaced = await self._read_history(task, _LONGEST_MS)
        if any(_longest_window_ms(policy) > _LONGEST_MS for policy in (*history.policies(), *(task.policies or ()))):
            history, replaced = await self._read_history(task, task.from_ms)
        draft = None if task.policies is None else _draft(task, replaced)
        replay = Replay(task, history, draft, self._is_secret)
        windows = (_longest_window_ms(policy) for policy in (*history.policies(), *(draft or ())))
        begin_ms = max(0, task.from_ms - max(windows, default=0) - 1)
        floor = await self._audit.floor(task.workspace_id)
        if floor is not None and floor.time_ms >= begin_ms:
            replay.begin_in_doubt(floor.time_ms)
        at, of = 0, 1

        def move(done: int, whole: int) -> None:
            nonlocal at, of
            at, of = done, whole

        agent_id = None if replay.reads_all_agents else task.agent_id
        entries, reported_s = 0, time.monotonic()
        yield ReplayLine(progress=ReplayProgress(entries=0, done=0, of=1))
        async for chunk in self._audit.entries(task.workspace_id, agent_id, begin_ms, task.to_ms, move):
            replay.feed(chunk.body, chunk.sequences)
            entries += len(chunk.sequences)
            for flip in replay.findings.take_fresh():
                yield ReplayLine(flip=flip)
            if time.monotonic() - reported_s >= _PROGRESS_S:
                reported_s = time.monotonic()
                yield ReplayLine(progress=ReplayProgress(entries=entries, done=at, of=of))
            await take_turn()
        yield ReplayLine(progress=ReplayProgress(entries=entries, done=of, of=of))
        yield ReplayLine(report=replay.findings.finish())

    async def _read_history(self, task: ReplayTask, reach_ms: int) -> tuple[History, list[Policy]]:
        """The history as far back from the task's begin as that, and the policies that its draft replaces."""
        workspace_id = task.workspace_id
        since_ms = max(0, task.from_ms - reach_ms - 1)
        for _ in range(ATTEMPTS):
            newest = await self._newest(workspace_id)
            agents = [agent async for agent in self._agents.each(workspace_id)]
            policies = [policy async for policy in self._policies.each(workspace_id)]
            again = await self._newest(workspace_id)
            # They belong together if nothing changed in between. The changes until then may be read later: they stay.
            if (again and again.id) == (newest and newest.id):
                replaced = [policy for policy in policies if policy.owner == task.owner]
                return History(agents, policies, await self._changes_since(workspace_id, since_ms, newest)), replaced
        return contended()

    async def _newest(self, workspace_id: str) -> Change | None:
        changes = (await self._changes.query(workspace_id, ChangeQuery(limit=1))).changes
        return changes[0] if changes else None

    async def _changes_since(self, workspace_id: str, since_ms: int, newest: Change | None) -> list[Change]:
        """The changes from that time until `newest`, newest first."""
        if newest is None or parse_time_ms(newest.timestamp) < since_ms:
            return []
        changes = [newest]
        older_than: str | None = newest.id
        while older_than is not None:
            page = await self._changes.query(
                workspace_id, ChangeQuery(from_ms=since_ms, limit=_PAGE, older_than=older_than)
            )
            changes += page.changes
            older_than = page.older_than
        return changes


def _draft(task: ReplayTask, replaced: list[Policy]) -> list[Policy]:
    try:
        return drafted(task.policies or [], task.owner, replaced)
    except FieldError as error:
        raise Invalid.at(f"$.{error.field}", error.message) from None


def _longest_window_ms(policy: Policy) -> int:
    return 1000 * max((rule.lookback_seconds for rule in policy.rules), default=0)
