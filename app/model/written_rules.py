"""What rules must be besides valid when they are written now.

What was stored before there were these bounds is still read, and means what it meant.
"""

from collections.abc import Collection, Iterable

from msgspec import UNSET

from app.model.constraints import require_name
from app.model.keys import KEY_TYPE
from app.model.policies import ParameterSchema, PolicyRule, constraints_of
from app.model.text import require_tool_name

_SCHEMA_PATTERNS = 8
"""What a schema counts for among patterns."""


def require_writable(rules: Iterable[PolicyRule]) -> None:
    """Raise FieldError at the first name in these rules that cannot be seen or that names no values."""
    for index, rule in enumerate(rules):
        place = f"rules[{index}]"
        together = "".join(rule.tools)
        # A thousand plain names need no look at each.
        if not together.isascii() or not together.isprintable() or " " in together or KEY_TYPE in together:
            for nth, pattern in enumerate(rule.tools):
                require_tool_name(f"{place}.tools[{nth}]", pattern)
        for where, of, name, _ in constraints_of(rule):
            require_name(".".join(filter(None, (place, where, of, name))), name)


def pattern_count(rules: Collection[PolicyRule]) -> int:
    """How many patterns there are to be compiled."""
    schemas = sum(isinstance(rule, ParameterSchema) for rule in rules)
    return schemas * _SCHEMA_PATTERNS + sum(
        (constraint.regex is not UNSET) + (constraint.not_regex is not UNSET)
        for rule in rules
        for _, _, _, constraint in constraints_of(rule)
    )
