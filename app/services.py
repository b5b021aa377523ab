"""What a running replica is made of; `main` builds one, everything else is handed what it needs."""

import asyncio

from msgspec import Struct, field

from app.authorizer import Authorizer
from app.lockouts import Lockouts
from app.metrics import Metrics
from app.pdp import Redactor
from app.rates import Rates
from app.settings import Settings
from app.store.agents import Agents
from app.store.audit import AuditLog
from app.store.audit_lag import SealingWatch
from app.store.callers import Callers
from app.store.changes import Changes
from app.store.client import Client
from app.store.keys import Keys
from app.store.policies import Policies
from app.store.workspaces import Workspaces


class Services(Struct, frozen=True, kw_only=True):
    """The parts of one replica, connected to its store."""

    settings: Settings
    client: Client
    workspaces: Workspaces
    keys: Keys
    callers: Callers
    lockouts: Lockouts
    rates: Rates
    agents: Agents
    policies: Policies
    audit: AuditLog
    sealing: SealingWatch
    changes: Changes
    redactor: Redactor
    authorizer: Authorizer
    metrics: Metrics
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the replica is told to stop: answers that have no end of their own end then."""
