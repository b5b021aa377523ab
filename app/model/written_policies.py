"""Checks on the fields of a policy being written, in whichever way; stored policies need not pass them."""

from typing import Protocol

from msgspec import UNSET, Struct, UnsetType

from app.model.fields import AgentMessage, DisplayName
from app.model.policies import PolicyKind, PolicyMode, Priority
from app.model.policy_keys import PolicyKey, require_key
from app.model.rules import PolicyRule, Rules
from app.model.text import require_visible
from app.model.written_rules import require_writable


class Written(Protocol):
    """A whole policy, or changes to one."""

    @property
    def name(self) -> str | UnsetType: ...

    @property
    def rules(self) -> list[PolicyRule] | UnsetType: ...

    @property
    def key(self) -> str | UnsetType | None: ...

    @property
    def agent_message(self) -> str | UnsetType | None: ...


def require_written(given: Written, message_field: str = "agentMessage") -> None:
    """Raise FieldError at the first field that may not be written like this.

    message_field: the spelling of agent_message there.
    """
    if given.name is not UNSET:
        require_visible("name", given.name)
    if given.rules is not UNSET:
        require_writable(given.rules)
    if given.key is not UNSET and given.key is not None:
        require_key("key", given.key)
    if given.agent_message is not UNSET and given.agent_message is not None:
        require_visible(message_field, given.agent_message, lines=True)


class WrittenPolicy(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A whole policy without its owner.

    kind: A grant decides by tiers. A guardrail is evaluated on every call and never allows.
    rules: The rules, in order. Any that denies denies; else any that escalates escalates.
    priority: Higher values are evaluated first; policies of equal priority decide together.
    enabled: A policy that is not enabled is skipped.
    mode: `enforce` decides; `shadow` changes no answer, and the log says where it would have.
    """

    name: DisplayName
    rules: Rules
    kind: PolicyKind = PolicyKind.GRANT
    priority: Priority = 0
    enabled: bool = True
    mode: PolicyMode = PolicyMode.ENFORCE
    key: PolicyKey | None = None
    agent_message: AgentMessage | None = None

    def __post_init__(self) -> None:
        require_written(self)
