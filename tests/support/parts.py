"""Parts of a replica as tests need them: what production passes to a constructor, unless a test passes its own."""

from app.authorize.agent_cache import AgentCache
from app.authorize.authorizer import Authorizer
from app.authorize.escalation.commit import EscalatedCommit
from app.authorize.escalation.named import NamedApprovals
from app.authorize.escalation.open_approvals import OpenApprovals
from app.authorize.escalation.request import Bounds
from app.explain.agent_history import AgentHistory
from app.explain.explainer import Explainer
from app.http.protocol.connections import Connections
from app.redaction.redactor import Redactor
from app.redaction.signer import UNSIGNED
from app.runtime.fairness.loop_budget import LoopBudget
from app.runtime.fairness.thread_pool import FairThreadPool
from app.runtime.lanes.lane import Lane
from app.store.agents import Agents
from app.store.api_keys import ApiKeys
from app.store.divergences import Divergences
from app.store.limits import WorkspaceLimits
from app.store.policies import Policies
from app.store.policy_reviews import PolicyReviews
from app.store.policy_sets import PolicySets
from app.store.policy_versions import PolicyVersions

LIMITS = WorkspaceLimits()


def agents(client, ids, limits=LIMITS):
    return Agents(client, ids, limits, FairThreadPool())


def policies(client, ids, limits=LIMITS):
    return Policies(client, ids, limits, FairThreadPool())


def policy_sets(client, ids, limits=LIMITS):
    return PolicySets(client, ids, limits, FairThreadPool())


def policy_versions(client, policies, kept):
    return PolicyVersions(client, policies, kept, FairThreadPool())


def policy_reviews(client, ids, limits=LIMITS):
    sets, agents_of = policy_sets(client, ids, limits), agents(client, ids, limits)
    return PolicyReviews(client, ids, limits, FairThreadPool(), sets, agents_of)


def divergences(client):
    return Divergences(client, FairThreadPool())


def api_keys(client, ids, limits=LIMITS):
    return ApiKeys(client, ids, limits)


def agent_cache(agents, compile_agent, max_bytes, **others):
    return AgentCache(agents, compile_agent, max_bytes, pool=FairThreadPool(), budget=LoopBudget(Lane()), **others)


def authorizer(cache, commit, escalated, clock, ids, metrics, client=None):
    return Authorizer(
        agents=cache,
        commit=commit,
        escalated=escalated,
        named=NamedApprovals(client, ids, UNSIGNED, 1 << 30),
        clock=clock,
        ids=ids,
        metrics=metrics,
        pool=FairThreadPool(),
        budget=LoopBudget(Lane()),
        kept=lambda logged, _: logged,
    )


def escalated_commit(read, signer, bounds=Bounds()):  # noqa: B008 - a frozen struct
    return EscalatedCommit(
        approvals=OpenApprovals(read), signer=signer, bounds=bounds, pool=FairThreadPool(), redactor=Redactor(())
    )


def agent_history(client, kept):
    return AgentHistory(client, kept, FairThreadPool())


def explainer(*given):
    return Explainer(*given, FairThreadPool())


def connections(count=lambda _: None, lane=None, **others):
    return Connections(lane or Lane(), count, **others)
