"""The known tools of a workspace, and warnings about parts of a policy that do not match them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from app.language.value_paths import ANYWHERE
from app.model.policies import Policy
from app.model.quotas import Budget
from app.model.rules import PolicyRule, ToolAllowlist, ToolGrant
from app.pdp.call_schemas import segments_of
from app.policy_tools.lint.together import Comparisons, Together
from app.policy_tools.lint.warnings import Code, PolicyWarning

_SHOWN = 5
_UNKNOWN = ("$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "additionalProperties")
"""Keywords that admit properties which `properties` does not list."""


class KnownTools:
    """Names in the log or the catalogue, and the JSON of the schemas that the catalogue has for some of them.

    Without names nothing is known, so nothing is suspect. irreversible: the tools of which a person said that their
    calls cannot be undone.
    """

    def __init__(
        self,
        names: Iterable[str] = (),
        schemas: Mapping[str, bytes] | None = None,
        irreversible: Iterable[str] = (),
    ) -> None:
        self._names = sorted(set(names))
        self._irreversible = sorted(irreversible)
        self._schemas = schemas or {}
        self._read: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._names)

    def covered(self, pattern: str) -> Sequence[str]:
        """The names that the pattern covers."""
        return _covered(self._names, pattern)

    def irreversible(self, pattern: str) -> Sequence[str]:
        """Those that the pattern covers and whose calls cannot be undone."""
        return _covered(self._irreversible, pattern)

    def schema(self, name: str) -> Any:
        """The schema of the tool's parameters in the catalogue, or None."""
        if name not in self._read:
            encoded = self._schemas.get(name)
            self._read[name] = None if encoded is None else msgspec.json.decode(encoded)
        return self._read[name]


NOTHING_KNOWN = KnownTools()


def _covered(names: Sequence[str], pattern: str) -> Sequence[str]:
    """The names that the pattern covers, of sorted ones."""
    prefix = pattern.removesuffix("*")
    start = bisect_left(names, prefix)
    if prefix == pattern:
        return names[start : start + 1] if pattern in names[start : start + 1] else ()
    # Names with the prefix sort right after it.
    start += names[start : start + 1] == [prefix]
    end = bisect_left(names, True, start, key=lambda name: not name.startswith(prefix))
    return names[start:end]


def unasked_warnings(policy: Policy, known: KnownTools, together: Together) -> Iterator[PolicyWarning]:
    """Tools that cannot be undone, in a grant: nothing asks a person about their calls, limits or constrains them."""
    bound = together.bound(policy.priority)
    fences = [rule for _, rule in (*together.guarding, *together.tiers[policy.priority]) if rule.is_always]
    for index, rule in enumerate(policy.rules):
        if not isinstance(rule, ToolGrant | ToolAllowlist) or not rule.is_always:
            continue
        tools = dict.fromkeys(name for pattern in rule.tools for name in known.irreversible(pattern))
        together.comparisons.spend(len(tools) * (bound.steps + len(fences)))
        unasked = [
            name
            for name in tools
            if bound.covering(name) is None
            and all(together.comparisons.tools(fence).covering(name) is not None for fence in fences)
        ]
        if unasked:
            more = f" and {len(unasked) - 1} more" if unasked[1:] else ""
            message = (
                f'calls of "{unasked[0]}"{more} cannot be undone, and no rule asks a person about them, limits or '
                f"constrains them; cover {'them' if more else 'it'} with an approval_required, a rate_limit or a "
                "parameter_constraint, too"
            )
            yield PolicyWarning(Code.IRREVERSIBLE_UNASKED, f"$.rules[{index}].tools", message)


def parameter_warnings(
    place: str, rule: PolicyRule, known: KnownTools, compared: Comparisons
) -> Iterator[PolicyWarning]:
    """Parameters that no tool covered by the rule has, according to the catalogue's schemas."""
    named = list(_named(rule))
    if not named or not known:
        return
    tools = list(dict.fromkeys(name for pattern in rule.tools for name in known.covered(pattern)))
    compared.spend(len(named) * len(tools))
    schemas = [known.schema(name) for name in tools]
    if not tools or any(schema is None for schema in schemas):
        return
    for where, name in dict.fromkeys(named):
        if any(_may_have(schema, segments_of(name)) for schema in schemas):
            continue
        known_names = sorted({known_name for schema in schemas for known_name in schema.get("properties", {})})
        more = ", …" if len(known_names) > _SHOWN else ""
        has = f"there are {', '.join(known_names[:_SHOWN])}{more}" if known_names else "it has none"
        whose = f'"{tools[0]}"' if len(tools) == 1 else f"any of the {len(tools)} tools that the rule covers"
        message = f'"{name}" is not a parameter of {whose}, by the schema in the catalogue; {has}'
        yield PolicyWarning(Code.UNKNOWN_PARAMETER, f"{place}.{where}", message)


def _named(rule: PolicyRule) -> Iterator[tuple[str, str]]:
    """Every parameter name that the rule reads and needs, with its place."""
    for where, of, name, constraint in rule.constraints():
        if of == "parameters" and name != ANYWHERE and constraint.absent is not True:
            yield f"{where}.{of}.{name}" if where else f"{of}.{name}", name
    limit = rule.limit
    if isinstance(limit, Budget) and limit.of == "parameters":
        yield "budget.parameter", limit.name
    if limit is not None and limit.per is not UNSET:
        field = "budget" if isinstance(limit, Budget) else "rateLimit"
        for index, name in enumerate(limit.per):
            if name.startswith("parameters."):
                yield f"{field}.per[{index}]", name.removeprefix("parameters.")


def _may_have(schema: Any, segments: Sequence[Sequence[str]]) -> bool:
    """True if a value that fits the schema can have a field at this path, or the schema does not say."""
    if not segments:
        return True
    if not segments[0]:  # the element itself, or the rest after another `[*]`
        return len(segments) == 1 or _may_have(_items(schema), segments[1:])
    values = _values_at(schema, segments[0])
    if len(segments) == 1:
        return any(True for _ in values)
    return any(_may_have(_items(value), segments[1:]) for value in values)


def _values_at(schema: Any, parts: Sequence[str]) -> Iterator[Any]:
    """The schemas of the values that the parts can mean in such an object; None for an unknown schema."""
    if not isinstance(schema, dict) or any(schema.get(word) not in (None, False) for word in _UNKNOWN):
        yield None
        return
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        yield None
        return
    for end in range(len(parts), 0, -1):
        key = ".".join(parts[:end])
        if key in properties:
            if end == len(parts):
                yield properties[key]
            else:
                yield from _values_at(properties[key], parts[end:])


def _items(schema: Any) -> Any:
    return schema.get("items") if isinstance(schema, dict) else None
