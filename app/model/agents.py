"""Agents: whose calls are judged."""

from enum import StrEnum

from msgspec import Struct


class AgentStatus(StrEnum):
    """Only an `active` agent is ever allowed anything. `revoked` is final."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    REVOKED = "revoked"


class Agent(Struct, frozen=True, kw_only=True):
    """An agent of a workspace.

    revision: 1 on creation, one more with every change of the agent's own fields; the API shows it as `version`.
    version: 128 random bits in hexadecimal, replaced whenever the agent or one of its policies changes;
    a plan is committed only while it is still the one the plan was made from. Random rather than a
    counter, because a counter can repeat after a failover.
    """

    id: str
    name: str
    description: str | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    created_ms: int
    updated_ms: int
    revision: int = 1
    version: str
