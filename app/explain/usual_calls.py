"""Compares a call that waits for a person with what its agent was allowed to do with the tool before."""

from app.audit.log import AuditLog
from app.explain.usual_values import usual_of
from app.fairness.thread_pool import FairThreadPool
from app.model.approvals import Approval
from app.model.audit import AuditQuery
from app.model.decisions import Result
from app.model.usual import Usual
from app.replay.calls import decode_call

_COMPARED = 50
_SEGMENTS_MAX = 256
"""Segments of the log that one comparison reads, at most: those in which the index has the agent and the tool."""


class UsualCalls:
    """Compares calls with the log of one store."""

    def __init__(self, audit: AuditLog, pool: FairThreadPool) -> None:
        self._audit = audit
        self._pool = pool

    async def beside(self, workspace_id: str, approval: Approval) -> Usual:
        """The approval's call beside the latest allowed ones, its own not among them."""
        query = AuditQuery(
            agent_id=approval.agent_id,
            tool_name=approval.tool_name,
            result=Result.ALLOWED,
            limit=_COMPARED + len(approval.decisions),
        )
        lines = await self._audit.latest(workspace_id, query, _SEGMENTS_MAX)
        return await self._pool.run(workspace_id, _beside, approval, lines)


def _beside(approval: Approval, lines: list[bytes]) -> Usual:
    own = set(approval.decisions)
    calls = [call.parameters for call in map(decode_call, lines) if call.id not in own]
    return usual_of(approval.parameters, calls[:_COMPARED])
