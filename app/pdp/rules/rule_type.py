"""What the decision point knows about a type of rule, and the rules it has compiled."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, get_args

from msgspec import Struct

from app.model.decision_codes import DecisionCode
from app.model.decisions import Outcome, Result, RuleRef
from app.model.plans import Quota
from app.model.policies import Policy
from app.model.rule import Rule
from app.model.sequences import covers
from app.pdp.constraints import Check, IsSecret, Judge, Verdict
from app.pdp.costs import Cost
from app.pdp.quotas import OpenBreaker, OpenQuota
from app.pdp.value_schemas import ANYTHING, SchemaPart

PASS, FAIL, ABSTAIN = 1, 2, 4
"""A possible effect of a rule; effects are combined into sets."""
EITHER = PASS | FAIL
HasRoom = Callable[[Quota], bool]
TimeCheck = Callable[[int], str | None]
"""Takes minutes since the epoch; None inside the window, else the reason why not."""

R = TypeVar("R", bound=Rule)
Macs = Callable[[bytes], tuple[str, ...]]


def no_macs(_message: bytes) -> tuple[str, ...]:
    """The MACs of a service without a secret, which remembers nothing."""
    return ()


class Condition(Struct, frozen=True):
    """What a rule demands of a call, except quotas.

    when_failed, code: the result if it fails, and the code of that if it denies.
    failure: the reason if it always fails; None if that depends on the call.
    checks, time: what it depends on; a condition without any always passes.
    cost: the worst-case cost of evaluating it.
    """

    ref: RuleRef
    when_failed: Result
    code: DecisionCode
    failure: str | None = None
    checks: tuple[Check, ...] = ()
    time: TimeCheck | None = None
    cost: Cost = Cost()


class PlacedRule(Struct, Generic[R], frozen=True):
    """A rule of a policy, to be compiled.

    when_failed: the result if it fails. fingerprint: the name of its counter; "" if it counts nothing.
    active_since: the agent's revision that made it active. memory: names what the rule remembers; "" = nothing.
    macs: the MACs of a value, the newest secret's first.
    """

    policy: Policy
    rule: R
    ref: RuleRef
    when_failed: Result
    fingerprint: str
    is_secret: IsSecret
    active_since: int = 0
    memory: str = ""
    macs: Macs = no_macs

    def condition(self, *checks: Check, time: TimeCheck | None = None, cost: Cost | None = None) -> Condition:
        """What it demands of a call; it fails with the type's code."""
        return Condition(
            self.ref, self.when_failed, self.rule.code, failure=None, checks=checks, time=time, cost=cost or Cost()
        )

    def failure(self, reason: str) -> Outcome:
        """The outcome if it fails. A rule that escalates asks for a person, whatever its type."""
        code = self.rule.code if self.when_failed is Result.DENIED else DecisionCode.APPROVAL_REQUIRED
        return Outcome(self.when_failed, self.policy.id, self.ref, reason, code)


class Demands(Struct, frozen=True):
    """What a rule demands of the calls it covers. breaker: what counts those that are denied.

    unread: what else it demands, with the other result: that shell lines can be read.
    """

    condition: Condition | None = None
    quotas: tuple[OpenQuota, ...] = ()
    breaker: OpenBreaker | None = None
    unread: Condition | None = None


class BeforeCalls(Struct, frozen=True):
    """What is known about calls of one tool before there is one.

    minute: since the epoch. quota: the bucket that they share; None if there is none.
    parameters: what the rule demands of them, where it applies.
    """

    minute: int
    quota: Quota | None
    has_room: HasRoom
    parameters: SchemaPart


class RuleType(Generic[R]):
    """One type of rule: what it demands of calls, and what can be said about it before there is a call.

    A type overrides what differs from this. `model/rules.py` has its fields and what other layers know about it.
    Writing the class makes the type known, as that of the rule which is its parameter.
    """

    covers_all: bool = False
    """True if it matters for every tool, because it demands something of those it does not cover."""

    never_fails: bool = False
    """True if it abstains, instead of failing, about a call of which it cannot be judged whether it applies."""

    def __init_subclass__(cls) -> None:
        [kind] = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]
        if not isinstance(kind, TypeVar):
            TYPE_OF[kind] = cls()

    def compile(self, placed: PlacedRule[R]) -> Demands:
        """What it demands of the calls it covers. Stored rules always compile."""
        raise NotImplementedError

    def condition(self, compiled: "CompiledRule", tool: str, *, covered: bool) -> Condition | None:
        """What it demands of a call of the tool; None if it abstains, or is a quota that only needs room."""
        return compiled.demands.condition if covered else None

    def words(self, rule: R, is_secret: IsSecret) -> Iterator[str]:
        """Yield what a call that it covers must satisfy so that it does not fail, without requirements on secrets."""
        raise NotImplementedError

    def schema(self, rule: R, is_secret: IsSecret) -> SchemaPart:
        """The parameters with which a call that it covers does not fail it; what else it demands is left out."""
        return ANYTHING

    def reach(self, compiled: "CompiledRule", known: BeforeCalls) -> tuple[int, int]:
        """Its possible effects on calls that it covers: as things are now, and at any time."""
        return EITHER, EITHER


TYPE_OF: dict[type[Rule], RuleType[Any]] = {}
"""The type of each rule."""


def reach_by_parameters(part: SchemaPart) -> tuple[int, int]:
    """The possible effects of a rule that demands this of the parameters: some spelling of a name fails any."""
    return (FAIL, FAIL) if part.schema is False else (EITHER, EITHER)


class CompiledRule(Struct, frozen=True):
    """A rule with what it demands, made once.

    when_failed: the result if it fails. judge: decides whether it applies to a call; None = always.
    costs: the worst-case costs of all that.
    """

    type: RuleType[Any]
    policy: Policy
    rule: Rule
    ref: RuleRef
    when_failed: Result
    demands: Demands
    judge: Judge | None = None
    costs: tuple[Cost, ...] = ()

    def concerns(self, tool: str) -> bool:
        """True if it can matter for a call of this tool."""
        return self.type.covers_all or covers(self.rule.tools, tool)

    def condition_for(self, tool: str, verdict: Verdict) -> Condition | None:
        """What it demands of a call of the tool; None if it abstains, or is a quota that only needs room.

        verdict: whether it applies to the call; if that cannot be judged, it fails, unless it never does.
        """
        if verdict is not True:
            if self.type.never_fails:
                return None
            return Condition(self.ref, self.when_failed, DecisionCode.PARAMETER_INVALID, str(verdict))
        return self.type.condition(self, tool, covered=covers(self.rule.tools, tool))

    def unread_for(self, tool: str, verdict: Verdict) -> Condition | None:
        """What else it demands of a call of the tool, with the other result; None if nothing."""
        return self.demands.unread if verdict is True and covers(self.rule.tools, tool) else None

    def results(self) -> frozenset[Result]:
        """What it can say if it fails."""
        unread = self.demands.unread
        return frozenset({self.when_failed} if unread is None else {self.when_failed, unread.when_failed})

    def applies(self, parameters: dict[str, Any], context: dict[str, Any]) -> Verdict:
        """True if it applies to this call; the reason for its failure if that cannot be judged."""
        return self.judge is None or self.judge(parameters, context)


Verdicts = Mapping[int, Verdict]
"""Of rules that have a `when` or `unless`, by their identity."""
