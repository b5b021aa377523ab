"""Rules that only the tool decides: grants, allowlists, denylists, and approvals."""

from collections.abc import Iterator
from typing import TypeVar

from msgspec import UNSET

from app.model.approvals import DEFAULT_TERMS
from app.model.rule import Rule
from app.model.rules import ApprovalRequired, ToolAllowlist, ToolDenylist, ToolGrant
from app.pdp.constraints import IsSecret
from app.pdp.rules.rule_type import FAIL, PASS, BeforeCalls, CompiledRule, Condition, Demands, PlacedRule, RuleType
from app.pdp.value_schemas import NOTHING_PASSES, SchemaPart

R = TypeVar("R", bound=Rule)


class _ToolList(RuleType[R]):
    """said: what it asks, in words. failure: why a call fails it, after the tool and before the policy."""

    said: str
    failure: str

    def compile(self, placed: PlacedRule[R]) -> Demands:
        return Demands()

    def condition(self, compiled: CompiledRule, tool: str, *, covered: bool) -> Condition | None:
        if not covered:
            return None
        reason = f'"{tool}" {self.failure} policy "{compiled.policy.name}"'
        return Condition(compiled.ref, compiled.when_failed, compiled.rule.code, reason)

    def words(self, rule: R, is_secret: IsSecret) -> Iterator[str]:
        yield self.said

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        return FAIL, FAIL


class GrantType(_ToolList[ToolGrant]):
    said = "the policy grants the tool"
    never_fails = True

    def condition(self, compiled: CompiledRule, tool: str, *, covered: bool) -> Condition | None:
        return Condition(compiled.ref, compiled.when_failed, compiled.rule.code) if covered else None

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        return PASS, PASS


class AllowlistType(_ToolList[ToolAllowlist]):
    said = "the tool is on the policy's allowlist"
    failure = "is not on the allowlist of"
    covers_all = True

    def condition(self, compiled: CompiledRule, tool: str, *, covered: bool) -> Condition | None:
        if covered:
            return Condition(compiled.ref, compiled.when_failed, compiled.rule.code)
        return super().condition(compiled, tool, covered=True)

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        return PASS, PASS


class DenylistType(_ToolList[ToolDenylist]):
    said = "the tool is on the policy's denylist"
    failure = "is on the denylist of"

    def schema(self, rule: ToolDenylist, is_secret: IsSecret) -> SchemaPart:
        return NOTHING_PASSES


class ApprovalType(_ToolList[ApprovalRequired]):
    failure = "needs a person's approval under"

    def words(self, rule: ApprovalRequired, is_secret: IsSecret) -> Iterator[str]:
        terms = DEFAULT_TERMS if rule.approval is UNSET else rule.approval
        yield f"{terms.in_words()} must approve the call"
