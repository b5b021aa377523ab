"""What a rule remembers of the calls that people have approved."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from app.model.decisions import RuleRef
from app.model.fields import Timestamp, Uuid

MAX_TARGETS = 64
"""The most values of one call that are looked up, or remembered."""


class ApprovedBefore(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A person has approved a call of this agent and tool with the same value of the same parameter.

    If the rule has it for several parameters, one call had all their values; elements of an array count each by itself.

    within_seconds: Within this time, 1 to 2,592,000 seconds (30 days).
    of: `host` = the same scheme, host and port are enough: the value is a URL or a host.
    within: `session` = only a call of the same session counts, `context.session`; a call without one fails.
    """

    within_seconds: Annotated[int, Meta(ge=1, le=2_592_000)]
    of: Literal["host"] | UnsetType = UNSET
    within: Literal["session"] | UnsetType = field(name="in", default=UNSET)

    @property
    def of_host(self) -> bool:
        return self.of is not UNSET

    @property
    def in_session(self) -> bool:
        return self.within is not UNSET


class Remembered(Struct, frozen=True, rename="camel"):
    """A value of a parameter that people have approved. Only its MAC is stored; the approval shows the call.

    policy_id: The policy whose rule remembers it.
    rule: The rule.
    parameter: The parameter's name.
    digest: The MAC of the value, with the agent, the tool, the parameter and the values beside it.
    approval_id: The approval that it was last used with.
    approved_at: When people approved that.
    expires_at: When it counts no more.
    """

    policy_id: Uuid
    rule: RuleRef
    parameter: str
    digest: str
    approval_id: Uuid
    approved_at: Timestamp
    expires_at: Timestamp
