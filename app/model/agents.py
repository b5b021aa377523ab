"""Agents, whose calls Remit judges."""

import hashlib
import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, TypedDict

from msgspec import Meta, Struct

from app.model.api_keys import without_raw_keys
from app.model.fields import Uuid
from app.model.ids import uuid_of
from app.model.text import CONTAINS_A_KEY, VISIBLE, FieldError, require_visible

MAX_GROUPS = 16
MAX_ALIAS = 128
_PART = r"\.*[A-Za-z0-9_@:-][A-Za-z0-9._@:-]*"
_ALIAS = f"{_PART}(/{_PART})*"
_spelled_as_alias = re.compile(_ALIAS).fullmatch
_shaped_as_uuid = re.compile(r"(urn:uuid:)?[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE).fullmatch
ALIAS_RULES = f"1 to {MAX_ALIAS} of A-Z a-z 0-9 . _ @ : - and /, with more than dots between slashes"
REFERENCE_RULES = f"must be an agent's id, which is a UUID, or its alias: {ALIAS_RULES}"
CALLED: dict[str, Any] = {"minLength": 1, "maxLength": MAX_ALIAS, "pattern": f"^{_ALIAS}$"}
"""The schema of an alias, and of an id or alias; `require_alias` is authoritative."""


def require_groups(field: str, groups: Sequence[str]) -> None:
    """Raise FieldError unless every name is visible and none is repeated."""
    for index, name in enumerate(groups):
        require_visible(f"{field}[{index}]", name)
        if name in groups[:index]:
            raise FieldError(f"{field}[{index}]", f'"{name}" is named twice')


def require_alias(field: str, text: str) -> None:
    """Raise FieldError unless the string can be an agent's alias: one or more plain path segments, and not an id."""
    if len(text) > MAX_ALIAS or not _spelled_as_alias(text):
        raise FieldError(field, f"must be {ALIAS_RULES}")
    require_no_id(field, text)


def require_no_id(field: str, text: str) -> None:
    """Raise FieldError if programs could take the name for an id, or if it contains a raw key."""
    if _shaped_as_uuid(text):
        raise FieldError(field, "looks like a UUID, and would be taken for an id; give it another form")
    if without_raw_keys(text) != text:
        raise FieldError(field, CONTAINS_A_KEY)


GroupName = Annotated[str, Meta(min_length=1, max_length=64, extra_json_schema=VISIBLE)]
Groups = Annotated[
    tuple[GroupName, ...],
    Meta(
        max_length=MAX_GROUPS,
        description="Groups it belongs to; their policies govern it, too.",
        extra_json_schema={"uniqueItems": True},
        extra={"check": require_groups},
    ),
]
Alias = Annotated[
    str,
    Meta(
        description="A name for programs, unique among the workspace's agents; accepted wherever an agent's id is. "
        "Never in the form of a UUID.",
        extra_json_schema=CALLED,
        extra={"check": require_alias},
    ),
]
DEFAULT_TYPE = "agent"
AgentType = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="What kind of principal it is, as AuthZEN's `subject.type` names it.",
        extra_json_schema=VISIBLE,
        extra={"check": require_visible},
    ),
]
AgentRef = Annotated[str, Meta(description="The agent's id or its alias.", extra_json_schema=CALLED)]


class AgentStatus(StrEnum):
    """Only calls of an `active` agent can be allowed. `revoked` is final."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    REVOKED = "revoked"


class Trip(Struct, frozen=True, rename="camel"):
    """The denial breaker that suspended an agent.

    policy_id: The policy that it is in.
    decision_id: The denied decision that filled it.
    """

    policy_id: Uuid
    decision_id: Uuid


class Agent(Struct, frozen=True, kw_only=True):
    """An agent of a workspace.

    alias: a name that programs may use instead of the id; unique among the agents of the workspace.
    type: what kind of principal it is; AuthZEN's `subject.type` must equal it.
    groups: names of the groups it belongs to; their policies govern it in addition to its own.
    revision: 1 on creation, one more with every change of the agent's own fields; the API shows it as `version`.
    version: 128 random bits in hexadecimal, replaced whenever the agent or one of its policies changes;
    a plan is committed only if the version is still the one it was made from. Random rather than a
    counter, because a counter can repeat after a failover.
    active_since: the revision that last made it active; 0 if it always has been. Denial breakers count from there.
    remembers_since: the revision at which people last made it forget what they had approved; 0 if they never did.
    tripped: the breaker that suspended it; None unless a breaker did, and again once it is reactivated.
    """

    id: str
    name: str
    description: str | None = None
    status: AgentStatus = AgentStatus.ACTIVE
    groups: tuple[str, ...] = ()
    alias: str | None = None
    type: str = DEFAULT_TYPE
    created_ms: int
    updated_ms: int
    revision: int = 1
    version: str
    active_since: int = 0
    remembers_since: int = 0
    tripped: Trip | None = None


class AgentFields(TypedDict, total=False):
    """The fields of an agent that an administrator sets, in the order in which the trail of changes shows them."""

    name: str
    description: str | None
    status: AgentStatus
    groups: tuple[str, ...]
    alias: str | None
    type: str


def is_alias(text: str) -> bool:
    """True if an agent may have this alias."""
    try:
        require_alias("", text)
    except FieldError:
        return False
    return True


def agent_reference(text: str) -> str | None:
    """The agent's id in lower case, or its alias; None if the string can be neither."""
    return _reference(text) if len(text) <= MAX_ALIAS else None  # longer ones are not worth the memory


def agent_named(text: str) -> str | None:
    """As `agent_reference`, but a URL, which no alias is, names the agent whose alias has one slash for its two."""
    return agent_reference(text) or agent_reference(text.replace("://", ":/", 1))


def require_reference(text: str) -> str:
    """As `agent_reference`, but raises ValueError if the string can be neither."""
    reference = agent_reference(text)
    if reference is None:
        raise ValueError(REFERENCE_RULES)
    return reference


@lru_cache(maxsize=4096)
def _reference(text: str) -> str | None:
    return uuid_of(text) or (text if is_alias(text) else None)


def group_digest(name: str) -> str:
    """The group's digest, used in key and field names in place of the name that people chose."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
