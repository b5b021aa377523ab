"""Agents: whose calls are judged."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from app.model.text import VISIBLE, FieldError, require_visible

MAX_GROUPS = 16
GroupName = Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema=VISIBLE)]
Groups = Annotated[
    list[GroupName],
    Meta(
        max_length=MAX_GROUPS,
        description="Groups it belongs to; their policies govern it, too.",
        extra_json_schema={"uniqueItems": True},
    ),
]


class AgentStatus(StrEnum):
    """Only an `active` agent is ever allowed anything. `revoked` is final."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    REVOKED = "revoked"


class Agent(Struct, frozen=True, kw_only=True):
    """An agent of a workspace.

    groups: names of the groups it belongs to; their policies govern it beside its own.
    revision: 1 on creation, one more with every change of the agent's own fields; the API shows it as `version`.
    version: 128 random bits in hexadecimal, replaced whenever the agent or one of its policies changes;
    a plan is committed only while it is still the one the plan was made from. Random rather than a
    counter, because a counter can repeat after a failover.
    """

    id: str
    name: str
    description: str | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    groups: tuple[str, ...] = ()
    created_ms: int
    updated_ms: int
    revision: int = 1
    version: str


def require_groups(groups: Sequence[str]) -> None:
    """Raise FieldError unless every name can be seen and stands once."""
    for index, name in enumerate(groups):
        require_visible(f"groups[{index}]", name)
        if name in groups[:index]:
            raise FieldError(f"groups[{index}]", f'"{name}" is named twice')


def group_digest(name: str) -> str:
    """The group in the names of keys and fields: what people chose does not stand there."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
