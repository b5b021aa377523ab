"""A constraint as a JSON Schema of one value: it accepts every value that passes and, where exact, no other."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, Struct

from app.model.constraints import Constraint
from app.model.fields import Scalar

JsonSchema = dict[str, Any] | bool
_ALL_TYPES = frozenset({"string", "number", "boolean", "null", "array", "object"})
_ONLY_BY_MEANING = ("path", "host", "email_domain", "cidr", "from_request", "approved_before", "command")
_MAX_PATTERN = 500


class SchemaPart(Struct, frozen=True):
    """A schema, and whether it rejects every value that does not pass."""

    schema: JsonSchema
    is_exact: bool


ANYTHING = SchemaPart(True, is_exact=True)
UNKNOWN = SchemaPart(True, is_exact=False)
"""Accepts anything: nothing is known of the values that pass."""

NOTHING_PASSES = SchemaPart(schema=False, is_exact=True)


def value_schema(constraint: Constraint) -> SchemaPart:
    """What a value must be if it is present. `required` and `absent` concern the object that contains it."""
    types, numbers_are_whole = _types(constraint)
    if not types:
        return NOTHING_PASSES
    parts = list(_keywords(constraint))
    refused = [refusal for refusal, _ in _refused(constraint) if refusal is not None]
    is_exact = all(part.is_exact for part in parts) and all(exact for _, exact in _refused(constraint))
    schema: dict[str, Any] = {}
    if types != _ALL_TYPES or numbers_are_whole:
        names = sorted("integer" if each == "number" and numbers_are_whole else each for each in types)
        schema["type"] = names[0] if len(names) == 1 else names
    for part in parts:
        if isinstance(part.schema, dict):
            schema |= part.schema
    if refused:
        schema["not"] = refused[0] if len(refused) == 1 else {"anyOf": refused}
    # A constraint's pattern is matched against numbers and booleans, too; a schema's ignores them.
    by_text = constraint.regex is not UNSET or constraint.not_regex is not UNSET
    if by_text and types != {"string"}:
        is_exact = False
    if any(getattr(constraint, name) is not UNSET for name in (*_ONLY_BY_MEANING, "equals", "at_most", "at_least")):
        is_exact = False
    return SchemaPart(schema or True, is_exact)


def _types(constraint: Constraint) -> tuple[frozenset[str], bool]:
    """The JSON types that every field of the constraint can judge, and whether numbers must be whole."""
    types, whole = _ALL_TYPES, False
    if constraint.type is not UNSET:
        wanted = {str(each) for each in (constraint.type if isinstance(constraint.type, list) else [constraint.type])}
        whole = "integer" in wanted and "number" not in wanted
        types &= {"number" if each == "integer" else each for each in wanted}
    for members in (constraint.enum, constraint.not_enum):
        if isinstance(members, list):
            types &= {_kind(each) for each in members}
    for fields, judged in _JUDGED:
        if any(getattr(constraint, name) is not UNSET for name in fields):
            types &= judged
    return frozenset(types), whole


_JUDGED = (
    (("regex", "not_regex", "not_kind"), frozenset({"string", "number", "boolean"})),
    (("min", "max", "above", "below"), frozenset({"number"})),
    (("min_length", "max_length", *_ONLY_BY_MEANING), frozenset({"string"})),
    (("min_items", "max_items", "contains"), frozenset({"array"})),
    (("equals",), frozenset({"string", "number", "boolean", "null"})),
    (("at_most", "at_least"), frozenset({"string", "number"})),
)
"""Fields, and the types of the values that they can judge."""

_NAMES = (
    ("min", "minimum"),
    ("max", "maximum"),
    ("above", "exclusiveMinimum"),
    ("below", "exclusiveMaximum"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("enum", "enum"),
)


def _keywords(constraint: Constraint) -> Iterator[SchemaPart]:
    """Each field that says what a value must be."""
    for name, keyword in _NAMES:
        wanted = getattr(constraint, name)
        if wanted is not UNSET:
            yield SchemaPart({keyword: wanted}, is_exact=True)
    if constraint.contains is not UNSET:
        yield SchemaPart({"contains": {"const": constraint.contains}}, is_exact=True)
    if isinstance(constraint.regex, str):
        pattern = portable_pattern(constraint.regex)
        yield UNKNOWN if pattern is None else SchemaPart({"pattern": pattern}, is_exact=True)


def _refused(constraint: Constraint) -> Iterator[tuple[dict[str, Any] | None, bool]]:
    """For each field that says what a value must not be: a schema of rejected values, and whether it has all of them.

    None = it cannot be expressed.
    """
    if isinstance(constraint.not_enum, list):
        yield {"enum": constraint.not_enum}, True
    if isinstance(constraint.not_regex, str):
        pattern = portable_pattern(constraint.not_regex)
        yield (None, False) if pattern is None else ({"type": "string", "pattern": pattern}, True)
    if constraint.not_kind is not UNSET:
        yield None, False


def _kind(value: Scalar) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    return "string" if isinstance(value, str) else "number"


_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
_token = re.compile(
    r"(?P<class>\[(?!\^?\])\^?(?:\\[dwsnt\-\]\[\\./^$+*?(){}|@]|(?!--)[^\\\[\]&~|])*\])"
    r"|(?P<escape>\\[dws.\-+*?()\[\]{}|^$/\\@])"
    r"|(?P<group>\((?:\?:|(?!\?)))"
    r"|(?P<repeat>(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??)"
    r"|(?P<other>[).^$|])"
    r"|(?P<literal>[A-Za-z0-9 _\-/@#%&=,:;<>!\"'~`])"
)


def portable_pattern(regex: str) -> str | None:
    r"""The pattern in a form that the engines of all JSON Schema validators read alike; None if that may be impossible.

    Their `\d`, `\w` and `\s` may include Unicode, their `.` may exclude other line ends, and in some `$` matches before
    a final line feed. In RE2 they mean ASCII, and the end. Some engines accept neither needless escapes nor repeated
    assertions.
    """
    if len(regex) > _MAX_PATTERN or not regex.isascii():
        return None
    written, at, repeatable = list[str](), 0, False
    while at < len(regex):
        match = _token.match(regex, at)
        if match is None or (match.lastgroup == "repeat" and not repeatable):
            return None
        written.append(_portable(str(match.lastgroup), match[0]))
        repeatable = match.lastgroup != "repeat" and match[0] not in ("^", "$")
        at = match.end()
    return "".join(written)


def _portable(kind: str, text: str) -> str:
    if kind == "class":
        return _member.sub(_portable_member, text)
    if kind == "escape" and text[1] in _CLASSES:
        return f"[{_CLASSES[text[1]]}]"
    if kind == "escape" and text[1] in "-@":
        return text[1]
    if text == "$":
        return "(?![^\\n]|\\n)"
    return "[^\\n]" if text == "." else text


_member = re.compile(r"\\(.)(-?)")
r"""What may follow a backslash in a class, and a hyphen after that, which does not begin a range after `\d`."""


def _portable_member(found: re.Match[str]) -> str:
    letter, hyphen = found.groups()
    if letter in _CLASSES:
        return _CLASSES[letter] + ("\\-" if hyphen else "")
    return (letter if letter == "@" else f"\\{letter}") + hyphen
