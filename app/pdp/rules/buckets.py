"""The values of a call that `per` names: they select the bucket in which the call counts."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, UnsetType

from app.language.ambiguous import Ambiguous
from app.language.value_paths import ValuePath
from app.model.decisions import AuthorizeRequest
from app.pdp.operands import NOTHING

Json = dict[str, Any]
_Reader = Callable[[AuthorizeRequest, str], Any]
_encode = msgspec.json.encode


class UnreadableError(ValueError):
    """The call does not state the value, or not in a countable form; the message is the reason."""


class BucketReader(Struct, frozen=True):
    """Reads the values that a rule counts per; () = it counts all calls together."""

    readers: tuple[_Reader, ...]

    def bucket(self, request: AuthorizeRequest, key_id: str) -> str:
        """The name of the call's bucket within the rule; "" if it has only one. Raises UnreadableError."""
        return _digest([read(request, key_id) for read in self.readers]) if self.readers else ""

    def values_of(self, request: AuthorizeRequest, key_id: str, bucket: str) -> list[Any] | None:
        """The values that select the call's bucket; None unless it is this one."""
        try:
            values = [read(request, key_id) for read in self.readers]
        except UnreadableError:
            return None
        return values if _digest(values) == bucket else None

    def require(self, parameters: Json, context: Json) -> None:
        """Raise UnreadableError unless the call states each value."""
        request = AuthorizeRequest("", "", "", parameters, b"", context=context)
        for read in self.readers:
            read(request, "")


def bucket_reader(per: Sequence[str] | UnsetType) -> BucketReader:
    """What reads these values."""
    return BucketReader(() if isinstance(per, UnsetType) else tuple(map(_reader, per)))


def in_words(per: Sequence[str] | UnsetType) -> str:
    """The end of a sentence about a limit: for each of which values it holds."""
    return "" if isinstance(per, UnsetType) else f", for each {' and '.join(per)}"


def stated_values(path: ValuePath, holder: Json, name: str) -> Sequence[Any]:
    """The values that the path means; `name` is its whole name. Raises UnreadableError if one is missing."""
    try:
        found, missing = path.find(holder)
    except Ambiguous as reason:
        raise UnreadableError(f'"{name}" cannot be told: it {reason}') from None
    if missing:
        raise UnreadableError(f'"{name}" is missing')
    return found


def _reader(name: str) -> _Reader:
    match name:
        case "tool":
            return lambda request, _: request.tool_name
        case "key":
            return lambda _, key_id: key_id
        case "agent":
            return lambda request, _: request.agent_id
    holder, _, rest = name.partition(".")
    path = ValuePath(rest)

    def read(request: AuthorizeRequest, _: str) -> Any:
        found = stated_values(path, request.parameters if holder == "parameters" else request.context or NOTHING, name)
        if len(found) != 1 or found[0] is None or type(found[0]) in (dict, list):
            raise UnreadableError(f'"{name}" must be one text, number or boolean: the limit is for each value of it')
        value = found[0]
        # JSON has one type of number.
        return int(value) if type(value) is float and value.is_integer() else value

    return read


def _digest(values: Sequence[Any]) -> str:
    return hashlib.sha256(_encode(values)).hexdigest()[:32]
