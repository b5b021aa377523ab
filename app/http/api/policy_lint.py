"""/v1/policies/lint: warnings about rules that are valid but probably not meant. Nothing is stored."""

from typing import ClassVar

from msgspec import Struct

from app.consequences import accept
from app.errors import AgentNotFound, PolicyKeyTaken, PolicyNotFound
from app.http.api.policies import WriteQuery
from app.http.bodies import MAX_SET_BYTES, MAX_SET_NESTED, Body
from app.http.endpoint import endpoint
from app.http.references import agent_in_body, require_references
from app.model.agents import AgentRef, GroupName
from app.model.api_keys import Caller, Scope
from app.model.policies import Owner
from app.model.policy_sets import Entries, KeyTaken, UnknownPolicy, require_entries
from app.policy_tools.lint import PolicyWarning
from app.replica import Services
from app.validation_messages import refusing_fields


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


class PolicyWarnings(Struct, frozen=True):
    """The warnings.

    warnings: Empty if there is nothing to warn about.
    """

    warnings: list[PolicyWarning]


@endpoint(
    "POST",
    "/v1/policies/lint",
    reads_only=True,
    tag="Policies",
    scopes=(Scope.READ, Scope.VIEW, Scope.POLICIES),
    errors=(AgentNotFound, PolicyNotFound, PolicyKeyTaken),
)
async def lint_policies(data: LintPolicies, params: WriteQuery, caller: Caller, services: Services) -> PolicyWarnings:
    """Warn about rules that are valid but probably not meant.

    The policies are treated as a set to be put, without `prune`, and judged together with everything else that governs
    the same agents. Nothing is stored. Answers to writes carry the same warnings.
    """
    owner = Owner(await agent_in_body(services.records, caller, data.agent_id), data.group)
    with refusing_fields():
        require_entries(data.policies, owner)
    try:
        warnings = await services.consequences.lint.about_set(caller.workspace_id, owner, data.policies, prune=False)
    except UnknownPolicy as error:
        raise PolicyNotFound(f"{error.field} {error.message}") from None
    except KeyTaken as error:
        raise PolicyKeyTaken(f"{error.field}: {error.message}") from None
    accept(warnings, strict=params.strict)
    return PolicyWarnings(warnings)
