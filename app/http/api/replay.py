"""/v1/replay: what a draft of policies would have changed in the logged decisions."""

from typing import Any, ClassVar

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.response import Stream
from msgspec import field

from app.errors import AgentNotFound, AuditLogDamaged, Invalid, TooManyReplays
from app.http.authentication import raw_key_in_use
from app.http.bodies import MAX_SET_BYTES, MAX_SET_NESTED, Body
from app.http.endpoint import endpoint
from app.http.open_streams import UNBUFFERED, while_valid
from app.http.references import agent_in_body, require_references
from app.model.agents import AgentRef, GroupName
from app.model.api_keys import Caller, Scope
from app.model.fields import Timestamp
from app.model.policy_sets import Entries
from app.model.replays import ReplayLine, ReplayTask
from app.model.times import SPAN_MS, parse_time_ms
from app.replica import Services

_SPAN_MS = SPAN_MS["w"]


class ReplayBody(Body, frozen=True):
    """What to replay. Without `agent_id` and `group`, the calls of every agent, and the workspace's policies.

    agent_id: The agent, by its id or its alias, whose calls are replayed and whose own policies the draft replaces.
    group: The same for a group of agents.
    from_: The start of the span; a week before `to` if left out.
    to: The end of the span; now if left out.
    policies: The draft: all policies that the agent, the group or the workspace would own. Left out: the policies as
    they were at the time of each call, which should change nothing.
    """

    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id"}
    max_bytes: ClassVar[int] = MAX_SET_BYTES
    max_nested: ClassVar[int] = MAX_SET_NESTED

    agent_id: AgentRef | None = None
    group: GroupName | None = None
    from_: Timestamp | None = field(name="from", default=None)
    to: Timestamp | None = None
    policies: Entries | None = None

    def __post_init__(self) -> None:
        require_references(self.agent_id, self.group)

    def task(self, workspace_id: str, agent_id: str | None, now_ms: int) -> ReplayTask:
        """The task described by the body. Raises Invalid."""
        to_ms = time_ms_in("to", self.to, now_ms, end=True)
        return ReplayTask(
            workspace_id=workspace_id,
            agent_id=agent_id,
            group=self.group,
            from_ms=time_ms_in("from", self.from_, max(0, to_ms - _SPAN_MS)),
            to_ms=to_ms,
            policies=self.policies,
        )


async def has_room(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """A guard that refuses a replay above the limit before its body is read, so that refusals are cheap."""
    caller: Caller = connection.scope["state"]["caller"]
    connection.app.state.services.log.replays.require_room(caller.workspace_id, caller.root)


@endpoint(
    "POST",
    "/v1/replay",
    reads_only=True,
    tag="Audit log",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT),
    answer=ReplayLine,
    media=("application/x-ndjson",),
    errors=(AgentNotFound, TooManyReplays, AuditLogDamaged),
    litestar={"guards": [has_room]},
)
async def replay_log(request: Request[Any, Any, Any], data: ReplayBody, caller: Caller, services: Services) -> Stream:
    """Replay the log under a draft of policies.

    Judges the logged calls of a span of time again by the draft, with rate limits and budgets counted on the log's own
    timeline, and reports which results flip. The answer is one JSON object per line: progress, samples as they are
    found, and last the report; an answer without the report is incomplete. Calls that cannot be judged are counted,
    never guessed. Nothing is taken, logged or changed.
    """
    raw_key = raw_key_in_use(request)
    agent_id = await agent_in_body(services.records, caller, data.agent_id)
    task = data.task(caller.workspace_id, agent_id, await services.log.audit.now_ms())
    await services.log.replayer.require_possible(task)
    lines = while_valid(services.streams, raw_key, await services.log.replays.begin(task, caller.root))
    return Stream(lines, media_type="application/x-ndjson", headers=UNBUFFERED)


def time_ms_in(name: str, text: str | None, default_ms: int, *, end: bool = False) -> int:
    """The time in a body's field of this name. Raises Invalid."""
    try:
        return default_ms if text is None else parse_time_ms(text, end=end)
    except ValueError as error:
        raise Invalid.at(f"$.{name}", str(error)) from None
