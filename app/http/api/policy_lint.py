"""/v1/policies/lint: warnings about rules that are valid but probably not meant. Nothing is stored."""

from typing import Any, ClassVar

from litestar import Request, post
from litestar.di import NamedDependency as Handed
from litestar.params import JSONBody
from msgspec import Struct

from app.errors import PolicyKeyTaken, PolicyNotFound
from app.http.agent_references import agent_reference, require_references
from app.http.authentication import requires
from app.http.bodies import MAX_SET_BYTES, MAX_SET_NESTED, Body
from app.http.litestar_bodies import BodyDTO
from app.http.policy_warnings import STRICT, is_strict, require_none, with_set_paths
from app.http.queries import Query
from app.lint import PolicyWarning
from app.model.agents import AgentRef, GroupName
from app.model.api_keys import Caller, Scope
from app.model.policies import Owner
from app.model.policy_sets import Entries, KeyTaken, UnknownPolicy, require_entries, settle
from app.model.text import FieldError
from app.replica import Services
from app.validation_messages import refusing_fields
from app.workspace_lint import warnings_about


class LintPolicies(Body, frozen=True):
    """Policies of an agent, of a group or, if neither is given, of the workspace, as they might be written.

    agent_id: The agent that they would govern, by its id or its alias.
    group: The group of agents that they would govern.
    policies: The policies, in the form of a set. Other stored policies of the same owner are taken into account.
    """

    aliases: ClassVar[dict[str, str]] = {"agentId": "agent_id"}
    max_bytes: ClassVar[int] = MAX_SET_BYTES
    max_nested: ClassVar[int] = MAX_SET_NESTED

    policies: Entries
    agent_id: AgentRef | None = None
    group: GroupName | None = None

    def __post_init__(self) -> None:
        require_references(self.agent_id, self.group)
        if self.agent_id is not None and self.group is not None:
            raise FieldError("group", "policies are an agent's or a group's; leave out group or agent_id")


class PolicyWarnings(Struct, frozen=True):
    """The warnings.

    warnings: Empty if there is nothing to warn about.
    """

    warnings: list[PolicyWarning]


@post(
    "/v1/policies/lint",
    status_code=200,
    guards=[requires(Scope.READ, Scope.POLICIES)],
    dto=BodyDTO,
)
async def lint_policies(
    data: JSONBody[LintPolicies],
    request: Request[Any, Any, Any],
    caller: Handed[Caller],
    services: Handed[Services],
) -> PolicyWarnings:
    """The warnings that writing these policies would produce."""
    strict = is_strict(Query(request, known=(STRICT,)))
    called = None if data.agent_id is None else agent_reference(data.agent_id)
    agent_id = None if called is None else await services.agents.id_of(caller.workspace_id, called)
    owner = Owner(agent_id, data.group)
    with refusing_fields():
        require_entries(data.policies, owner)
    held = await services.policy_sets.get(caller.workspace_id, owner)
    try:
        changes = settle(held.policies, data.policies, owner, prune=False)
    except UnknownPolicy as error:
        raise PolicyNotFound(f"{error.field} {error.message}") from None
    except KeyTaken as error:
        raise PolicyKeyTaken(f"{error.field}: {error.message}") from None
    written = [change.policy for change in changes[: len(data.policies)]]
    warnings = with_set_paths(await warnings_about(services, caller.workspace_id, written, owner))
    if strict:
        require_none(warnings)
    return PolicyWarnings(warnings)
