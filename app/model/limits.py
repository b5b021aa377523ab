"""How many of a thing a workspace may have."""

from msgspec import Struct

NO_LIMIT = 1 << 53


class Limits(Struct, frozen=True, kw_only=True):
    """The bounds of every workspace; checked by the scripts that write, so that no two creations pass them together.

    What is there already stays when a bound is lowered, and can be changed.

    rate_limits_per_agent: in all its policies, disabled ones too: the store takes those of a tier in one step.
    rules_bytes_per_agent: the same for their JSON: they are read in one step, and compiled together.
    …_per_group: the same for each group, and once more for the policies of the whole workspace.
    policy_versions: how many versions of a policy are kept, the current one among them.
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
