"""/v1/agents/{agent_id}/history: what an agent's calls were answered, and what was changed meanwhile."""

from msgspec import Struct

from app.errors import AgentNotFound, AuditLogDamaged
from app.http.endpoint import endpoint
from app.http.references import agent_in_path
from app.model.api_keys import Caller, Scope
from app.model.changes import Change, HistoryQuery
from app.model.counts import CountBy, CountQuery
from app.model.decisions import Result
from app.model.fields import Count, Id
from app.replica import Services


class AnsweredCount(Struct, frozen=True):
    """How many calls got a result for one reason.

    result: The result.
    code: Why, as the decisions' `code`; null: the entry has none.
    count: How many.
    """

    result: Result
    code: str | None
    count: Count


class AgentHistory(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an agent's calls were answered in a span of time, and what was changed meanwhile.

    agent_id: The agent.
    counts: Its decisions by result and code, the most frequent of each result first.
    changes: The changes that concerned it, newest first.
    next_cursor: The `cursor` of the next page of changes; null on the last page.
    complete: Whether the trail was read as far back as the span asks; if not, older changes are missing.
    """

    agent_id: Id
    counts: list[AnsweredCount]
    changes: list[Change]
    next_cursor: str | None
    complete: bool


@endpoint(
    "GET",
    "/v1/agents/{agent_id}/history",
    tag="Agents",
    scopes=(Scope.ADMIN, Scope.AUDIT),
    errors=(AgentNotFound, AuditLogDamaged),
)
async def get_history(agent_id: str, params: HistoryQuery, caller: Caller, services: Services) -> AgentHistory:
    """Read what an agent's calls were answered, and what was changed meanwhile.

    One list has the changes of the agent, among them its groups and what breakers did to it, of every policy and
    guardrail that governed it when it was changed, and of the keys and issuers that name the agent. So what is refused
    now, and was not before, is in the counts, and its cause in the list. An agent that was deleted has its history, by
    its id.
    """
    known = await agent_in_path(services.records, caller, agent_id)
    found = await services.explanations.agent_trail.query(caller.workspace_id, known, params)
    query = CountQuery(agent_id=known, from_ms=params.from_ms, to_ms=params.to_ms, by=CountBy.CODE)
    counted = await services.log.audit.counts_by_result(caller.workspace_id, query)
    counts = [AnsweredCount(result, each.value, each.count) for result, codes in counted.items() for each in codes]
    return AgentHistory(
        agent_id=known,
        counts=counts,
        changes=found.changes,
        next_cursor=found.older_than,
        complete=found.complete,
    )
