"""/v1/policies/propose: policies for an agent, made from its log. Nothing is stored."""

from typing import Any, ClassVar

from litestar import Request
from litestar.response import Stream
from msgspec import field

from app.errors import AgentNotFound, AuditLogDamaged, NothingToLearn, TooManyReplays
from app.http.api.replay import has_room, time_ms_in
from app.http.authentication import raw_key_in_use
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.open_streams import UNBUFFERED, while_valid
from app.http.references import agent_in_body
from app.model.agents import AgentRef
from app.model.api_keys import Caller, Scope
from app.model.fields import Timestamp
from app.model.proposals import ProposalFilter, ProposalLine, ProposeTask, Reads
from app.model.times import SPAN_MS
from app.replica import Services

_SPAN_MS = 30 * SPAN_MS["d"]


class ProposeBody(Body, frozen=True):
    """What to learn from.

    agent_id: The agent, by its id or its alias.
    from_: The start of the span; 30 days before `to` if left out.
    to: The end of the span; now if left out.
    filter: The calls that a person vouches for; all if left out.
    reads: Which tools that change nothing are granted: those in the log if left out.
    """

    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id"}

    agent_id: AgentRef
    from_: Timestamp | None = field(name="from", default=None)
    to: Timestamp | None = None
    filter: ProposalFilter = ProposalFilter()
    reads: Reads = Reads.SEEN

    def task(self, workspace_id: str, agent_id: str, now_ms: int) -> ProposeTask:
        """The task described by the body. Raises Invalid."""
        to_ms = time_ms_in("to", self.to, now_ms, end=True)
        return ProposeTask(
            workspace_id=workspace_id,
            agent_id=agent_id,
            from_ms=time_ms_in("from", self.from_, max(0, to_ms - _SPAN_MS)),
            to_ms=to_ms,
            wanted=self.filter,
            reads=self.reads,
        )


@endpoint(
    "POST",
    "/v1/policies/propose",
    reads_only=True,
    tag="Policies",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT),
    answer=ProposalLine,
    media=("application/x-ndjson",),
    errors=(AgentNotFound, TooManyReplays, NothingToLearn, AuditLogDamaged),
    litestar={"guards": [has_room]},
)
async def propose_policies(
    request: Request[Any, Any, Any], data: ProposeBody, caller: Caller, services: Services
) -> Stream:
    """Propose policies for an agent from its log and the marks of its tools.

    Learns from calls that were allowed and did not fail, in sessions in which no person denied a call. What only reads
    is granted; what can be undone is allowed as far as three users, or one in twenty, went; everything else asks. Each
    rule names its calls and what it left out. The answer is one JSON object per line: progress, and last the proposal.
    It runs as a replay does, in a process of its own and under the same limits. Nothing is stored or changed.
    """
    raw_key = raw_key_in_use(request)
    agent_id = await agent_in_body(services.records, caller, data.agent_id)
    task = data.task(caller.workspace_id, agent_id or "", await services.log.audit.now_ms())
    await services.log.proposer.require_possible(task)
    lines = while_valid(services.streams, raw_key, await services.log.replays.begin(task, caller.root))
    return Stream(lines, media_type="application/x-ndjson", headers=UNBUFFERED)
