"""The parts of a running replica, in groups by use; they are made here, each with what it needs."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

from msgspec import Struct

from app.approvals.access_requests import AccessRequests
from app.approvals.approvals import Approvals
from app.approvals.following import ApprovalFollower
from app.approvals.reaper import ApprovalReaper
from app.approvals.remembered import RememberedValues
from app.approvals.waiting import WaitingWatch
from app.audit.backlog import SealingWatch
from app.audit.log import AuditLog
from app.audit.read.follow import watch_newest
from app.authorize.agent_cache import AgentCache
from app.authorize.authenticator import CALLERS_CACHED, Authenticator
from app.authorize.authorizer import Authorizer
from app.authorize.batch import BatchAuthorizer
from app.authorize.commit import CommitDecision
from app.authorize.escalation.commit import EscalatedCommit
from app.authorize.escalation.named import NamedApprovals
from app.authorize.escalation.open_approvals import OpenApprovals
from app.authorize.escalation.request import Bounds
from app.consequences import Consequences, PolicyLint, PolicyWrites
from app.explain.access_search import AccessSearch
from app.explain.agent_history import AgentHistory
from app.explain.agent_quotas import QuotaReader
from app.explain.agent_trail import AgentTrail
from app.explain.explained_entry import PastDecisions
from app.explain.explainer import Explainer
from app.explain.replay_jobs.processes import ReplayProcesses
from app.explain.replay_jobs.proposer import Proposer
from app.explain.replay_jobs.replayer import Replayer
from app.explain.tool_listings import ToolListings
from app.explain.usual_values import UsualCalls
from app.identity.admission import Admission
from app.model.agents import Agent
from app.model.api_keys import Caller
from app.model.identity_provider import GroupGrants, IdentityProvider
from app.model.ids import Ids
from app.model.policies import Policy
from app.pdp import CompiledAgent, compile_agent
from app.pdp.rules.pinned_request import pin_macs
from app.redaction.recording import with_request
from app.redaction.redactor import Redactor
from app.redaction.signer import Purpose, Signer
from app.redis_client.blocking import BlockingReader
from app.redis_client.client import Client
from app.redis_client.clients import Clients, open_clients
from app.redis_client.packed_call import ScriptRunner
from app.redis_client.scripts import COMMITS
from app.runtime.clock import StoreClock
from app.runtime.fairness.auth_failures import AuthFailures
from app.runtime.fairness.loop_budget import LoopBudget
from app.runtime.fairness.request_rates import RequestRates, SharedLimits
from app.runtime.fairness.shares import LargeCalls, OpenStreams
from app.runtime.fairness.thread_pool import FairThreadPool, Pool, SlowLanePool
from app.runtime.gc_freeze import freeze_heap
from app.runtime.lanes.lane import Lane, Message
from app.runtime.logs import DecisionNoter, decision_noter
from app.runtime.metrics import Metrics
from app.settings import Settings, SettingsError
from app.store.agents import Agents
from app.store.api_keys import ApiKeys
from app.store.catalog import Catalog
from app.store.changes import Changes
from app.store.divergences import Divergences
from app.store.issuers import Issuers
from app.store.limits import ANSWERS_MAX, WEBHOOKS_MAX, WorkspaceLimits, limits_of_service
from app.store.outcomes import Outcomes
from app.store.pinned_requests import PinnedRequests
from app.store.policies import Policies
from app.store.policy_reviews import PolicyReviews
from app.store.policy_sets import PolicySets
from app.store.policy_versions import PolicyVersions
from app.store.readiness import Readiness
from app.store.resources import Resources
from app.store.shared_polling import SharedPolling
from app.store.sign_ins import SignIns
from app.store.workspaces import Workspaces
from app.webhooks.delivery import Delivery
from app.webhooks.secrets import Secrets
from app.webhooks.webhooks import Webhooks

KEY_WATCH_SECONDS = 0.5
"""Streams end within a second of their key."""


class Records(Struct, frozen=True, kw_only=True):
    """What is stored, read and changed one record at a time."""

    workspaces: Workspaces
    api_keys: ApiKeys
    sign_ins: SignIns
    issuers: Issuers
    agents: Agents
    policies: Policies
    policy_sets: PolicySets
    policy_versions: PolicyVersions
    policy_reviews: PolicyReviews
    divergences: Divergences
    catalog: Catalog
    resources: Resources
    changes: Changes
    approvals: Approvals
    waiting: WaitingWatch
    remembered: RememberedValues
    pinned_requests: PinnedRequests
    access_requests: AccessRequests
    webhooks: Webhooks


class Decisions(Struct, frozen=True, kw_only=True):
    """What a call meets on its way to its decision: who asks, how much they may, and who decides."""

    settings: Settings
    metrics: Metrics
    authenticator: Authenticator
    auth_failures: AuthFailures
    request_rates: RequestRates
    large_calls: LargeCalls
    loop_budget: LoopBudget
    call_pool: Pool
    """Where calls do what takes long."""
    redactor: Redactor
    signer: Signer
    authorizer: Authorizer
    batches: BatchAuthorizer
    outcomes: Outcomes
    note_decision: DecisionNoter | None
    """Logs a decision and how many us its caller waited; None if that is switched off."""


class Explanations(Struct, frozen=True, kw_only=True):
    """Why a call was or would be decided so, which calls an agent may make, and what its limits have left."""

    explainer: Explainer
    past_decisions: PastDecisions
    tool_listings: ToolListings
    access_search: AccessSearch
    usual_calls: UsualCalls
    quota_reader: QuotaReader
    agent_trail: AgentTrail


class Log(Struct, frozen=True, kw_only=True):
    """The audit log, and what judges it again."""

    audit: AuditLog
    sealing: SealingWatch
    replayer: Replayer
    proposer: Proposer
    replays: ReplayProcesses


class Streams(Struct, frozen=True, kw_only=True):
    """What open streams wait for, and how many a key may have."""

    open_streams: OpenStreams
    approval_follower: ApprovalFollower
    newest: SharedPolling[int]
    """The newest entry of each workspace that is being followed."""
    callers: SharedPolling[Caller]
    """The callers, by raw key, of open streams; each is checked about once a second."""
    stopping: asyncio.Event
    """Set when the replica is told to stop; open streams then end."""


class Services(Struct, frozen=True, kw_only=True):
    """The parts of one replica, connected to its store, in groups by use; a handler names the group it uses.

    provider: with which people sign in; None if none is set.
    """

    settings: Settings
    provider: IdentityProvider | None
    client: Client
    readiness: Readiness
    metrics: Metrics
    pool: FairThreadPool
    records: Records
    consequences: Consequences
    decisions: Decisions
    explanations: Explanations
    log: Log
    streams: Streams


@asynccontextmanager
async def open_services(
    settings: Settings, metrics: Metrics, lane: Lane, shared: SharedLimits, *, store_required: bool = False
) -> AsyncIterator[Services]:
    """The parts of a replica, connected to the store in the settings.

    metrics, shared: of the whole replica. lane: which of its lanes this is. store_required: raise StoreUnavailable if
    the store cannot be reached or is still loading, instead of refusing calls until it is ready.
    """
    if settings.redis_url is None:
        raise SettingsError("REMIT_REDIS_URL: there is no store; `remit serve` starts one of its own")
    url, pool, stopping = settings.redis_url, FairThreadPool(), asyncio.Event()
    async with AsyncExitStack() as stack:
        stack.callback(pool.close)
        clients = await stack.enter_async_context(
            open_clients(
                url,
                settings.store_timeout_ms,
                COMMITS,
                settings.wait_replicas,
                metrics.sent,
                required=store_required,
            )
        )
        follower = ApprovalFollower(BlockingReader(url), stopping)
        stack.push_async_callback(follower.close)
        services = _services(
            settings, metrics, lane, shared, clients=clients, pool=pool, follower=follower, stopping=stopping
        )
        if settings.bootstrap_key is not None:
            await services.records.workspaces.ensure_default(settings.bootstrap_key)
        yield services


def _services(
    settings: Settings,
    metrics: Metrics,
    lane: Lane,
    shared: SharedLimits,
    *,
    clients: Clients,
    pool: FairThreadPool,
    follower: ApprovalFollower,
    stopping: asyncio.Event,
) -> Services:
    """Every part, with what it needs. Nothing is sent to the store yet."""
    client, prompt, runner = clients
    ids, clock, limits = Ids(), StoreClock(), _workspace_limits(settings)
    call_pool, budget = SlowLanePool(pool, lane), LoopBudget(lane)
    redactor, signer = Redactor(settings.redact.split(",")), Signer(settings.secrets)

    def macs(value: bytes) -> tuple[str, ...]:
        return tuple(signer.macs(Purpose.REMEMBERED, value))

    def compiled(agent: Agent, policies: Sequence[Policy], marks: Mapping[str, int]) -> CompiledAgent:
        return compile_agent(agent, policies, redactor.may_be_secret, marks, macs)

    api_keys, agents = ApiKeys(client, ids, limits), Agents(client, ids, limits, pool)
    policies, catalog, changes = Policies(client, ids, limits, pool), Catalog(client), Changes(client)
    audit = AuditLog(client, drops_unarchived=settings.drops_unarchived)
    history = AgentHistory(client, limits.policy_versions, pool)

    reader = Agents(prompt, ids, limits, pool)
    cache = AgentCache(reader, compiled, settings.agent_cache_bytes, kept=freeze_heap, pool=pool, budget=budget)
    issuers, provider = Issuers(client, ids), _provider(settings)
    granted = GroupGrants() if provider is None else GroupGrants(provider.issuer, provider.table)
    authenticator = Authenticator(
        client,
        CALLERS_CACHED,
        prompt,
        tell=partial(lane.send_message, Message.KEYS_HAVE_WORKED),
        admit=Admission(client, issuers, lane).admit,
        granted=granted,
    )
    lane.on_message(Message.KEYS_HAVE_WORKED, authenticator.hear)
    lane.on_message(Message.ASKS_FOR_KEYS, lambda _: authenticator.tell_all())
    lane.send_message(Message.ASKS_FOR_KEYS)  # this process may be the successor of a killed one
    metrics.watch("remit_agent_cache_bytes", lambda: cache.bytes_held)
    metrics.watch("remit_agent_cache_entries", lambda: len(cache))
    metrics.watch("remit_caller_cache_entries", lambda: len(authenticator))
    commit = _commit(settings, metrics, runner, clock)
    unwritten = CommitDecision(prompt, clock, settings.audit_backlog_max, patience_us=None)
    bounds = Bounds(settings.approvals_per_agent_max, settings.approvals_max)
    escalated = EscalatedCommit(
        approvals=OpenApprovals(runner.call), signer=signer, bounds=bounds, pool=call_pool, redactor=redactor
    )
    resources, sealing = Resources(client), SealingWatch(client)
    authorizer = Authorizer(
        agents=cache,
        commit=commit,
        escalated=escalated,
        named=NamedApprovals(prompt, ids, signer, settings.audit_backlog_max),
        clock=clock,
        ids=ids,
        metrics=metrics,
        pool=call_pool,
        budget=budget,
        kept=partial(with_request, redactor=redactor),
    )
    approvals, sets = Approvals(client, ids, settings.audit_backlog_max), PolicySets(client, ids, limits, pool)
    records = Records(
        workspaces=Workspaces(client, ids, api_keys),
        api_keys=api_keys,
        sign_ins=SignIns(client, ids, settings.sign_in_idle_seconds * 1_000),
        issuers=issuers,
        agents=agents,
        policies=policies,
        policy_sets=sets,
        policy_versions=PolicyVersions(client, policies, limits.policy_versions, pool),
        policy_reviews=PolicyReviews(client, ids, limits, pool, sets, agents),
        divergences=Divergences(client, pool),
        catalog=catalog,
        resources=resources,
        changes=changes,
        approvals=approvals,
        waiting=WaitingWatch(client),
        access_requests=AccessRequests(client, ids, approvals, settings.audit_backlog_max),
        remembered=RememberedValues(client, agents),
        pinned_requests=PinnedRequests(client, ids, lambda request: pin_macs(request, macs)),
        webhooks=Webhooks(client, ids, Secrets(signer), WEBHOOKS_MAX),
    )
    return Services(
        settings=settings,
        provider=provider,
        client=client,
        readiness=Readiness(lane, client, (runner, prompt), partial(sealing.require_room, settings.audit_backlog_max)),
        metrics=metrics,
        pool=pool,
        records=records,
        consequences=_consequences(
            records, ApprovalReaper(client, ids, settings.audit_backlog_max), settings, signer, pool, granted
        ),
        decisions=Decisions(
            settings=settings,
            metrics=metrics,
            authenticator=authenticator,
            auth_failures=shared.auth_failures,
            request_rates=shared.request_rates,
            large_calls=LargeCalls(),
            loop_budget=budget,
            call_pool=call_pool,
            redactor=redactor,
            signer=signer,
            authorizer=authorizer,
            batches=BatchAuthorizer(authorizer),
            outcomes=Outcomes(client, ids, settings.audit_backlog_max, metrics.reported),
            note_decision=decision_noter(settings.log_decisions, cache.agent, tracing=settings.tracing),
        ),
        explanations=Explanations(
            explainer=Explainer(
                client=client,
                agents=agents,
                unwritten=unwritten,
                escalated=escalated,
                clock=clock,
                ids=ids,
                compile_agent=compiled,
                pool=pool,
            ),
            past_decisions=PastDecisions(audit, history, redactor.may_be_secret, pool),
            tool_listings=ToolListings(client, cache, catalog, clock, redactor.may_be_secret, pool),
            access_search=AccessSearch(client, agents, cache, clock, pool),
            usual_calls=UsualCalls(audit, policies, pool),
            quota_reader=QuotaReader(client, cache, audit, clock, redactor.may_be_secret),
            agent_trail=AgentTrail(client),
        ),
        log=Log(
            audit=audit,
            sealing=sealing,
            replayer=Replayer(agents, policies, changes, audit, redactor.may_be_secret),
            proposer=Proposer(agents, policies, catalog, audit),
            replays=ReplayProcesses(settings, stopping),
        ),
        streams=Streams(
            open_streams=OpenStreams(settings.streams_per_key),
            approval_follower=follower,
            newest=watch_newest(client, stopping),
            callers=SharedPolling(authenticator.still_valid, KEY_WATCH_SECONDS, stopping),
            stopping=stopping,
        ),
    )


def _provider(settings: Settings) -> IdentityProvider | None:
    """The identity provider. Its libraries take a while to load, so they are imported only if there is one."""
    if settings.oidc_issuer is None:
        return None
    try:
        from app.identity.provider import Provider  # noqa: PLC0415 - its libraries take 20 MiB
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"REMIT_OIDC_ISSUER needs the extra `oidc`: pip install -e '.[oidc]' in a checkout ({error})"
        ) from None
    return Provider(settings)


def _consequences(
    records: Records,
    reaper: ApprovalReaper,
    settings: Settings,
    signer: Signer,
    pool: FairThreadPool,
    granted: GroupGrants,
) -> Consequences:
    lint = PolicyLint(records.agents, records.policy_sets, records.catalog, pool, records.workspaces, granted.table)
    kept = records.policies, records.policy_sets, records.policy_versions, records.policy_reviews
    writes = PolicyWrites(*kept, lint, reaper.end_soon)
    return Consequences(lint, writes, reaper, Delivery(settings, Secrets(signer)))


def open_alone(settings: Settings) -> AbstractAsyncContextManager[Services]:
    """The same parts for a process that answers no requests, such as a command. Raises StoreUnavailable."""
    return open_services(settings, Metrics(), Lane(), shared_limits(settings), store_required=True)


def shared_limits(settings: Settings) -> SharedLimits:
    """The limits of one replica, with nothing counted yet."""
    return SharedLimits(
        RequestRates(settings.requests_per_second), AuthFailures(settings.auth_failures_per_minute, settings.proxies)
    )


def _workspace_limits(settings: Settings) -> WorkspaceLimits:
    return limits_of_service(
        agents=settings.agents_max,
        policies_per_agent=settings.policies_per_agent_max,
        policies=settings.policies_max,
        keys=settings.keys_max,
        policy_versions=settings.policy_versions_max,
        second_person=settings.review == "policies",
    )


def _commit(settings: Settings, metrics: Metrics, runner: ScriptRunner, clock: StoreClock) -> CommitDecision:
    return CommitDecision(
        runner,
        clock,
        settings.audit_backlog_max,
        answered=metrics.answered,
        patience_us=settings.store_timeout_ms * 1_000,
        first_answers_max=ANSWERS_MAX,
        diverged=metrics.diverged,
        tripped=metrics.breaker_tripped,
        crowded=metrics.crowded,
        filling=metrics.filling,
    )
