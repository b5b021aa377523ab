"""Warnings about policies being written, judged together with those that already govern the same agents."""

from collections.abc import Sequence

from msgspec.structs import replace

from app.errors import Detail, Invalid
from app.http.references import PolicyOwner
from app.lint import PolicyWarning
from app.model.api_keys import Caller
from app.model.policies import Policy
from app.model.query_fields import QueryFields
from app.replica import Services
from app.workspace_lint import warnings_about

_SHOWN = 20
"""The most details in one error."""


class WriteQuery(QueryFields, frozen=True):
    """How policies are written.

    strict: A warning is an error (400), and nothing is written.
    """

    strict: bool = False


class OwnedWrite(PolicyOwner, frozen=True):
    """The same for a policy that a path names.

    strict: A warning is an error (400), and nothing is written.
    """

    strict: bool = False


async def accepted_warnings(services: Services, caller: Caller, draft: Policy, *, strict: bool) -> list[PolicyWarning]:
    """The warnings about a policy as it would be stored. In strict mode, raises Invalid if there are any."""
    [warnings] = await warnings_about(services, caller.workspace_id, [draft], draft.owner)
    if strict:
        require_none(warnings)
    return warnings


def require_none(warnings: Sequence[PolicyWarning]) -> None:
    """Raise Invalid with a detail for each warning, if there are any."""
    if warnings:
        more = "" if len(warnings) == 1 else f" ({len(warnings)} warnings in all)"
        details = [Detail(each.path, f"{each.code}: {each.message}") for each in warnings[:_SHOWN]]
        raise Invalid(f"{details[0].path}: {details[0].message}{more}", details)


def with_set_paths(warnings: Sequence[Sequence[PolicyWarning]]) -> list[PolicyWarning]:
    """The warnings about the policies of one body, with paths starting at the body."""
    return [
        replace(each, path=f"$.policies[{index}]{each.path.removeprefix('$')}")
        for index, about in enumerate(warnings)
        for each in about
    ]
