"""JSON Schemas of 2020-12 over the parameters of a call: compiled, bounded, and without a word to the network.

Patterns are those of Rust's `regex`, linear in the text. `$ref` leads to a place in the same schema and never round in
a circle, so what a schema asks of a value is bounded by its size. `format` asks for nothing. The library keeps the
interpreter's lock from begin to end, so what could take it long is not begun.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

from app.model.schema_work import SchemaWork, place

MAX_SCHEMA_BYTES = 64 * 1024
MAX_SCHEMA_DEPTH = 24
MAX_SCHEMA_PARTS = 10_000
"""Objects and lists of a schema, those behind each `$ref` counted again."""

_PATTERN_BYTES = 256 * 1024
_LATEST = 256
_NO_KEYWORD = "schema"
_NESTED = (dict, list)
_LOCAL = "#/"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFUSED = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "$recursiveRef")


class SchemaError(ValueError):
    """A schema that cannot be used; `path` is the place in it, as steps from its root."""

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


class TooMuchWork(Exception):
    """To hold this value against the schema could take longer than everybody else may be kept waiting."""


class Schema:
    """A compiled schema. parts: how many places of it a value may have to be held against."""

    __slots__ = ("_validator", "_work", "parts")

    def __init__(self, schema: dict[str, Any], parts: int) -> None:
        self.parts = parts
        self._validator = jsonschema_rs.Draft202012Validator(
            schema,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES),
            validate_formats=False,
            offline=True,
        )
        self._work = SchemaWork(schema, parts)

    def first_failure(self, value: Any) -> tuple[str, str] | None:
        """Where the value does not fit (names with dots between; "" = as a whole) and which keyword says so.

        The keyword is "schema" where finding the place would be too much work. Raises TooMuchWork.
        """
        if self._work.is_too_much(value):
            raise TooMuchWork
        if self._validator.is_valid(value):
            return None
        if not self._work.tells_little(value):
            return "", _NO_KEYWORD
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return _told(error)
        return "", _NO_KEYWORD


def _told(error: jsonschema_rs.ValidationError) -> tuple[str, str]:
    """Place and keyword of an error."""
    keyword = next((step for step in reversed(error.schema_path) if isinstance(step, str)), _NO_KEYWORD)
    return ".".join(map(str, error.instance_path)), keyword


def compile_schema(schema: dict[str, Any]) -> Schema:
    """The compiled schema, shared by all who have the same. Raises SchemaError."""
    text = msgspec.json.encode(schema)
    if len(text) > MAX_SCHEMA_BYTES:
        raise SchemaError((), f"has {len(text)} bytes as JSON; at most {MAX_SCHEMA_BYTES} are taken")
    return _compiled(text)


@lru_cache(maxsize=_LATEST)
def _compiled(text: bytes) -> Schema:
    schema = msgspec.json.decode(text)
    if schema.get("$schema", _DIALECT) != _DIALECT:
        raise SchemaError(("$schema",), f"must be {_DIALECT}, or left out")
    parts = _expanded(schema, schema, (), ())
    try:
        return Schema(schema, parts)
    except jsonschema_rs.ValidationError as error:
        path = tuple(map(str, error.instance_path))
        raise SchemaError(path, f"is no JSON Schema of 2020-12: {error.message[:300]}") from None


def _expanded(root: Any, value: Any, path: tuple[str, ...], behind: tuple[str, ...]) -> int:
    """How many parts it has with every `$ref` followed. behind: the places that led here. Raises SchemaError."""
    if len(path) > MAX_SCHEMA_DEPTH * (1 + len(behind)) or len(behind) > MAX_SCHEMA_DEPTH:
        raise SchemaError((), f"is nested more than {MAX_SCHEMA_DEPTH} levels deep")
    count = 1
    for name, inner in _inside(value):
        if name in _REFUSED and isinstance(value, dict) and isinstance(inner, str):
            raise SchemaError((*path, name), f"is not taken; `$ref` with `{_LOCAL}…` leads to a place in the schema")
        if name == "$ref" and isinstance(inner, str):
            if inner in behind:
                raise SchemaError((*path, name), "leads round in a circle; a schema must not contain itself")
            count += _expanded(root, _target(root, inner, (*path, name)), (*path, name), (*behind, inner))
        elif isinstance(inner, _NESTED) and not (name == "$defs" and not path):
            count += _expanded(root, inner, (*path, name), behind)
        if count > MAX_SCHEMA_PARTS:
            raise SchemaError((), f"has more than {MAX_SCHEMA_PARTS} parts, those behind each `$ref` counted again")
    return count


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(index), inner) for index, inner in enumerate(value))


def _target(root: Any, reference: str, path: tuple[str, ...]) -> Any:
    """What a `$ref` leads to."""
    if not reference.startswith(_LOCAL):
        raise SchemaError(path, f"must begin with `{_LOCAL}`: nothing is fetched from elsewhere")
    try:
        return place(root, reference)
    except KeyError:
        raise SchemaError(path, "leads to no place in this schema") from None
