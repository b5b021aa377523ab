"""Explains logged decisions by the policies that governed their agents then."""

from app.audit.log import AuditLog
from app.errors import AgentNotFound, AuditEntryNotFound, VersionNotKept
from app.explain.agent_history import AgentHistory
from app.explain.explained_entry import past_explanation
from app.fairness.thread_pool import FairThreadPool
from app.model.explanations import PastExplanation
from app.pdp.constraints import IsSecret
from app.replay.calls import decode_call
from app.replay.spans import LogPosition


class PastDecisions:
    """Explains decisions on one store."""

    def __init__(self, audit: AuditLog, history: AgentHistory, is_secret: IsSecret, pool: FairThreadPool) -> None:
        self._audit = audit
        self._history = history
        self._is_secret = is_secret
        self._pool = pool

    async def explain(self, workspace_id: str, entry_id: str) -> PastExplanation:
        """The explanation of a decision.

        Raises AuditEntryNotFound if no decision has this id, VersionNotKept.
        """
        sequence, line = await self._audit.entry(workspace_id, entry_id)
        call = decode_call(line)
        if call.result is None or call.type:
            raise AuditEntryNotFound("The entry with this id is not a decision, so there is nothing to explain")
        try:
            entry = LogPosition(call.time_ms, sequence)
            agent, policies = await self._history.governed_at(workspace_id, call.agent_id, entry)
        except AgentNotFound:
            raise VersionNotKept("The agent as it was then is no longer known") from None
        return await self._pool.run(workspace_id, past_explanation, call, agent, policies, self._is_secret)
