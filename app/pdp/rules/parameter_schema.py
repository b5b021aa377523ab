"""Schemas: the parameters must fit a JSON Schema."""

import re
from collections.abc import Iterator
from typing import Any

from app.language.schemas.json_schema import compile_schema
from app.language.spellings import SchemaNames
from app.model.rules import ParameterSchema
from app.pdp.constraints import IsSecret, schema_check
from app.pdp.costs import cost_of_schema
from app.pdp.rules.rule_type import BeforeCalls, CompiledRule, Demands, PlacedRule, RuleType, reach_by_parameters
from app.pdp.value_schemas import UNKNOWN, SchemaPart, portable_pattern


class ParameterSchemaType(RuleType[ParameterSchema]):
    def compile(self, placed: PlacedRule[ParameterSchema]) -> Demands:
        schema = compile_schema(placed.rule.schema)
        return Demands(
            placed.condition(schema_check(schema, SchemaNames(placed.rule.schema)), cost=cost_of_schema(schema))
        )

    def words(self, rule: ParameterSchema, is_secret: IsSecret) -> Iterator[str]:
        yield "the parameters must fit the rule's JSON Schema"

    def schema(self, rule: ParameterSchema, is_secret: IsSecret) -> SchemaPart:
        written = _portable_schema(rule.schema)
        return UNKNOWN if written is None else SchemaPart(written, is_exact=True)

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        return reach_by_parameters(known.parameters)


_class = re.compile(r"\\[dws]")
_MAPS = frozenset({"properties"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_INSIDE = frozenset({"not", "if", "then", "else", "items", "additionalProperties", "contains", "propertyNames"})
_PLAIN = frozenset(
    {"type", "enum", "const", "required", "minProperties", "maxProperties", "minItems", "maxItems", "minLength"}
    | {"maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern", "description"}
)
_READ_ALIKE = _MAPS | _LISTS | _INSIDE | _PLAIN
_READ_IN_MANY_WAYS = frozenset(
    {"$ref", "patternProperties", "multipleOf", "uniqueItems", "prefixItems", "additionalItems", "minContains"}
    | {"maxContains", "dependencies", "dependentRequired", "dependentSchemas", "unevaluatedItems"}
    | {"unevaluatedProperties"}
)
"""Keywords that a validator of draft 7, or one of 2020-12, ignores or understands differently."""


def _portable_schema(schema: Any) -> Any:
    """The schema in a form that all validators understand in the same way; None if there is none, or it is recursive.

    A keyword that demands nothing here might mean something to a client.
    """
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict) or schema.keys() & _READ_IN_MANY_WAYS:
        return None
    written: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword not in _READ_ALIKE:
            continue
        made = _portable_keyword(keyword, value)
        if made is None:
            return None
        written[keyword] = made
    return written


def _portable_keyword(keyword: str, value: Any) -> Any:
    if keyword == "pattern":  # these classes mean something else there than in RE2
        return None if _class.search(value) else portable_pattern(value)
    if keyword in _MAPS:
        inner = {name: _portable_schema(each) for name, each in value.items()}
        return None if None in inner.values() else inner
    if keyword in _LISTS:
        some = [_portable_schema(each) for each in value]
        return None if None in some else some
    return _portable_schema(value) if keyword in _INSIDE else value
