"""Further requirements on valid rules when they are written.

Rules stored before these checks existed are still read, and mean what they meant.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from app.language.value_paths import ANYWHERE
from app.model.api_keys import without_raw_keys
from app.model.constraints import require_name
from app.model.rules import PolicyRule
from app.model.text import CONTAINS_A_KEY, FieldError, require_tool_name


def require_writable(field: str, rules: Iterable[PolicyRule]) -> None:
    """Raise FieldError at the first name that has invisible characters or names no values, and at the first API key."""
    for index, rule in enumerate(rules):
        rule_path = f"{field}[{index}]"
        together = "".join(rule.tools)
        # There may be a thousand plain names, which need not be checked one by one.
        if (
            not together.isascii()
            or not together.isprintable()
            or " " in together
            or without_raw_keys(together) != together
        ):
            for nth, pattern in enumerate(rule.tools):
                require_tool_name(f"{rule_path}.tools[{nth}]", pattern)
        for where, of, name in (each[:3] for each in rule.constraints() if each[2] != ANYWHERE):
            require_name(".".join(filter(None, (rule_path, where, of, name))), name)
        # Everyone who may read rules would see a key in an enum, a pattern, a schema or anywhere else.
        written = msgspec.json.encode(rule).decode()
        if without_raw_keys(written) != written:
            for path, text in _strings(rule_path, msgspec.to_builtins(rule)):
                if without_raw_keys(text) != text:
                    raise FieldError(path, CONTAINS_A_KEY)


def _strings(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every string in a value, including names, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield path, name
            yield from _strings(f"{path}.{name}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(f"{path}[{index}]", inner)


def pattern_count(rules: Collection[PolicyRule]) -> int:
    """The number of patterns in these rules that must be compiled."""
    return sum(rule.pattern_count for rule in rules)
