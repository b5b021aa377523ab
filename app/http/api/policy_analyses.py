"""/v1/policies/compare and /v1/agents/{id}/bounds: what policies mean for calls. Nothing is stored or counted."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from app.errors import AgentNotFound, Overloaded, TooManyReplays
from app.http.api.replay import has_room
from app.http.bodies import MAX_SET_BYTES, MAX_SET_NESTED, Body
from app.http.endpoint import endpoint
from app.http.references import agent_in_body, agent_in_path, require_references
from app.model.agents import AgentRef, GroupName
from app.model.api_keys import Caller, Scope
from app.model.bounds import AgentBounds, BoundsTask
from app.model.comparisons import CompareTask, PolicyComparison
from app.model.policies import WORKSPACE, Owner, Policy
from app.model.policy_sets import Entries
from app.model.replays import NEW, drafted
from app.model.text import FieldError
from app.replica import Services
from app.validation_messages import refusing_fields

_READERS = (Scope.READ, Scope.VIEW, Scope.POLICIES)
_LATER = "newer "


class ComparePolicies(Body, frozen=True):
    """What to compare: policies of an agent, of a group or, if neither is given, of the workspace.

    The policies of an agent's groups and of the workspace are beside both sides.

    agent_id: The agent, by its id or its alias.
    group: The group. Its agents, and those of the workspace, may have any other policies.
    before: All policies that the owner would have before the change; those in force if left out.
    after: All policies that it would have after it; those in force if left out.
    """

    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id"}
    max_bytes: ClassVar[int] = MAX_SET_BYTES
    max_nested: ClassVar[int] = MAX_SET_NESTED

    agent_id: AgentRef | None = None
    group: GroupName | None = None
    before: Entries | UnsetType = UNSET
    after: Entries | UnsetType = UNSET

    def __post_init__(self) -> None:
        require_references(self.agent_id, self.group)


@endpoint(
    "POST",
    "/v1/policies/compare",
    reads_only=True,
    tag="Policies",
    scopes=_READERS,
    errors=(AgentNotFound, TooManyReplays, Overloaded),
    litestar={"guards": [has_room]},
)
async def compare_policies(data: ComparePolicies, caller: Caller, services: Services) -> PolicyComparison:
    """Compare policies: which calls a change would answer otherwise.

    No log is read: the calls are made from what the rules of both sides say, and judged by both. `complete` says
    whether no other call is answered otherwise; if not, `because` says why. It runs as a replay does, in a process of
    its own and under the same limits, for ten seconds of a core at most.
    """
    workspace_id = caller.workspace_id
    owner = Owner(await agent_in_body(services.records, caller, data.agent_id), data.group)
    governing = await _governing(services, workspace_id, owner)
    own = [each for each in governing if each.owner == owner]
    others = [each for each in governing if each.owner != owner]
    # A policy that both sides have keeps its limits; one that only the second has is another.
    before = own if isinstance(data.before, UnsetType) else _drafted("before", data.before, owner, own, NEW)
    after = own if isinstance(data.after, UnsetType) else _drafted("after", data.after, owner, before, _LATER)
    both = {"before": [*before, *others], "after": [*after, *others]}
    task = CompareTask(workspace_id=workspace_id, **both, is_shared=owner.agent_id is None)
    return msgspec.json.decode(await services.log.replays.answer(task, caller.root), type=PolicyComparison)


async def _governing(services: Services, workspace_id: str, owner: Owner) -> Sequence[Policy]:
    """All policies that govern the agent; of a group, its own and the workspace's. Raises AgentNotFound."""
    if owner.agent_id is not None:
        return (await services.records.agents.load(workspace_id, owner.agent_id)).policies
    owners = dict.fromkeys((owner, WORKSPACE))
    sets = [await services.records.policy_sets.get(workspace_id, each) for each in owners]
    return [policy for each in sets for policy in each.policies]


def _drafted(name: str, entries: Entries, owner: Owner, current: list[Policy], new: str) -> list[Policy]:
    with refusing_fields():
        try:
            return drafted(entries, owner, current, new)
        except FieldError as error:
            raise FieldError(error.field.replace("policies", name, 1), error.message) from None


@endpoint(
    "GET",
    "/v1/agents/{agent_id}/bounds",
    tag="Agents",
    scopes=_READERS,
    errors=(AgentNotFound, TooManyReplays, Overloaded),
    litestar={"guards": [has_room]},
)
async def get_bounds(agent_id: str, caller: Caller, services: Services) -> AgentBounds:
    """Get what an agent can ever do under the policies in force.

    For each kind of tool: what its calls can get, the rules that bound them, and a call for each result; and the rules
    without which nothing would be answered otherwise. It runs as a replay does, in a process of its own and under the
    same limits, for ten seconds of a core at most.
    """
    called = await agent_in_path(services.records, caller, agent_id)
    governed = await services.records.agents.load(caller.workspace_id, called)
    task = BoundsTask(workspace_id=caller.workspace_id, policies=list(governed.policies))
    return msgspec.json.decode(await services.log.replays.answer(task, caller.root), type=AgentBounds)
