"""Batches: several calls decided in one request."""

from enum import StrEnum

MAX_CALLS = 1_000


class BatchSemantics(StrEnum):
    """Which calls of a batch are decided.

    `execute_all` decides all. `deny_on_first_deny` and `permit_on_first_permit` decide in order, and nothing after the
    first call that is not allowed, or is allowed. `all_or_nothing`, for up to 128 calls, allows all or none: if one is
    not allowed, all are denied, and none takes anything from limits.
    """

    EXECUTE_ALL = "execute_all"
    DENY_ON_FIRST_DENY = "deny_on_first_deny"
    PERMIT_ON_FIRST_PERMIT = "permit_on_first_permit"
    ALL_OR_NOTHING = "all_or_nothing"
