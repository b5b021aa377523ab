"""The possible effects of a rule on calls of one tool, whatever their parameters and context."""

from collections.abc import Callable
from functools import cached_property

from msgspec import UNSET, Struct

from app.model.counting import limit_of
from app.model.decisions import Quota
from app.model.policies import Policy
from app.model.rules import (
    ApprovalRequired,
    ParameterConstraint,
    ParameterSchema,
    RateLimited,
    TimeBased,
    ToolAllowlist,
    ToolDenylist,
)
from app.pdp.call_schemas import rule_schema
from app.pdp.compiled_rules import CompiledRule
from app.pdp.constraints import IsSecret
from app.pdp.rule_descriptions import NOT_LISTED, rule_in_words
from app.pdp.value_schemas import SchemaPart
from app.pdp.varying_quotas import VaryingQuota

PASS, FAIL, ABSTAIN = 1, 2, 4
"""A possible effect of a rule; effects are combined into sets."""
EITHER = PASS | FAIL
_OF_ALL_CALLS = frozenset({"tool", "agent"})
HasRoom = Callable[[Quota], bool]


class Reach(Struct, frozen=True):
    """The possible effects of a rule on calls of one tool: as things stand now, and at any time."""

    rule: "ToolRule"
    now: int
    ever: int
    covered: bool


class ToolRule:
    """A rule of an agent, and what can be said about it before there is a call."""

    def __init__(self, policy: Policy, compiled: CompiledRule, is_secret: IsSecret) -> None:
        self.policy, self.compiled = policy, compiled
        self._is_secret = is_secret
        self.is_allowlist = isinstance(compiled.rule, ToolAllowlist)
        limit = limit_of(compiled.rule)
        per = frozenset() if limit is None or limit.per is UNSET else frozenset(limit.per)
        self.is_shared = limit is not None and per <= _OF_ALL_CALLS
        self.is_per_tool = "tool" in per and self.is_shared

    def words(self, *, covered: bool) -> str:
        """What the rule asks, in words."""
        return self._words if covered else NOT_LISTED

    def parameters(self, *, covered: bool) -> SchemaPart:
        """What the parameters must be for it not to fail."""
        return self._parameters if covered else self._parameters_elsewhere

    def quota(self, agent_id: str, tool: str) -> Quota | None:
        """The bucket that all of the agent's calls of the tool share; None if there is none."""
        if not self.is_shared:
            return None
        [quota] = self.compiled.quotas
        return quota.shared(agent_id, tool) if isinstance(quota, VaryingQuota) else quota  # type: ignore[return-value]

    def reach(self, minute: int, quota: Quota | None, has_room: HasRoom, *, covered: bool) -> Reach:
        """Its possible effects. minute: since the epoch."""
        now, ever = self._bare(minute, quota, has_room) if covered else (FAIL, FAIL)
        if self.compiled.judge is not None:
            now, ever = now | ABSTAIN | FAIL, ever | ABSTAIN | FAIL
        return Reach(self, now, ever, covered)

    def _bare(self, minute: int, quota: Quota | None, has_room: HasRoom) -> tuple[int, int]:
        match self.compiled.rule:
            case ToolAllowlist():
                return PASS, PASS
            case ToolDenylist() | ApprovalRequired():
                return FAIL, FAIL
            case TimeBased():
                condition = self.compiled.condition
                is_open = condition is not None and condition.failed({}, {}, minute) is None
                return PASS if is_open else FAIL, EITHER
            case RateLimited() if quota is not None:
                return PASS if has_room(quota) else FAIL, EITHER
            case ParameterConstraint() | ParameterSchema():
                return self._by_parameters
            case _:
                return EITHER, EITHER

    @cached_property
    def _by_parameters(self) -> tuple[int, int]:
        rule, part = self.compiled.rule, self._asked
        if part.schema is False:
            return FAIL, FAIL
        reads_no_more = isinstance(rule, ParameterSchema) or getattr(rule, "context", UNSET) is UNSET
        if part.schema is True and part.is_exact and reads_no_more:
            return PASS, PASS
        return EITHER, EITHER

    @cached_property
    def _words(self) -> str:
        return rule_in_words(self.compiled.rule, covered=True, is_secret=self._is_secret)

    @cached_property
    def _asked(self) -> SchemaPart:
        """The requirements on the parameters of calls to which the rule applies."""
        return rule_schema(self.compiled.rule, covered=True, is_secret=self._is_secret, applies=True)

    @cached_property
    def _parameters(self) -> SchemaPart:
        return rule_schema(self.compiled.rule, covered=True, is_secret=self._is_secret)

    @cached_property
    def _parameters_elsewhere(self) -> SchemaPart:
        return rule_schema(self.compiled.rule, covered=False, is_secret=self._is_secret)
