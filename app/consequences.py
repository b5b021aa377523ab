"""What a change by an administrator brings with it: a policy is judged together with what governs the same agents,
destinations are checked, and approvals that have lost their basis end.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from app.approvals.reaper import ApprovalReaper
from app.errors import Detail, Invalid
from app.model.actors import Actor, ChangedBy
from app.model.api_keys import Scope
from app.model.catalog import Consequence
from app.model.identity_provider import GroupScopes
from app.model.policies import (
    WORKSPACE,
    Owner,
    Policy,
    PolicyChanges,
    PolicyFields,
    is_empty,
    new_policy,
    with_changes,
)
from app.model.policy_reviews import PolicyReview
from app.model.policy_sets import AppliedSet, Entries, managed, settle
from app.model.text import FieldError
from app.policy_tools.lint import Code, KnownTools, PolicyWarning, lint_written
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.agents import Agents
from app.store.catalog import Catalog, Listing
from app.store.optimistic import ATTEMPTS, Versions, contended
from app.store.policies import Policies
from app.store.policy_reviews import PolicyReviews
from app.store.policy_sets import PolicySets
from app.store.policy_versions import PolicyVersions
from app.store.put_policies import Held
from app.store.workspaces import Workspaces
from app.webhooks.delivery import Delivery
from app.webhooks.destinations import Refused

Written = tuple[Policy | PolicyReview, list[PolicyWarning]]
Applied = tuple[AppliedSet | PolicyReview, list[PolicyWarning]]
"""What is written, or the review that asks for it, and the warnings about it."""
_T = TypeVar("_T")
EndApprovals = Callable[..., Awaitable[None]]
"""`ApprovalReaper.end_soon`."""

_SHOWN = 20
"""The most details in one error."""


class PolicyLint:
    """Warns about policies."""

    def __init__(
        self,
        agents: Agents,
        sets: PolicySets,
        catalog: Catalog,
        pool: FairThreadPool,
        workspaces: Workspaces,
        groups: Sequence[GroupScopes],
    ) -> None:
        self._agents = agents
        self._sets = sets
        self._catalog = catalog
        self._pool = pool
        self._workspaces = workspaces
        self._groups = groups

    async def about(
        self, workspace_id: str, owner: Owner, written: Sequence[Policy], gone: Sequence[Policy] = ()
    ) -> list[list[PolicyWarning]]:
        """The warnings about each of the owner's policies.

        The stored versions of these policies, and policies deleted in the same step, do not count. Raises
        AgentNotFound, Overloaded.
        """
        written = [replace(policy, id=policy.id or f"new {index}") for index, policy in enumerate(written)]
        ids = {policy.id for policy in (*written, *gone)}
        beside = [policy for policy in await self._governing(workspace_id, owner) if policy.id not in ids]
        tools = known_tools(await self._catalog.listing(workspace_id))
        approving = await self._approving(workspace_id, written)
        return await self._pool.run(workspace_id, lint_written, written, beside, tools, approving)

    async def about_set(
        self, workspace_id: str, owner: Owner, entries: Entries, *, prune: bool, source: str | None | UnsetType = UNSET
    ) -> list[PolicyWarning]:
        """The warnings about a set to be put, with paths that start at the set; first those about other sources.

        source: what manages the policies from now on, None = as before; UNSET if nothing is to be written.
        Raises AgentNotFound, UnknownPolicy, KeyTaken.
        """
        stored = (await self._sets.get(workspace_id, owner)).policies
        changes = await self._pool.run(workspace_id, partial(settle, stored, entries, owner, prune=prune))
        gone = [change.policy for change in changes if change.kind == "deleted"]
        written = [change.policy for change in changes[: len(entries)]]
        changed = [change.before for change in changes if change.before is not None and change.kind != "kept"]
        elsewhere = [policy for policy in changed if source is not UNSET and policy.managed_by != source]
        return managed_elsewhere(elsewhere) + [
            replace(warning, path=f"$.policies[{index}]{warning.path.removeprefix('$')}")
            for index, warnings in enumerate(await self.about(workspace_id, owner, written, gone))
            for warning in warnings
        ]

    async def _approving(self, workspace_id: str, written: Sequence[Policy]) -> frozenset[str] | None:
        """The groups that may approve in this workspace; None if no rule says who."""
        terms = [rule.approval for policy in written for rule in policy.rules if rule.approval is not UNSET]
        if all(each.approvers is UNSET and each.fresh is UNSET for each in terms):
            return None
        names = await self._workspaces.by_name()
        mine = [each for each in self._groups if names.get(each.workspace) == workspace_id]
        return frozenset(each.group for each in mine if not {Scope.APPROVE, Scope.ADMIN}.isdisjoint(each.scopes))

    async def _governing(self, workspace_id: str, owner: Owner) -> Sequence[Policy]:
        if owner.agent_id is not None:
            return (await self._agents.load(workspace_id, owner.agent_id)).policies
        everywhere = (await self._sets.get(workspace_id)).policies
        if owner == WORKSPACE:
            return everywhere
        return [*(await self._sets.get(workspace_id, owner)).policies, *everywhere]


class PolicyWrites:
    """Changes policies; returns what is written with the warnings about it, and ends the approvals that lose a policy.

    What has to wait for a second person is not written: the review that asks for it is returned, with the warnings.
    strict: raise Invalid, and write nothing, if there are warnings.
    """

    def __init__(
        self,
        policies: Policies,
        sets: PolicySets,
        versions: PolicyVersions,
        reviews: PolicyReviews,
        lint: PolicyLint,
        end_approvals: EndApprovals,
    ) -> None:
        self._policies = policies
        self._sets = sets
        self._versions = versions
        self._reviews = reviews
        self._lint = lint
        self._end_approvals = end_approvals

    async def create(
        self, workspace_id: str, owner: Owner, fields: PolicyFields, by: ChangedBy, *, strict: bool
    ) -> Written:
        """Create a policy. Raises AgentNotFound, LimitReached, PolicyKeyTaken."""
        warnings = await self._accepted(workspace_id, new_policy(owner, fields), strict=strict)
        write = partial(self._policies.create, workspace_id, owner, fields, by=by)
        return await self._written_or_asked(workspace_id, write), warnings

    async def update(
        self,
        workspace_id: str,
        policy_id: str,
        changes: PolicyChanges,
        by: ChangedBy,
        if_match: Versions = None,
        *,
        strict: bool,
    ) -> Written:
        """The policy with these changes; without any, as it is. Raises as `Policies.update` does."""
        warnings = []
        stored = await self._policies.get(workspace_id, policy_id)
        if not is_empty(changes):
            beside = managed_elsewhere([stored]) if changes.managed_by is UNSET else []
            warnings = await self._accepted(workspace_id, with_changes(stored, changes), beside, strict=strict)
        write = partial(self._policies.update, workspace_id, policy_id, changes, if_match=if_match, by=by)
        return await self._written_or_asked(workspace_id, write), warnings

    async def roll_back(
        self,
        workspace_id: str,
        policy_id: str,
        version: int,
        by: ChangedBy,
        if_match: Versions = None,
        *,
        strict: bool,
    ) -> Written:
        """Restore the policy to that version, as a new version. Raises as `PolicyVersions.roll_back` does."""
        past = await self._versions.get(workspace_id, policy_id, version)
        beside = managed_elsewhere([await self._policies.get(workspace_id, policy_id)])
        warnings = await self._accepted(workspace_id, past, beside, strict=strict)
        write = partial(self._versions.roll_back, workspace_id, policy_id, version, if_match=if_match, by=by)
        return await self._written_or_asked(workspace_id, write), warnings

    async def delete(
        self, workspace_id: str, policy_id: str, by: ChangedBy, if_match: Versions = None
    ) -> Policy | PolicyReview:
        """Delete the policy and its quotas; return it. Raises PolicyNotFound, VersionConflict."""
        write = partial(self._policies.delete, workspace_id, policy_id, if_match=if_match, by=by)
        deleted = await self._written_or_asked(workspace_id, write)
        if isinstance(deleted, Policy):
            await self._end_approvals(workspace_id)
        return deleted

    async def put(
        self,
        workspace_id: str,
        owner: Owner,
        entries: Entries,
        by: ChangedBy,
        *,
        prune: bool,
        strict: bool,
        source: str | None = None,
        if_match: frozenset[str] | None = None,
    ) -> Applied:
        """Replace the owner's policies with the entries', all of them or none. Raises as `PolicySets.put` does.

        source: what manages these policies from now on; None = as before.
        """
        entries = managed(entries, source)
        try:
            warnings = await self._lint.about_set(workspace_id, owner, entries, prune=prune, source=source)
        except FieldError:
            warnings = []  # the set is refused below
        accept(warnings, strict=strict)
        write = partial(self._sets.put, workspace_id, owner, entries, prune=prune, if_match=if_match, by=by)
        done = await self._written_or_asked(workspace_id, write)
        if isinstance(done, AppliedSet) and any(change.kind == "deleted" for change in done.changes):
            await self._end_approvals(workspace_id)
        return done, warnings

    async def approve(self, workspace_id: str, review_id: str, by: Actor, note: str) -> PolicyReview:
        """The review, once the approval and the changes are written. Raises as `PolicyReviews.approve`."""
        changes = await self._reviews.approve(workspace_id, review_id, by, note)
        if any(change.kind == "deleted" for change in changes):
            await self._end_approvals(workspace_id)
        return await self._reviews.get(workspace_id, review_id)

    async def _written_or_asked(self, workspace_id: str, write: Callable[[], Awaitable[_T]]) -> _T | PolicyReview:
        """What is written or, if it has to wait for a second person, the review that asks for it."""
        for _ in range(ATTEMPTS):
            try:
                return await write()
            except Held as held:
                review = await self._reviews.ask(workspace_id, held)
            if review is not None:
                return review
        return contended()

    async def _accepted(
        self, workspace_id: str, draft: Policy, beside: Sequence[PolicyWarning] = (), *, strict: bool
    ) -> list[PolicyWarning]:
        """The warnings about the policy as it would be stored, and those beside them, once they are accepted."""
        [warnings] = await self._lint.about(workspace_id, draft.owner, [draft])
        warnings = [*beside, *warnings]
        accept(warnings, strict=strict)
        return warnings


class Consequences:
    """What follows from changes, and the destinations that none may name.

    end_approvals: `ApprovalReaper.end_soon`: awaited after a change that an approval of the workspace, or of one agent,
    may have depended on.
    """

    def __init__(self, lint: PolicyLint, policies: PolicyWrites, reaper: ApprovalReaper, delivery: Delivery) -> None:
        self.lint = lint
        self.policies = policies
        self.end_approvals = reaper.end_soon
        self.delivery = delivery

    def require_destination(self, url: str, path: str) -> None:
        """Raise Invalid, with the field's path, for a URL that neither events nor requests for keys may go to."""
        try:
            self.delivery.check(url)
        except Refused as refused:
            raise Invalid.at(path, str(refused)) from None


