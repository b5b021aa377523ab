"""Whole numbers in either notation: in JSON 5.0 is one, even if the parser returns a float."""

from typing import Any

_EXACT = 1 << 53
"""The largest number up to which a float represents every whole number."""


def with_whole_numbers(value: Any) -> Any:
    """The value with every float that is a whole number converted to an integer."""
    if type(value) is float and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    if type(value) is list:
        return [with_whole_numbers(inner) for inner in value]
    if type(value) is dict:
        return {name: with_whole_numbers(inner) for name, inner in value.items()}
    return value
