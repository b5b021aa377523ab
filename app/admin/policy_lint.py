"""Warnings about policies, stored or about to be, judged together with everything that governs the same agents."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from app.errors import Detail, Invalid
from app.model.api_keys import Scope
from app.model.identity_provider import GroupScopes
from app.model.policies import WORKSPACE, Owner, Policy
from app.model.policy_sets import Entries, settle
from app.policy_tools.lint import Code, KnownTools, PolicyWarning, lint_written
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.agents import Agents
from app.store.catalog import Catalog, Listing
from app.store.policy_sets import PolicySets
from app.store.workspaces import Workspaces

Accept = Callable[[Sequence[PolicyWarning]], None]
"""Called with all warnings before anything is written; it raises if they are not accepted."""

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


def accepting(*, strict: bool) -> Accept:
    """What accepts every warning or, if strict, none."""
    return refuse_warnings if strict else lambda _: None


def refuse_warnings(warnings: Sequence[PolicyWarning]) -> None:
    """Raise Invalid with a detail for each warning, if there are any."""
    if warnings:
        more = "" if len(warnings) == 1 else f" ({len(warnings)} warnings in all)"
        details = [Detail(each.path, f"{each.code}: {each.message}") for each in warnings[:_SHOWN]]
        raise Invalid(f"{details[0].path}: {details[0].message}{more}", details)


def known_tools(listing: Listing) -> KnownTools:
    """The tools that lint may compare patterns and parameters with; none if there is no catalogue.

    At first, a log alone knows few tools. Where there is a catalogue, tools seen only in the log also count as known.
    """
    tools = listing.catalog.tools
    schemas = {name: bytes(tool.input_schema) for name, tool in tools.items() if bytes(tool.input_schema) != b"null"}
    return KnownTools(listing.names if tools and listing.has_all_seen else (), schemas)
