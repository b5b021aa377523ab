"""Request bodies: bytes in, valid structs out, or one error that says where and what would be right."""

import json
import re
from typing import Any, ClassVar, TypeVar

import msgspec
from litestar import Request
from litestar.dto import AbstractDTO
from litestar.types import Receive
from msgspec import Struct

from app.errors import Invalid, PayloadTooLarge
from app.http.explanations import explain, visible

MAX_BODY_BYTES = 256 * 1024
MAX_DEPTH = 32
_ENVELOPE = 1
"""Levels that a body may add around the deepest value: the body itself."""

_EXACT = 1 << 53
"""Up to here a float holds every whole number."""

_key = re.compile(rb'"\s*:')
# Possessive and always to an end: an unclosed string full of \" made a plain pattern take minutes over 256 KiB.
_string = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_to_square = bytes.maketrans(b"{}", b"[]")
_not_brackets = bytes(set(range(256)) - set(b"{}[]"))
_BodyT = TypeVar("_BodyT", bound="Body")


class Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request body. `aliases` maps further spellings of a field to the one in the struct."""

    aliases: ClassVar[dict[str, str]] = {}


async def read_body(receive: Receive) -> bytes:
    """The request's body, never more of it than may be decoded. Raises PayloadTooLarge, or Invalid if it breaks off."""
    chunks: bytes = b""
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            raise Invalid.at("$", "the body ended before it was complete")
        chunks += message["body"]
        if len(chunks) > MAX_BODY_BYTES:
            raise too_large()
        if not message.get("more_body", False):
            return chunks


def decode_body(raw: bytes, kind: type[_BodyT]) -> _BodyT:
    """The body that `raw` holds. Raises Invalid or PayloadTooLarge."""
    value = decode_json(raw)
    if isinstance(value, dict):
        for alias, name in kind.aliases.items():
            if alias in value:
                given = value.pop(alias)
                if value.setdefault(name, given) != given:
                    raise two_spellings(name, alias)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        # Only now, because almost no body has one: 5.0 is a whole number in JSON, whatever its reader makes of it.
        value = _with_whole_numbers(value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        detail = explain(error, kind, value)
        raise Invalid.at(detail.path, detail.message) from None


def _with_whole_numbers(value: Any) -> Any:
    if type(value) is float and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    if type(value) is list:
        return [_with_whole_numbers(inner) for inner in value]
    if type(value) is dict:
        return {name: _with_whole_numbers(inner) for name, inner in value.items()}
    return value


def decode_json(raw: bytes) -> Any:
    """Plain values; no object in it names a key twice and none is too deep. Raises Invalid or PayloadTooLarge."""
    require_readable(raw)
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_json(error) from None
    require_unique_keys(raw, count_keys(value))
    return value


def require_readable(raw: bytes) -> None:
    """Raise unless `raw` is small and flat enough to be decoded at all."""
    if len(raw) > MAX_BODY_BYTES:
        raise too_large()
    if not raw.strip():
        raise Invalid.at("$", "the body is empty; send a JSON object")
    most = MAX_DEPTH + _ENVELOPE
    if raw.count(b"{") + raw.count(b"[") > most and _deeper_than(raw, most):
        raise Invalid.at("$", f"values are nested more than {MAX_DEPTH} levels deep")


def _deeper_than(raw: bytes, levels: int) -> bool:
    """Whether brackets outside strings nest deeper than `levels`; linear time, in C.

    Each round takes away the innermost pairs, so what is left after `levels` rounds lay deeper.
    """
    brackets = _string.sub(b"", raw).translate(_to_square, _not_brackets)
    for _ in range(levels):
        shorter = brackets.replace(b"[]", b"")
        if len(shorter) == len(brackets):
            break
        brackets = shorter
    return b"[]" in brackets or brackets.count(b"[") > levels


def require_unique_keys(raw: bytes, decoded_keys: int) -> None:
    """Raise Invalid if an object in `raw` names a key twice; readers disagree on which of the two counts.

    decoded_keys: how many keys were decoded. Every key has its colon, so as many colons mean no key was lost;
    more of them can also stand in texts, and only then a slower reader has to look.
    """
    if raw.count(b":") != decoded_keys and len(_key.findall(raw)) != decoded_keys:
        try:
            # Numbers are of no interest here, and Python refuses to read those of more than 4,300 digits.
            json.loads(raw.decode(), object_pairs_hook=_unique, parse_int=len, parse_float=len, parse_constant=len)
        except ValueError as error:
            raise not_json(error) from None


def count_keys(value: Any) -> int:
    """How many keys the objects in a decoded value have together."""
    if type(value) is dict:
        count, inside = len(value), list(value.values())
    elif type(value) is list:
        count, inside = 0, value
    else:
        return 0
    for inner in inside:
        if type(inner) is dict or type(inner) is list:
            count += count_keys(inner)
    return count


def too_large() -> PayloadTooLarge:
    return PayloadTooLarge(f"The body has more than {MAX_BODY_BYTES} bytes; no more are read")


def two_spellings(name: str, alias: str) -> Invalid:
    return Invalid.at(f"$.{name}", f"{name} and {alias} are the same field but differ; give one of them")


def not_json(error: Exception) -> Invalid:
    """The error for bytes that are no JSON text."""
    if isinstance(error, UnicodeDecodeError):
        return Invalid.at("$", "is not JSON: its text is not UTF-8")
    if isinstance(error, msgspec.ValidationError):
        return Invalid.at("$", "holds a number that is too large; numbers are 64-bit floats or shorter integers")
    reason = str(error).removeprefix("JSON is malformed: ")
    return Invalid.at("$", f"is not JSON: {'it ends too early' if 'truncated' in reason else reason}")


def _unique(pairs: list[tuple[str, Any]]) -> None:
    seen = set()
    for name, _ in pairs:
        if name in seen:
            raise Invalid.at("$", f'"{visible(name)}" is given twice in one object')
        seen.add(name)


class BodyRequest(Request[Any, Any, Any]):
    """A request whose body is read within our bounds, and is complete or an error."""

    async def body(self) -> bytes:
        raw = await read_body(self.receive)
        # Litestar takes an empty body for none and complains in words of its own.
        require_readable(raw)
        return raw


class BodyDTO(AbstractDTO[Body]):
    """Makes Litestar decode `data` with `decode_body`."""

    def decode_bytes(self, value: bytes) -> Body:
        kind: type[Body] = self.asgi_connection.route_handler.parsed_data_field.annotation
        return decode_body(value, kind)

    @classmethod
    def create_for_field_definition(cls, field_definition: Any, handler_id: str, backend_cls: Any = None) -> None:
        """Nothing to prepare: the struct itself is decoded."""

    @classmethod
    def is_supported_model_type_field(cls, field_definition: Any) -> bool:  # noqa: ARG003 - Litestar's signature
        """Only bodies come through here; answers are encoded as they are."""
        return False

    @classmethod
    def generate_field_definitions(cls, model_type: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def detect_nested_field(cls, field_definition: Any) -> bool:
        raise NotImplementedError
