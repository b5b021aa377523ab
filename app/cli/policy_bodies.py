"""Policies in files: the bodies of POST and PATCH /v1/policies, without the owner."""

from typing import BinaryIO, TypeVar

import click
import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from app.model.fields import AgentMessage, DisplayName
from app.model.policies import Policy, PolicyKind, PolicyMode, Priority
from app.model.policy_keys import PolicyKey
from app.model.policy_sets import PolicyEntry, require_entries, settle
from app.model.rules import Rules
from app.model.text import FieldError
from app.model.written_policies import WrittenPolicy, require_written
from app.validation_messages import explain


class PolicyChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Changes to a policy."""

    name: DisplayName | UnsetType = UNSET
    kind: PolicyKind | UnsetType = UNSET
    rules: Rules | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    mode: PolicyMode | UnsetType = UNSET
    key: PolicyKey | None | UnsetType = UNSET
    agent_message: AgentMessage | None | UnsetType = UNSET

    def __post_init__(self) -> None:
        require_written(self)


T = TypeVar("T", WrittenPolicy, PolicyChanges)


def read_file(file: BinaryIO, kind: type[T]) -> T:
    """The file's content. Raises ClickException that names the file and the place in it."""
    try:
        value = msgspec.json.decode(file.read())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{file.name}: is not JSON ({error})") from None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        detail = explain(error, kind, value)
        raise click.ClickException(f"{file.name}: {detail.path}: {detail.message}") from None


def new_policy(file: str, given: WrittenPolicy, agent_id: str | None, group: str | None) -> Policy:
    """The policy that the file describes. Raises ClickException if the owner cannot have such a policy."""
    try:
        entry = PolicyEntry(**asdict(given))
        require_entries([entry], agent_id, group)
    except FieldError as error:
        message = f"{error.message}. Give AGENT or --group" if agent_id is None and group is None else error.message
        raise click.ClickException(f"{file}: $.{error.field.removeprefix('policies[0].')}: {message}") from None
    [change] = settle([], [entry], agent_id, group, prune=False)
    return change.policy
