"""What lint says about policies of a store: they are judged beside all that governs the same agents there."""

from collections.abc import Sequence

from msgspec.structs import replace

from app.lint import KnownTools, PolicyWarning, lint_written
from app.model.policies import Policy
from app.replica import Services
from app.store.catalog import Listing


async def warnings_about(
    services: Services,
    workspace_id: str,
    written: Sequence[Policy],
    agent_id: str | None,
    group: str | None,
    gone: Sequence[Policy] = (),
) -> list[list[PolicyWarning]]:
    """For each policy of the agent, the group or, with neither, the workspace its warnings, as things stand now.

    What is stored of them, and of those that are gone then, does not count besides. Raises AgentNotFound, Overloaded.
    """
    written = [replace(policy, id=policy.id or f"new {index}") for index, policy in enumerate(written)]
    ids = {policy.id for policy in (*written, *gone)}
    held = await _governing(services, workspace_id, agent_id, group)
    beside = [policy for policy in held if policy.id not in ids]
    listing = await services.catalog.listing(workspace_id)
    return await services.pool.run(workspace_id, lint_written, written, beside, known_tools(listing))


def known_tools(listing: Listing) -> KnownTools:
    """What lint may hold patterns and parameters against: nothing where nobody keeps a catalogue.

    A log alone knows few tools at first. With a catalogue, what the log has seen besides is no misspelling either.
    """
    tools = listing.catalog.tools
    schemas = {name: bytes(tool.input_schema) for name, tool in tools.items() if bytes(tool.input_schema) != b"null"}
    return KnownTools(listing.names if tools and listing.has_all_seen else (), schemas)


async def _governing(
    services: Services, workspace_id: str, agent_id: str | None, group: str | None
) -> Sequence[Policy]:
    if agent_id is not None:
        return (await services.agents.load(workspace_id, agent_id)).policies
    everywhere = (await services.policy_sets.get(workspace_id)).policies
    if group is None:
        return everywhere
    return [*(await services.policy_sets.get(workspace_id, None, group)).policies, *everywhere]
