"""Create, change, roll back and delete policies, one or all of an owner; every write warns of what is hardly meant."""

from collections.abc import Sequence

from msgspec import UNSET

from app.admin.policy_lint import Accept, PolicyLint, managed_elsewhere
from app.approvals.reaper import ApprovalReaper
from app.model.actors import ChangedBy
from app.model.policies import (
    Owner,
    Policy,
    PolicyChanges,
    PolicyFields,
    is_empty,
    new_policy,
    with_changes,
)
from app.model.policy_sets import Entries, managed
from app.model.text import FieldError
from app.policy_tools.lint import PolicyWarning
from app.store.optimistic import Versions
from app.store.policies import Policies
from app.store.policy_sets import PolicySets
from app.store.policy_versions import PolicyVersions
from app.views.policies import WrittenPolicyView
from app.views.policy_sets import AppliedSetView


class PolicyAdmin:
    """Changes policies, and ends the approvals that lose a policy that asked.

    accept: called with the warnings before anything is written.
    """

    def __init__(
        self,
        policies: Policies,
        sets: PolicySets,
        versions: PolicyVersions,
        lint: PolicyLint,
        reaper: ApprovalReaper,
    ) -> None:
        self._policies = policies
        self._sets = sets
        self._versions = versions
        self._lint = lint
        self._reaper = reaper

    async def create(
        self, workspace_id: str, owner: Owner, fields: PolicyFields, by: ChangedBy, accept: Accept
    ) -> WrittenPolicyView:
        """Create a policy. Raises AgentNotFound, LimitReached, PolicyKeyTaken."""
        warnings = await self._accepted(workspace_id, new_policy(owner, fields), accept)
        policy = await self._policies.create(workspace_id, owner, fields, by=by)
        return WrittenPolicyView.written(policy, warnings)

    async def update(
        self,
        workspace_id: str,
        policy_id: str,
        changes: PolicyChanges,
        by: ChangedBy,
        accept: Accept,
        if_match: Versions = None,
    ) -> WrittenPolicyView:
        """The policy with these changes; without any, as it is. Raises as `Policies.update` does."""
        warnings = []
        stored = await self._policies.get(workspace_id, policy_id)
        if not is_empty(changes):
            beside = managed_elsewhere([stored]) if changes.managed_by is UNSET else []
            warnings = await self._accepted(workspace_id, with_changes(stored, changes), accept, beside)
        policy = await self._policies.update(workspace_id, policy_id, changes, if_match=if_match, by=by)
        return WrittenPolicyView.written(policy, warnings)

    async def roll_back(
        self,
        workspace_id: str,
        policy_id: str,
        version: int,
        by: ChangedBy,
        accept: Accept,
        if_match: Versions = None,
    ) -> WrittenPolicyView:
        """Restore the policy to that version, as a new version. Raises as `PolicyVersions.roll_back` does."""
        past = await self._versions.get(workspace_id, policy_id, version)
        beside = managed_elsewhere([await self._policies.get(workspace_id, policy_id)])
        warnings = await self._accepted(workspace_id, past, accept, beside)
        policy = await self._versions.roll_back(workspace_id, policy_id, version, if_match=if_match, by=by)
        return WrittenPolicyView.written(policy, warnings)

    async def delete(self, workspace_id: str, policy_id: str, by: ChangedBy, if_match: Versions = None) -> str | None:
        """Delete the policy and its quotas; return where it was managed. Raises PolicyNotFound, VersionConflict."""
        deleted = await self._policies.delete(workspace_id, policy_id, if_match=if_match, by=by)
        await self._reaper.end_soon(workspace_id)
        return deleted.managed_by

    async def put(
        self,
        workspace_id: str,
        owner: Owner,
        entries: Entries,
        by: ChangedBy,
        accept: Accept,
        *,
        prune: bool,
        source: str | None = None,
        if_match: frozenset[str] | None = None,
    ) -> AppliedSetView:
        """Replace the owner's policies with the entries', all of them or none. Raises as `PolicySets.put` does.

        source: what manages these policies from now on; None = as before.
        """
        entries = managed(entries, source)
        try:
            warnings = await self._lint.about_set(workspace_id, owner, entries, prune=prune, source=source)
        except FieldError:
            warnings = []  # the set is refused below
        accept(warnings)
        done = await self._sets.put(workspace_id, owner, entries, prune=prune, if_match=if_match, by=by)
        if any(change.kind == "deleted" for change in done.changes):
            await self._reaper.end_soon(workspace_id)
        return AppliedSetView.applied(done, owner, warnings)

    async def _accepted(
        self, workspace_id: str, draft: Policy, accept: Accept, beside: Sequence[PolicyWarning] = ()
    ) -> list[PolicyWarning]:
        """The warnings about the policy as it would be stored, and those beside them, once they are accepted."""
        [warnings] = await self._lint.about(workspace_id, draft.owner, [draft])
        warnings = [*beside, *warnings]
        accept(warnings)
        return warnings
