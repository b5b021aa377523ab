"""What a rule that escalates demands of approvals."""

from typing import Annotated

from msgspec import Meta, Struct

DEFAULT_SECONDS = 900
Seconds = Annotated[int, Meta(ge=60, le=604_800)]


class ApprovalTerms(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a rule that escalates demands of an approval, and what the approval permits.

    expires_seconds: How long it waits for a decision, in seconds; 900 if left out.
    approvals: How many people must approve, each with a key of their own; 1 if left out.
    valid_seconds: How long an approval can be used, in seconds; 900 if left out.
    max_uses: How many calls with exactly the same arguments an approval permits; 1 if left out.
    """

    expires_seconds: Seconds = DEFAULT_SECONDS
    approvals: Annotated[int, Meta(ge=1, le=5)] = 1
    valid_seconds: Seconds = DEFAULT_SECONDS
    max_uses: Annotated[int, Meta(ge=1, le=1000)] = 1


DEFAULT_TERMS = ApprovalTerms()
