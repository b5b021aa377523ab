"""Policies in files: what POST and PATCH /v1/policies take, but for the agent."""

from typing import BinaryIO, TypeVar

import click
import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.model.fields import AgentMessage, DisplayName
from app.model.policies import Priority, Rules
from app.model.policy_keys import PolicyKey, require_key
from app.model.text import require_visible
from app.validation_messages import explain


class PolicyFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A whole policy."""

    name: DisplayName
    rules: Rules
    priority: Priority = 0
    enabled: bool = True
    key: PolicyKey | None = None
    agent_message: AgentMessage | None = None

    def __post_init__(self) -> None:
        require_visible("name", self.name)
        if self.key is not None:
            require_key("key", self.key)
        if self.agent_message is not None:
            require_visible("agentMessage", self.agent_message, lines=True)


class PolicyChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What to change of one."""

    name: DisplayName | UnsetType = UNSET
    rules: Rules | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    key: PolicyKey | None | UnsetType = UNSET
    agent_message: AgentMessage | None | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not UNSET:
            require_visible("name", self.name)
        if self.key is not UNSET and self.key is not None:
            require_key("key", self.key)
        if self.agent_message is not UNSET and self.agent_message is not None:
            require_visible("agentMessage", self.agent_message, lines=True)


T = TypeVar("T", PolicyFile, PolicyChanges)


def read_file(file: BinaryIO, kind: type[T]) -> T:
    """What the file holds. Raises ClickException that names the file and the place in it."""
    try:
        value = msgspec.json.decode(file.read())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{file.name}: is not JSON ({error})") from None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        detail = explain(error, kind, value)
        raise click.ClickException(f"{file.name}: {detail.path}: {detail.message}") from None
