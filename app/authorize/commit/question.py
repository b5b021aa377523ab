"""What a commit is asked to decide: a plan, what it was made from, and what to do about the call's approval."""

from msgspec import Struct

from app.authorize.agent_cache import CachedAgent
from app.model.api_keys import Caller
from app.model.decisions import AuthorizeRequest
from app.model.escalations import JointTerms
from app.model.plans import Plan, Tokens
from app.pdp import CompiledAgent


class ApprovalStep(Struct, frozen=True, kw_only=True):
    """What the commit does if a person must approve; if the step does not apply, the reply is `Escalates`.

    step: ask = create an approval, attach = join the pending one, use = use the approved one, probe = nothing.
    current_id, current_version: the call's approval as it was read.
    full: the quotas that the plan takes to be full.
    terms, rules, policies: the approval's conditions, the fingerprints of the rules that ask, and their policies' ids.
    memories: the names of what will remember the call's values once people approve.
    values: JSON of where the call's values come from. commands: JSON of what its shell line runs; empty = no line.
    said: JSON of what the agent says in parameters that are not bound; empty = there are none.
    other_reasons: follow the reason in the approval, if several rules ask.
    asker_id: the key that asked for the approval.
    bound, digest: what the approval binds, and its MAC. hides: whether people see less than that.
    parameters: as people see them; empty = as in the log.
    agent_max, workspace_max, rule_max: approvals that may be open at once.
    """

    step: str
    approval_id: str
    digest: str
    current_id: str = ""
    current_version: str = "0"
    full: tuple[int, ...] = ()
    terms: JointTerms = JointTerms()
    rules: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    values: bytes = b"[]"
    commands: bytes = b""
    said: bytes = b""
    other_reasons: str = ""
    asker_id: str = ""
    bound: tuple[str, ...] = ()
    hides: bool = False
    parameters: bytes = b""
    agent_max: int = 500
    workspace_max: int = 10_000
    rule_max: int = 100


class CommitQuestion(Struct, frozen=True, gc=False):
    """A plan to turn into a decision.

    tokens: the version tokens that the plan was made from.
    arrived_us: the request's arrival by the store's clock; the entry's latency counts from it.
    waited_us: how long ago that was by our own monotonic clock.
    cached: the agent's cache entry, with its packed commits; None = the agent is not cached.
    approval: None = nobody is asked, and a call that escalates is answered as escalated.
    now_us: for tests and supposed calls; None = the store's own clock.
    """

    caller: Caller
    request: AuthorizeRequest
    tokens: Tokens
    plan: Plan
    decision_id: str
    arrived_us: int
    waited_us: int = 0
    cached: CachedAgent[CompiledAgent] | None = None
    approval: ApprovalStep | None = None
    now_us: int | None = None
