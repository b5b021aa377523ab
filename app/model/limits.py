"""How many of a thing a workspace may have."""

from msgspec import Struct

NO_LIMIT = 1 << 53


class Limits(Struct, frozen=True, kw_only=True):
    """The bounds of every workspace; checked by the scripts that create, so that no two creations pass them together.

    What is there already stays when a bound is lowered, and can be changed.
    """

    agents: int = NO_LIMIT
    policies_per_agent: int = NO_LIMIT
    policies: int = NO_LIMIT
    keys: int = NO_LIMIT
