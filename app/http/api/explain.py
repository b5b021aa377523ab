"""/v1/explain, and /v1/audit-logs/{entry_id}/explanation for a past decision."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from litestar import Request
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from app.errors import AgentNotFound, AuditEntryNotFound, AuditLogDamaged, VersionNotKept
from app.http.api.authorize import read_call
from app.http.bodies import Body, decode_body, read_body
from app.http.endpoint import endpoint
from app.http.hot_path import AsgiCall
from app.http.references import id_in_path
from app.http.tool_calls import reading_of
from app.model.agents import REFERENCE_RULES, Agent, AgentRef, agent_reference
from app.model.api_keys import Caller, Scope
from app.model.decisions import AuthorizeRequest
from app.model.drafts import with_drafts
from app.model.explanations import MAX_DRAFTS, Explanation, PastExplanation
from app.model.fields import Timestamp
from app.model.policies import Policy
from app.model.policy_sets import PolicyEntry
from app.model.text import FieldError, Name, ToolName
from app.model.times import parse_time_ms
from app.replica import Decisions, Explanations, Services
from app.validation_messages import refusing_fields

PATH = "/v1/explain"
_TOO_LATE = "2255-01-01T00:00:00Z"
"""From that year on, microseconds do not fit into the numbers of the store's scripts."""
_YEARS = "^(19[7-9]|20[0-9]|21[0-9]|22[0-4])[0-9]-"
"""For the document: a pattern can compare decades, so it leaves out five years that are accepted."""


class ExplainBody(Body, frozen=True):
    """A hypothetical call to explain: nothing is taken, logged or created.

    tool_name: The tool that the agent would call.
    action: The action that would be attempted; `authorize` if left out.
    parameters: The call's parameters.
    context: What the caller would vouch for.
    at: When the call would be made, before the year 2255, for rules that look at the clock; now if left out. Rate
    limits and budgets are shown as they would be then if nothing else was admitted; for a past time, as they are now.
    policies: Drafts. A draft with the id of a policy that governs the agent replaces it; one without an id is added.
    """

    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id", "toolName": "tool_name"}

    agent_id: AgentRef
    tool_name: ToolName
    action: Name | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET
    at: Annotated[Timestamp, Meta(extra_json_schema={"format": "date-time", "pattern": _YEARS})] | UnsetType = UNSET
    policies: Annotated[list[PolicyEntry], Meta(max_length=MAX_DRAFTS)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if agent_reference(self.agent_id) is None:
            raise FieldError("agent_id", REFERENCE_RULES)
        if self.at is not UNSET:
            try:
                at_ms = parse_time_ms(self.at)
            except ValueError as error:
                raise FieldError("at", str(error)) from None
            if at_ms >= parse_time_ms(_TOO_LATE):
                raise FieldError("at", "must be before the year 2255")


@endpoint(
    "POST",
    "/v1/explain",
    reads_only=True,
    tag="Policies",
    scopes=(Scope.READ, Scope.VIEW, Scope.POLICIES),
    body=ExplainBody,
    errors=(AgentNotFound,),
)
async def explain(request: Request[Any, Any, Any], caller: Caller, services: Services) -> Explanation:
    """Explain what would be answered, and why.

    What authorize would answer to this key, and the part of every rule of every policy in it. The decision itself runs,
    up to the moment of writing: nothing is taken, logged or created, and no approval is requested or used.
    """
    max_bytes = services.decisions.settings.call_bytes_max
    size = min(AsgiCall(request.scope, request.receive).most, max_bytes)
    with services.decisions.large_calls.room_for(caller.workspace_id, caller.root, size):
        return await _explained(services, caller, await read_body(request.receive, max_bytes))


async def _explained(services: Services, caller: Caller, raw: bytes) -> Explanation:
    body, call = await services.pool.run(caller.workspace_id, _decode, services.decisions, caller, raw)
    agent_id = await services.records.agents.id_of(caller.workspace_id, call.agent_id)
    drafts = body.policies or []

    def drafting(agent: Agent, policies: Sequence[Policy]) -> Sequence[Policy]:
        return with_drafts(agent, policies, drafts)

    at_us = None if body.at is UNSET else parse_time_ms(body.at) * 1000
    with refusing_fields():
        return await services.explanations.explainer.explain(caller, replace(call, agent_id=agent_id), at_us, drafting)


def _decode(decisions: Decisions, caller: Caller, raw: bytes) -> tuple[ExplainBody, AuthorizeRequest]:
    """The body, and its call, decoded as authorize would from the same bytes, because approvals are bound to them."""
    body = decode_body(raw, ExplainBody, decisions.settings.call_bytes_max)
    return body, read_call(raw, reading_of(decisions, caller, ()))


@endpoint(
    "GET",
    "/v1/audit-logs/{entry_id}/explanation",
    tag="Audit log",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT),
    errors=(AuditEntryNotFound, AuditLogDamaged, VersionNotKept),
)
async def explain_entry(entry_id: str, caller: Caller, explanations: Explanations) -> PastExplanation:
    """Explain a past decision.

    The part of each policy in the decision, as the policies were when its entry was written. What the log does not
    contain is `unknown`, never guessed. 410 if a policy has changed too often since then.
    """
    known = id_in_path(entry_id, AuditEntryNotFound("No audit entry has this id"))
    return await explanations.past_decisions.explain(caller.workspace_id, known)
