"""Constraints: each named value of the parameters and of the context must be as the rule says."""

from collections.abc import Iterator

from msgspec import UnsetType
from msgspec.structs import replace

from app.model.constraints import REQUEST, Constraint, named_constraints, unread_apart
from app.model.decisions import Result
from app.model.rules import ParameterConstraint
from app.pdp.call_schemas import named_schema, together
from app.pdp.command_tests import Unread
from app.pdp.constraint_words import named_in_words
from app.pdp.constraints import Check, IsSecret, compile_constraint
from app.pdp.costs import cost_of
from app.pdp.rules.remembered import target_checks
from app.pdp.rules.rule_type import BeforeCalls, CompiledRule, Demands, PlacedRule, RuleType, reach_by_parameters
from app.pdp.value_schemas import SchemaPart


class ParameterConstraintType(RuleType[ParameterConstraint]):
    def compile(self, placed: PlacedRule[ParameterConstraint]) -> Demands:
        named, asks = list(_named(placed.rule)), placed.when_failed is Result.ESCALATED
        apart = [each for each in named if unread_apart(each[2], asks=asks)]
        checks = (_check(placed, *each, Unread.PASSES if each in apart else Unread.FAILS) for each in named)
        cost = cost_of(named, placed.when_failed)
        condition = placed.condition(*checks, cost=cost)
        if apart:
            other = Result.DENIED if asks else Result.ESCALATED
            unread = (_check(placed, *each, Unread.ALONE_FAILS) for each in apart)
            return Demands(
                condition,
                tuple(target_checks(placed)),
                unread=replace(condition, when_failed=other, checks=tuple(unread)),
            )
        return Demands(condition, tuple(target_checks(placed)))

    def words(self, rule: ParameterConstraint, is_secret: IsSecret) -> Iterator[str]:
        return (named_in_words(*each, is_secret) for each in _named(rule))

    def schema(self, rule: ParameterConstraint, is_secret: IsSecret) -> SchemaPart:
        named = {} if isinstance(rule.parameters, UnsetType) else rule.parameters
        return together(named_schema(name, each, is_secret) for name, each in named.items())

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        return reach_by_parameters(known.parameters)


def _check(
    placed: PlacedRule[ParameterConstraint], of: str, name: str, constraint: Constraint, unread: Unread
) -> Check:
    is_secret = placed.is_secret
    secret = is_secret(name) or (of, name) == ("context", REQUEST)
    if unread is Unread.ALONE_FAILS:
        constraint = Constraint(command=constraint.command, required=False)
    return compile_constraint(name, constraint, secret=secret, of=of, is_secret=is_secret, unread=unread)


def _named(rule: ParameterConstraint) -> Iterator[tuple[str, str, Constraint]]:
    return named_constraints(rule.parameters, rule.context)
