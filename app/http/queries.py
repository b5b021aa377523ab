"""Decodes query strings: into the struct of the endpoint, or one error that says which parameter is wrong, and why."""

import re
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from app.errors import Invalid
from app.model.query_fields import QueryFields
from app.model.text import FieldError, require_text
from app.policy_tools.struct_schemas.queries import FLAG, Parameter, parameters_of
from app.validation_messages import refusing_fields, visible

_MAX_FIELDS = 50
_digits = re.compile(r"[0-9]{1,16}").fullmatch
_lost_plus = re.compile(r".*\d \d\d:?\d\d").fullmatch
_QueryT = TypeVar("_QueryT", bound=QueryFields)


def decode_query(query_string: bytes, kind: type[_QueryT]) -> _QueryT:
    """The query as a struct of this kind. Raises Invalid on unknown, repeated or invalid parameters."""
    if not query_string:
        return kind()
    parameters = _by_spelling(kind)
    spellings, raw_values = set[str](), dict[str, str]()
    for spelling, text in _pairs(query_string):
        parameter = parameters.get(spelling)
        if parameter is None:
            names = ", ".join(each.name for each in parameters_of(kind))
            raise Invalid.at(visible(spelling), f"is not a query parameter here; there are {names or 'none'}")
        if spelling in spellings:
            raise Invalid.at(spelling, "is given twice; give it once")
        spellings.add(spelling)
        if raw_values.setdefault(parameter.name, text) != text:
            raise Invalid.at(parameter.name, f"is given in two spellings that differ; leave {spelling} out")
    values = {parameters[name].attribute: _value(parameters[name], text) for name, text in raw_values.items()}
    with refusing_fields(""):
        return kind(**values)


@cache
def _by_spelling(kind: type[QueryFields]) -> dict[str, Parameter]:
    parameters = parameters_of(kind)
    named = {parameter.name: parameter for parameter in parameters}
    return named | {parameter.also: parameter for parameter in parameters if parameter.also}


def _value(parameter: Parameter, text: str) -> Any:
    """The parameter's value, read from `text`. Raises Invalid."""
    try:
        return _reader(parameter)(text)
    except FieldError as error:
        raise Invalid.at(parameter.name, error.message) from None
    except ValueError as error:
        hint = "; a + in a query is written %2B" if _is_time(parameter) and _lost_plus(text) else ""
        raise Invalid.at(parameter.name, f"{error}{hint}") from None


def _is_time(parameter: Parameter) -> bool:
    return parameter.schema.get("format") == "date-time"


def _reader(parameter: Parameter) -> Callable[[str], Any]:
    """A function that reads a value of the parameter. It raises ValueError with a sentence about the values allowed."""
    kind, schema = parameter.kind, parameter.schema

    def choice(text: str) -> Any:
        if text not in schema["enum"]:
            raise ValueError(f"must be one of {', '.join(schema['enum'])}")
        return text == FLAG[True] if kind is bool else kind(text)

    def number(text: str) -> int:
        least, most = schema["minimum"], schema["maximum"]
        if _digits(text) and least <= int(text) <= most:
            return int(text)
        raise ValueError(f"must be a whole number from {least} to {most}")

    def name(text: str) -> str:
        require_text(text, schema["maxLength"])
        return text

    if parameter.spelled is not None:
        return parameter.spelled.read
    if kind is bool or issubclass(kind, Enum):
        return choice
    return number if kind is int else name


def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query_string.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except UnicodeDecodeError:
        raise Invalid.at("?", "the query string is not UTF-8") from None
    except ValueError:
        raise Invalid.at("?", f"the query string has more than {_MAX_FIELDS} parameters") from None
