"""The composition root: nothing else builds objects."""

import zoneinfo
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from litestar import Litestar

from app import heap
from app.authorizer import Authorizer
from app.http.application import build_application
from app.lockouts import Lockouts
from app.metrics import Metrics
from app.model.ids import Ids
from app.model.limits import Limits
from app.pdp import Redactor, compile_agent
from app.rates import Rates
from app.services import Services
from app.settings import Settings, SettingsError
from app.store.agent_cache import AgentCache
from app.store.agents import Agents
from app.store.audit import AuditLog
from app.store.audit_lag import SealingWatch
from app.store.callers import Callers
from app.store.changes import Changes
from app.store.client import open_client
from app.store.clock import StoreClock
from app.store.commit import CommitDecision, Runner
from app.store.connections import MasterLocator, StoreUrl
from app.store.keys import Keys
from app.store.link import PipelinedLink
from app.store.policies import Policies
from app.store.scripts import COMMIT_DECISION
from app.store.workspaces import Workspaces


def create_app(settings: Settings, metrics: Metrics | None = None) -> Litestar:
    """The ASGI application of one replica; it connects to the store when it starts.

    metrics: where it counts; None = in memory of its own.
    """
    # One set of time zones on every replica, the one that is locked; what the system has may be older.
    zoneinfo.reset_tzpath(())
    return build_application(lambda: open_services(settings, metrics))


@asynccontextmanager
async def open_services(settings: Settings, metrics: Metrics | None = None) -> AsyncIterator[Services]:
    """The parts of a replica, connected to the store that the settings name. Raises StoreUnavailable."""
    if settings.redis_url is None:
        raise SettingsError("REMIT_REDIS_URL: there is no store; `remit serve` starts one of its own")
    url = settings.redis_url
    metrics = metrics or Metrics()
    client = open_client(url, settings.store_timeout_ms, wait_replicas=settings.wait_replicas)
    prompt = open_client(url, settings.store_timeout_ms, prompt=True)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(client.close)
        stack.push_async_callback(prompt.close)
        where = StoreUrl.parse(url)
        runner: Runner = prompt
        if where.topology != "cluster":
            server = MasterLocator(where) if where.topology == "sentinel" else url
            link = PipelinedLink(server, settings.store_timeout_ms, [COMMIT_DECISION], written=metrics.sent)
            stack.push_async_callback(link.close)
            await link.open()
            runner = link
        ids, clock = Ids(), StoreClock()
        limits = Limits(
            agents=settings.agents_max,
            policies_per_agent=settings.policies_per_agent_max,
            policies=settings.policies_max,
            rate_limits_per_agent=settings.rate_limits_per_agent_max,
            rules_bytes_per_agent=settings.rules_bytes_per_agent_max,
            keys=settings.keys_max,
        )
        keys, agents = Keys(client, ids, limits), Agents(client, ids, limits)
        redactor = Redactor(settings.redact.split(","))
        workspaces = Workspaces(client, ids, keys)
        cache = AgentCache(
            Agents(prompt, ids),
            lambda agent, policies: compile_agent(agent, policies, redactor.is_secret),
            settings.agent_cache_bytes,
            kept=heap.set_aside,
        )
        callers = Callers(client, settings.caller_cache_size, prompt)
        metrics.watch("remit_agent_cache_bytes", lambda: cache.bytes_held)
        metrics.watch("remit_agent_cache_entries", lambda: len(cache))
        metrics.watch("remit_caller_cache_entries", lambda: len(callers))
        commit = CommitDecision(runner, clock, settings.audit_backlog_max, metrics.answered)
        if settings.bootstrap_key is not None:
            await workspaces.ensure_default(settings.bootstrap_key)
        yield Services(
            settings=settings,
            client=client,
            workspaces=workspaces,
            keys=keys,
            callers=callers,
            rates=Rates(settings.requests_per_second),
            lockouts=Lockouts(settings.auth_failures_per_minute, settings.proxies),
            agents=agents,
            policies=Policies(client, ids, limits),
            audit=AuditLog(client),
            sealing=SealingWatch(client),
            changes=Changes(client),
            redactor=redactor,
            authorizer=Authorizer(cache, commit, clock, ids, metrics),
            metrics=metrics,
        )
