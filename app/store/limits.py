"""The limits of a workspace: the number of each resource that it may have."""

from functools import partial

from msgspec import Struct

NO_LIMIT = 1 << 53
RATE_LIMITS_OF_AGENT, RATE_LIMITS_OF_GROUP = 100, 20
"""Rate limits in all policies of one agent, disabled ones included; of one group, and of those for every agent."""
POLICIES_OF_GROUP = 100
RULES_BYTES_OF_AGENT, RULES_BYTES_OF_GROUP = 1024 * 1024, 128 * 1024
ANSWERS_MAX = 1_000_000
"""Idempotency-Keys that one API key may use in a day; each takes 530 bytes of the store."""
WEBHOOKS_MAX = 20
"""Webhooks of a workspace."""


class WorkspaceLimits(Struct, frozen=True, kw_only=True):
    """The limits of every workspace; the scripts that write check them, so concurrent creations cannot exceed them.

    When a limit is lowered, existing things stay and can be changed.

    rate_limits_per_agent: in all its policies, disabled ones included: the store processes those of a tier in one step.
    rules_bytes_per_agent: bytes of the rules' JSON in all its policies, which are read and compiled together.
    …_per_group: the same for each group, and also for the policies of the whole workspace.
    policy_versions: the number of versions kept of a policy, including the current one.
    second_person: a change of policies that may bind waits until somebody else approves it.
    """

    agents: int = NO_LIMIT
    policies_per_agent: int = NO_LIMIT
    policies: int = NO_LIMIT
    rate_limits_per_agent: int = NO_LIMIT
    rules_bytes_per_agent: int = NO_LIMIT
    policies_per_group: int = NO_LIMIT
    rate_limits_per_group: int = NO_LIMIT
    rules_bytes_per_group: int = NO_LIMIT
    keys: int = NO_LIMIT
    policy_versions: int = 100
    second_person: bool = False


limits_of_service = partial(
    WorkspaceLimits,
    rate_limits_per_agent=RATE_LIMITS_OF_AGENT,
    rules_bytes_per_agent=RULES_BYTES_OF_AGENT,
    policies_per_group=POLICIES_OF_GROUP,
    rate_limits_per_group=RATE_LIMITS_OF_GROUP,
    rules_bytes_per_group=RULES_BYTES_OF_GROUP,
)
"""The limits of a service, of which only the others can be set."""
