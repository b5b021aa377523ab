"""Request bodies: bytes in, valid structs out, or one error that says where and what would be right."""

import json
import re
from collections.abc import Collection
from itertools import accumulate, compress, islice
from operator import ne
from typing import Any, ClassVar, TypeVar

import msgspec
from litestar.types import Receive
from msgspec import Struct

from app.errors import Invalid, PayloadTooLarge
from app.http.own_fields import OwnFields, require_spelled
from app.model.whole_numbers import with_whole_numbers
from app.validation_messages import explain, visible

_PIECE = 128 * 1024
_BLANKS = b" \t\r\n"


MAX_BODY_BYTES = 256 * 1024
"""The limit in bytes of every body except calls, whose limit is a setting, and sets of policies."""

MAX_DEPTH = 32
MAX_NESTED = 10_000
"""The most objects and lists in a body. Each is examined separately, all in one step of the loop."""

MAX_SET_BYTES = 1536 * 1024
"""For a body with all policies of an owner: an agent may have 1 MiB of rules, and the JSON around them needs room."""

MAX_SET_NESTED = 50_000
"""The most objects and lists in such a body; a long one is examined in a thread."""

MAX_LARGE_EXPONENTS = 500
"""The most numbers like 1e300 in a body: msgspec takes 14 us for each, 400 times as long as for 1e30."""

MAX_OUTSIDE_STRINGS = 96 * 1024
"""The most bytes outside strings in a larger body: more than the log keeps of a call, and as quick to read."""

_MAX_STRINGS = MAX_OUTSIDE_STRINGS // 3
"""More strings, including names, than fit into an entry: `"",` is the shortest."""

ANY_LENGTH = ANY_NUMBER = 1 << 62
"""More bytes, and more names, than any body has; also used for a length that was not announced."""


_LONG = 4096
_large_exponent = re.compile(rb"[0-9.][eE][+-]?[0-9]{3}")
_NUL = b"\\u0000"
_BACKSLASH, _LIST = b"\\["  # searching for a single byte takes a tenth of the time
_NESTED = frozenset({dict, list})
_ENVELOPE = 1
"""Levels that a body may add around the deepest value: the body itself."""

_signs = bytes.maketrans(b"{[}]", b"\x01\x01\xff\xff")
_but_brackets = bytes(set(range(256)) - set(b'"{}[]'))
_but_colons = bytes(set(range(256)) - set(b'":'))
_BodyT = TypeVar("_BodyT", bound="Body")


def outside_strings(raw: bytes, dropped: bytes = b"") -> bytes:
    """The bytes of a JSON document outside its strings, without the `dropped` bytes.

    It allocates little: for a large body, allocating takes longer than scanning.
    """
    # Without the escaped ones, every quotation mark begins or ends a string.
    return _between_quotes(without_escapes(raw).translate(None, dropped).replace(b'""', b""))


def has_more_outside_strings(raw: bytes, bytes_max: int, strings_max: int) -> bool:
    """True if `raw` has more than `strings_max` strings, or `bytes_max` bytes outside them, besides white space."""
    bare = without_escapes(raw)
    return bare.count(b'"') > 2 * strings_max or len(_between_quotes(bare).translate(None, _BLANKS)) > bytes_max


def _between_quotes(raw: bytes) -> bytes:
    return b"".join(raw.split(b'"')[::2])


