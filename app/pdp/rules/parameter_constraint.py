"""Constraints: each named value of the parameters and of the context must be as the rule says."""

from collections.abc import Iterator

from msgspec import UnsetType

from app.model.constraints import REQUEST, Constraint, named_constraints
from app.model.rules import ParameterConstraint
from app.pdp.call_schemas import named_schema, together
from app.pdp.constraint_words import named_in_words
from app.pdp.constraints import IsSecret, compile_constraint
from app.pdp.costs import cost_of
from app.pdp.rules.remembered import target_checks
from app.pdp.rules.rule_type import BeforeCalls, CompiledRule, Demands, PlacedRule, RuleType, reach_by_parameters
from app.pdp.value_schemas import SchemaPart


class ParameterConstraintType(RuleType[ParameterConstraint]):
    def compile(self, placed: PlacedRule[ParameterConstraint]) -> Demands:
        named, is_secret = list(_named(placed.rule)), placed.is_secret
        checks = (
            compile_constraint(
                name,
                constraint,
                secret=is_secret(name) or (of, name) == ("context", REQUEST),
                of=of,
                is_secret=is_secret,
            )
            for of, name, constraint in named
        )
        cost = cost_of(named, placed.when_failed)
        return Demands(placed.condition(*checks, cost=cost), tuple(target_checks(placed)))

    def words(self, rule: ParameterConstraint, is_secret: IsSecret) -> Iterator[str]:
        return (named_in_words(*each, is_secret) for each in _named(rule))

    def schema(self, rule: ParameterConstraint, is_secret: IsSecret) -> SchemaPart:
        named = {} if isinstance(rule.parameters, UnsetType) else rule.parameters
        return together(named_schema(name, each, is_secret) for name, each in named.items())

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        return reach_by_parameters(known.parameters)


def _named(rule: ParameterConstraint) -> Iterator[tuple[str, str, Constraint]]:
    return named_constraints(rule.parameters, rule.context)