def managed_elsewhere(changed: Sequence[Policy]) -> list[PolicyWarning]:
    """A warning for each policy that something else manages than what changes it now."""
    return [
        PolicyWarning(
            Code.MANAGED_ELSEWHERE,
            "$.managedBy",
            f'policy "{policy.name}" is managed by "{policy.managed_by}", and the next `remit policy apply` from there '
            "undoes this change; make it there, too, or set managedBy to null",
        )
        for policy in changed
        if policy.managed_by is not None
    ]


def accept(warnings: Sequence[PolicyWarning], *, strict: bool) -> None:
    """Raise Invalid with a detail for each warning if they are to be none."""
    if strict and warnings:
        more = "" if len(warnings) == 1 else f" ({len(warnings)} warnings in all)"
        details = [Detail(each.path, f"{each.code}: {each.message}") for each in warnings[:_SHOWN]]
        raise Invalid(f"{details[0].path}: {details[0].message}{more}", details)


def known_tools(listing: Listing) -> KnownTools:
    """The tools that lint may compare patterns and parameters with; none if there is no catalogue.

    At first, a log alone knows few tools. Where there is a catalogue, tools seen only in the log also count as known.
    """
    tools = listing.catalog.tools
    schemas = {name: bytes(tool.input_schema) for name, tool in tools.items() if bytes(tool.input_schema) != b"null"}
    irreversible = (name for name, tool in tools.items() if tool.consequence is Consequence.IRREVERSIBLE)
    return KnownTools(listing.names if tools and listing.has_all_seen else (), schemas, irreversible)
