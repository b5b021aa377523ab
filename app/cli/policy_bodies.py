"""Policies in files: the bodies of POST and PATCH /v1/policies, without the owner."""

from typing import BinaryIO, TypeVar

import click
import msgspec
from msgspec.structs import asdict

from app.model.new_policy_checks import NewPolicy, NewPolicyChanges
from app.model.policies import WORKSPACE, Owner
from app.model.policy_sets import PolicyEntry, require_entries
from app.model.text import FieldError
from app.validation_messages import explain

T = TypeVar("T", NewPolicy, NewPolicyChanges)


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


def require_owned(file: str, given: NewPolicy, owner: Owner) -> None:
    """Raise ClickException if the owner cannot have the policy that the file describes."""
    try:
        require_entries([PolicyEntry(**asdict(given))], owner)
    except FieldError as error:
        message = f"{error.message}. Give AGENT or --group" if owner == WORKSPACE else error.message
        raise click.ClickException(f"{file}: $.{error.field.removeprefix('policies[0].')}: {message}") from None