def without_escapes(raw: bytes) -> bytes:
    """`raw` without escaped quotation marks and backslashes, processed in chunks so that no step takes long.

    Of a document without them, it finds none, several times as fast.
    """
    if b"\\" not in raw:
        return raw
    pieces, at = [], 0
    while at < len(raw):
        piece = raw[at : at + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # the chunk ends within an escape
            piece = raw[at : at + _PIECE + 1]
        pieces.append(piece.replace(b"\\\\", b"").replace(b'\\"', b""))
        at += len(piece)
    return b"".join(pieces)


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request body. `aliases` maps other spellings of a field to the one in the struct.

    max_bytes, max_nested: the most bytes, and the most objects and lists, it may have.
    """

    aliases: ClassVar[dict[str, str]] = {}
    max_bytes: ClassVar[int] = MAX_BODY_BYTES
    max_nested: ClassVar[int] = MAX_NESTED


def camel_aliases(*names: str) -> dict[str, str]:
    """The camelCase spellings of those fields that have an underscore: `agentId` for `agent_id`."""
    return {re.sub("_(.)", lambda match: match[1].upper(), name): name for name in names if "_" in name}


async def read_body(receive: Receive, max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """Read the body, never more of it than may be decoded. Raises PayloadTooLarge, or Invalid if it breaks off."""
    chunks = bytearray()
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            raise Invalid.at("$", "the body ended before it was complete")
        chunks += message["body"]
        if len(chunks) > max_bytes:
            raise too_large(max_bytes)
        if not message.get("more_body", False):
            return bytes(chunks)


def decode_body(raw: bytes, kind: type[_BodyT], max_bytes: int | None = None) -> _BodyT:
    """Decode the body in `raw`. Raises Invalid or PayloadTooLarge. max_bytes: None = the limit of its type."""
    value = decode_json(raw, max_bytes or kind.max_bytes, kind.max_nested)
    if isinstance(value, dict):
        for alias, name in kind.aliases.items():
            if alias in value:
                aliased = value.pop(alias)
                if value.setdefault(name, aliased) != aliased:
                    raise two_spellings(name, alias)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        # In JSON, 5.0 is a whole number, but the parser makes a float of it. Tried only after a failure, because almost
        # no body needs it.
        value = with_whole_numbers(value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        detail = explain(error, kind, value)
        raise Invalid.at(detail.path, detail.message) from None


def decode_json(raw: bytes, max_bytes: int = MAX_BODY_BYTES, max_nested: int = MAX_NESTED) -> Any:
    """The document as plain values. Raises Invalid, also for a repeated key or deep nesting, or PayloadTooLarge."""
    require_readable(raw, max_bytes, max_nested)
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_json(error) from None
    require_unique_keys(raw, count_keys(value))
    return value


def require_readable(
    raw: bytes, max_bytes: int = MAX_BODY_BYTES, max_nested: int = MAX_NESTED, max_names: int = ANY_NUMBER
) -> None:
    """Raise unless `raw` is small and flat enough to be decoded at all.

    max_nested: if it is above the default, the excess size may also be outside strings. max_names: the most names.
    """
    if len(raw) > max_bytes:
        raise too_large(max_bytes)
    require_content(raw)
    if len(raw) > MAX_BODY_BYTES and max_nested == MAX_NESTED:
        raw = without_escapes(raw)  # once, because the checks below would each begin with it
        _require_mostly_strings(raw)
    if raw.count(b"{") + (raw.count(b"[") if _LIST in raw else 0) > MAX_DEPTH + _ENVELOPE:
        _require_flat(raw, max_nested)
    if len(raw) > _LONG:
        if raw.count(b"e") + raw.count(b"E") > MAX_LARGE_EXPONENTS:
            _require_small_exponents(raw)
        if raw.count(b":") > max_names and keys_written(raw) > max_names:
            raise Invalid.at("$", f"contains more than {max_names} names")


def require_content(raw: bytes) -> None:
    if not raw.strip():
        raise Invalid.at("$", "the body is empty; send a JSON object")


def _require_mostly_strings(raw: bytes) -> None:
    """Raise PayloadTooLarge if a large body's size is not mostly in strings: decoding it could block the loop."""
    if has_more_outside_strings(raw, MAX_OUTSIDE_STRINGS, _MAX_STRINGS):
        raise PayloadTooLarge(
            f"A body over {MAX_BODY_BYTES} bytes may have at most {MAX_OUTSIDE_STRINGS} bytes outside strings, "
            f"and {_MAX_STRINGS} strings"
        )


def _require_flat(raw: bytes, max_nested: int) -> None:
    """Raise Invalid if brackets outside strings are nested too deeply or too many. Linear time, in C."""
    steps = memoryview(outside_strings(raw, _but_brackets).translate(_signs)).cast("b")
    if max(accumulate(steps[: 2 * max_nested]), default=0) > MAX_DEPTH + _ENVELOPE:
        raise Invalid.at("$", f"values are nested more than {MAX_DEPTH} levels deep")
    if len(steps) > 2 * max_nested:
        raise Invalid.at("$", f"contains more than {max_nested} objects and lists")


def _require_small_exponents(raw: bytes) -> None:
    # Bodies that are mostly strings are not searched for these: there can only be a few, and decoding them is quicker.
    is_large = len(raw) > MAX_BODY_BYTES
    if (is_large or _has_many_large_exponents(raw)) and _has_many_large_exponents(outside_strings(raw)):
        raise Invalid.at("$", f"contains more than {MAX_LARGE_EXPONENTS} numbers with exponents of three digits")


def _has_many_large_exponents(raw: bytes) -> bool:
    return any(True for _ in islice(_large_exponent.finditer(raw), MAX_LARGE_EXPONENTS, None))


def require_unique_keys(raw: bytes, decoded_keys: int, fields: OwnFields | None = None) -> None:
    """Raise Invalid if some parser might find a key twice in an object of `raw`: parsers disagree on which one counts.

    decoded_keys: how many keys were decoded. Every key has its colon, so an equal number of colons means that no key
    was lost; strings may contain more. If there are more outside strings, a slower parser finds the key.
    fields: those of the request, if others are ignored; the others may not be these in another spelling.
    """
    if (_BACKSLASH in raw and _NUL in raw) or (raw.count(b":") != decoded_keys and keys_written(raw) != decoded_keys):
        try:
            # Numbers do not matter here, and Python refuses to parse those of more than 4,300 digits.
            found = json.loads(
                raw.decode(), object_pairs_hook=_unique, parse_int=len, parse_float=len, parse_constant=len
            )
        except ValueError as error:
            raise not_json(error) from None
        if fields is not None:
            require_spelled(found, fields)


def keys_written(raw: bytes) -> int:
    """The number of keys in the objects of a JSON document, repeated ones included."""
    return len(outside_strings(raw, _but_colons))


def count_keys(value: Any) -> int:
    """The number of keys in the objects of a decoded value."""
    inside: Collection[Any]
    if type(value) is dict:
        count, inside = len(value), value.values()
    elif type(value) is list:
        count, inside = 0, value
    else:
        return 0
    if _NESTED.isdisjoint(map(type, inside)):
        return count
    for inner in inside:
        if type(inner) is dict or type(inner) is list:
            count += count_keys(inner)
    return count


def too_large(max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body has more than {max_bytes} bytes; no more are read")


def two_spellings(name: str, alias: str) -> Invalid:
    return Invalid.at(f"$.{name}", f"{name} and {alias} are the same field but differ; give one of them")


def not_json(error: Exception) -> Invalid:
    """The error for bytes that are not JSON."""
    if isinstance(error, UnicodeDecodeError):
        return Invalid.at("$", "is not JSON: its text is not UTF-8")
    if isinstance(error, msgspec.ValidationError):
        return Invalid.at("$", "contains a number that is too large; numbers are 64-bit floats or shorter integers")
    reason = str(error).removeprefix("JSON is malformed: ")
    if "truncated" in reason:  # which is also what msgspec says of half a surrogate pair near the end
        reason = "it ends too early, or a \\u escape lacks its other half"
    return Invalid.at("$", f"is not JSON: {reason}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_name = dict(pairs)
    if "\0" in "".join(by_name):
        raise Invalid.at("$", "a name contains NUL, where some programs would end it and read another name")
    if len(by_name) == len(pairs):
        return by_name
    # A dict keeps a repeated name in its first place, so the two sequences agree up to the first repetition. All in C.
    names = [name for name, _ in pairs]
    twice = next(compress(names, map(ne, names, (*by_name, None))))
    raise Invalid.at("$", f'"{visible(twice)}" is given twice in one object')
