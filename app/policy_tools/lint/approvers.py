"""Warnings about rules that say who approves: people whom nothing lets approve."""

import difflib
from collections.abc import Iterator

from msgspec import UNSET

from app.model.rule import Rule
from app.policy_tools.lint.together import Comparisons
from app.policy_tools.lint.warnings import Code, PolicyWarning

ApprovingGroups = frozenset[str] | None
"""The groups of the identity provider that have the scope `approve` in the workspace; None = that is not known."""
_NAME_COST = 20


def approver_warnings(
    place: str, rule: Rule, approving: ApprovingGroups, compared: Comparisons
) -> Iterator[PolicyWarning]:
    """Yield the warnings about the people that a rule asks for, if it escalates."""
    if approving is None or rule.approval is UNSET:
        return
    named = None if rule.approval.approvers is UNSET else rule.approval.approvers.groups
    if not approving and (named is not None or rule.approval.fresh is not UNSET):
        field = "fresh" if named is None else "approvers"
        message = (
            f"nobody can decide what this rule asks: `{field}` needs people who sign in with an identity provider, and "
            "REMIT_OIDC_SCOPES gives no group the scope approve in this workspace (API keys are in no group and never "
            f"fresh); give one the scope, or leave `{field}` out"
        )
        yield PolicyWarning(Code.NOBODY_CAN_APPROVE, f"{place}.approval.{field}", message)
        return
    for index, group in enumerate(named or ()):
        if group not in approving:
            compared.spend(_NAME_COST * len(approving))
            near = difflib.get_close_matches(group, approving, n=1)
            cure = f'did you mean "{near[0]}"?' if near else "give it the scope there, or name another group"
            message = (
                f'REMIT_OIDC_SCOPES does not give "{group}" the scope approve in this workspace, so of its people only '
                f"those decide who have it by another group; {cure}"
            )
            yield PolicyWarning(Code.GROUP_CANNOT_APPROVE, f"{place}.approval.approvers.groups[{index}]", message)
