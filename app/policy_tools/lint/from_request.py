"""Warnings beside `fromRequest` and `approvedBefore`: parameters that a policy forgot, or that can never pass."""

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, UnsetType

from app.model.policies import Policy
from app.model.rules import ParameterConstraint
from app.pdp.call_schemas import segments_of
from app.pdp.clauses import covers
from app.policy_tools.lint.known_tools import KnownTools
from app.policy_tools.lint.together import Comparisons
from app.policy_tools.lint.warnings import Code, PolicyWarning

_SHOWN = 5


def from_request_warnings(policy: Policy, known: KnownTools, compared: Comparisons) -> Iterator[PolicyWarning]:
    """For each such rule: names whose values are no strings, and strings that no rule of the policy constrains."""
    for index, rule in enumerate(policy.rules):
        if not isinstance(rule, ParameterConstraint) or isinstance(rule.parameters, UnsetType):
            continue
        asked = {
            name: "fromRequest" if each.from_request is not UNSET else "approvedBefore"
            for name, each in rule.parameters.items()
            if each.from_request is not UNSET or each.approved_before is not UNSET
        }
        if not asked:
            continue
        place = f"$.rules[{index}].parameters"
        tools = dict.fromkeys(tool for pattern in rule.tools for tool in known.covered(pattern))
        schemas = {tool: known.schema(tool) for tool in tools}
        compared.spend(len(asked) * len(tools))
        for name, field in asked.items():
            tool = next((tool for tool, schema in schemas.items() if _is_no_string(schema, name)), None)
            if tool is not None:
                message = f'by the schema in the catalogue, "{name}" of "{tool}" is no string, so it never passes'
                yield PolicyWarning(Code.NOT_IN_REQUESTS, f"{place}.{name}.{field}", message)
        for tool, schema in schemas.items():
            compared.spend(len(_properties(schema)) + len(policy.rules))
            forgotten = sorted(_strings_of(schema) - _constrained(policy, tool))
            if forgotten:
                names = ", ".join(forgotten[:_SHOWN]) + (", …" if len(forgotten) > _SHOWN else "")
                message = (
                    f'"{tool}" also takes {names}, which no rule of this policy constrains, so any value passes there; '
                    'say "fromRequest" or an enum there, too, or {"absent": true}'
                )
                yield PolicyWarning(Code.FREE_BESIDE_REQUEST, place, message)
                break


def _constrained(policy: Policy, tool: str) -> set[str]:
    """The outermost keys of the parameters that the policy's rules constrain in every call of the tool."""
    rules = (rule for rule in policy.rules if rule.is_always and covers(rule.tools, tool))
    named = (name for rule in rules for _, of, name, _ in rule.constraints() if of == "parameters")
    return {
        ".".join(parts[:end]) for name in named for parts in segments_of(name)[:1] for end in range(1, len(parts) + 1)
    }


def _strings_of(schema: Any) -> set[str]:
    """The properties of an object of this schema that may be strings or arrays of strings."""
    return {name for name, each in _properties(schema).items() if _may_be_string(each) or _may_be_string(_items(each))}


def _is_no_string(schema: Any, name: str) -> bool:
    """True if the schema names other types for the values of this name, a parameter or the elements of one."""
    outermost, *rest = segments_of(name)
    found = _properties(schema).get(".".join(outermost))
    if rest == [[]]:
        found = _items(found)
    elif rest:
        return False
    return bool(_types(found)) and "string" not in _types(found)


def _may_be_string(schema: Any) -> bool:
    """True unless the schema names only other types."""
    return isinstance(schema, dict) and (not _types(schema) or "string" in _types(schema))


def _types(schema: Any) -> set[str]:
    """The types that the schema names, in branches, too; empty if it leaves some open."""
    if not isinstance(schema, dict):
        return set()
    if "type" in schema:
        return {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
    branches = [_types(each) for word in ("anyOf", "oneOf") for each in schema.get(word) or ()]
    return set().union(*branches) if all(branches) else set()


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _items(schema: Any) -> Any:
    return schema.get("items") if isinstance(schema, dict) else None
