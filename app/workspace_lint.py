"""Lint warnings about stored policies, judged together with everything that governs the same agents."""

from collections.abc import Sequence

from msgspec.structs import replace

from app.lint import KnownTools, PolicyWarning, lint_written
from app.model.policies import WORKSPACE, Owner, Policy
from app.replica import Services
from app.store.catalog import Listing


async def warnings_about(
    services: Services,
    workspace_id: str,
    written: Sequence[Policy],
    owner: Owner,
    gone: Sequence[Policy] = (),
) -> list[list[PolicyWarning]]:
    """The warnings about each of the owner's policies, as things stand.

    The stored versions of these policies, and policies deleted in the same step, do not count. Raises AgentNotFound,
    Overloaded.
    """
    written = [replace(policy, id=policy.id or f"new {index}") for index, policy in enumerate(written)]
    ids = {policy.id for policy in (*written, *gone)}
    held = await _governing(services, workspace_id, owner)
    beside = [policy for policy in held if policy.id not in ids]
    listing = await services.catalog.listing(workspace_id)
    return await services.pool.run(workspace_id, lint_written, written, beside, known_tools(listing))


def known_tools(listing: Listing) -> KnownTools:
    """The tools that lint may compare patterns and parameters with; none if there is no catalogue.

    At first, a log alone knows few tools. Where there is a catalogue, tools seen only in the log also count as known.
    """
    tools = listing.catalog.tools
    schemas = {name: bytes(tool.input_schema) for name, tool in tools.items() if bytes(tool.input_schema) != b"null"}
    return KnownTools(listing.names if tools and listing.has_all_seen else (), schemas)


async def _governing(services: Services, workspace_id: str, owner: Owner) -> Sequence[Policy]:
    if owner.agent_id is not None:
        return (await services.agents.load(workspace_id, owner.agent_id)).policies
    everywhere = (await services.policy_sets.get(workspace_id)).policies
    if owner == WORKSPACE:
        return everywhere
    return [*(await services.policy_sets.get(workspace_id, owner)).policies, *everywhere]
