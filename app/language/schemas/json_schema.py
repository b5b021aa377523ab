"""JSON Schemas of 2020-12 for the parameters of a call: compiled, bounded, and never fetched from the network.

Patterns are those of Rust's `regex`, which take linear time. `$ref` must point into the same schema and must not
recur, so the work that a schema causes is bounded by its size. `format` is not checked. The library holds the
interpreter's lock throughout, so a validation that could take long is not started.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

from app.language.schemas.locations import place
from app.language.schemas.work import SchemaWork

MAX_SCHEMA_BYTES = 64 * 1024
MAX_SCHEMA_DEPTH = 24
MAX_SCHEMA_PARTS = 10_000
"""The most objects and lists in a schema, counting the target of each `$ref` again."""

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
    """Validating this value could block everything else for too long."""


class Schema:
    """A compiled schema.

    parts: the number of its places that a value may have to be checked against. numbers: how many numbers a value is
    compared with.
    """

    __slots__ = ("_validator", "_work", "numbers", "parts")

    def __init__(self, schema: dict[str, Any], parts: int) -> None:
        self.parts = parts
        self._validator = jsonschema_rs.Draft202012Validator(
            schema,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES),
            validate_formats=False,
            offline=True,
        )
        self._work = SchemaWork(schema, parts)
        self.numbers = self._work.numbers

    def first_failure(self, value: Any) -> tuple[str, str] | None:
        """The dotted path of the first mismatch ("" for the value as a whole) and the keyword that rejects it, or None.

        The keyword is "schema" if locating the mismatch would be too much work. Raises TooMuchWork.
        """
        if self._work.demand(value).is_too_much:
            raise TooMuchWork
        if self._validator.is_valid(value):
            return None
        if not self._work.tells_little(value):
            return "", _NO_KEYWORD
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return _place_and_keyword(error)
        return "", _NO_KEYWORD


def _place_and_keyword(error: jsonschema_rs.ValidationError) -> tuple[str, str]:
    keyword = next((step for step in reversed(error.schema_path) if isinstance(step, str)), _NO_KEYWORD)
    return ".".join(map(str, error.instance_path)), keyword


def compile_schema(schema: dict[str, Any]) -> Schema:
    """The compiled schema, shared by equal schemas. Raises SchemaError."""
    text = msgspec.json.encode(schema)
    if len(text) > MAX_SCHEMA_BYTES:
        raise SchemaError((), f"has {len(text)} bytes as JSON; at most {MAX_SCHEMA_BYTES} are accepted")
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
        message = f"is not a JSON Schema of 2020-12: {error.message[:300]}"
        if error.message.endswith('is not a "regex"'):
            message += "; patterns are those of Rust's regex, without look-around and back-references"
        raise SchemaError(path, message) from None


def _expanded(root: Any, value: Any, path: tuple[str, ...], followed: tuple[str, ...]) -> int:
    """The number of parts with every `$ref` expanded. followed: the references that led here. Raises SchemaError."""
    if len(path) > MAX_SCHEMA_DEPTH * (1 + len(followed)) or len(followed) > MAX_SCHEMA_DEPTH:
        raise SchemaError((), f"is nested more than {MAX_SCHEMA_DEPTH} levels deep")
    count = 1
    for name, inner in _inside(value):
        if name in _REFUSED and isinstance(value, dict) and isinstance(inner, str):
            raise SchemaError((*path, name), f"is not accepted; `$ref` with `{_LOCAL}…` leads to a place in the schema")
        if name == "$ref" and isinstance(inner, str):
            if inner in followed:
                raise SchemaError((*path, name), "leads round in a circle; a schema must not contain itself")
            count += _expanded(root, _target(root, inner, (*path, name)), (*path, name), (*followed, inner))
        elif isinstance(inner, _NESTED) and not (name == "$defs" and not path):
            count += _expanded(root, inner, (*path, name), followed)
        if count > MAX_SCHEMA_PARTS:
            raise SchemaError((), f"has more than {MAX_SCHEMA_PARTS} parts, counting the target of each `$ref` again")
    return count


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(index), inner) for index, inner in enumerate(value))


def _target(root: Any, reference: str, path: tuple[str, ...]) -> Any:
    """The target of a `$ref`."""
    if not reference.startswith(_LOCAL):
        raise SchemaError(path, f"must begin with `{_LOCAL}`: nothing is fetched from elsewhere")
    try:
        return place(root, reference)
    except KeyError:
        raise SchemaError(path, "leads to no place in this schema") from None
