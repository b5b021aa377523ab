"""/v1/audit-logs/{entry_id}/explanation."""

from litestar import get
from litestar.di import NamedDependency as Handed
from litestar.params import FromPath

from app.errors import AgentNotFound, AuditEntryNotFound, VersionNotKept
from app.http.authentication import requires
from app.http.paths import id_in_path
from app.model.explanations import PastExplanation
from app.model.keys import Caller, Scope
from app.replay.calls import decode_call
from app.replay.explained_entry import past_explanation
from app.replica import Services
from app.store.policy_history import Moment


@get("/v1/audit-logs/{entry_id:str}/explanation", guards=[requires(Scope.READ, Scope.AUDIT)])
async def explain_entry(entry_id: FromPath[str], caller: Handed[Caller], services: Handed[Services]) -> PastExplanation:
    """Why a decision was made: its call, held once more against what governed the agent then."""
    known = id_in_path(entry_id, AuditEntryNotFound("No audit entry has this id"))
    sequence, line = await services.audit.entry(caller.workspace_id, known)
    call = decode_call(line)
    if call.result is None or call.type:
        raise AuditEntryNotFound("The entry with this id is no decision; there is nothing to explain")
    try:
        agent, policies = await services.policy_history.governed_at(
            caller.workspace_id, call.agent_id, Moment(call.time_ms, sequence)
        )
    except AgentNotFound:
        raise VersionNotKept("The agent as it was then is no longer known") from None
    return await services.pool.run(
        caller.workspace_id, past_explanation, call, agent, policies, services.redactor.is_secret
    )
