"""All faults of a file at once: no fault of a policy, a rule or a test hides those of the next."""

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from app.errors import Detail
from app.policy_tools.files.documents import steps_of
from app.validation_messages import explain


def faults(value: Any, kind: Any) -> list[Detail]:
    """Why `msgspec.convert(value, kind)` fails: one fault of the value, and those of each struct in its lists.

    A fault that only several parts have together, such as a key that occurs twice, is found when each of them has none.
    """
    first = _fault(value, kind)
    if first is None:
        return []
    found, whole = list[Detail](), value
    lists = list(_lists_of_structs(value, kind))
    for name, inner in lists:
        inside = [_inside(value, kind, name, place, inner) for place in range(len(value[name]))]
        found += (each for faulty in inside for each in faulty)
        whole = {**whole, name: [each for each, faulty in zip(value[name], inside, strict=True) if not faulty]}
    if not found:
        return [first]
    rest = _fault(whole, kind)
    # Without its faulty parts, a list may be too short and its places are others: what is at fault there is not told.
    if rest is not None and steps_of(rest.path)[:1] not in [(name,) for name, _ in lists]:
        found.append(rest)
    return found


def _fault(value: Any, kind: Any) -> Detail | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return explain(error, kind, value)
    return None


def _inside(value: Any, kind: Any, name: str, place: int, inner: Any) -> list[Detail]:
    """The faults of a member of a list: its own, or if it has none, the one that it has as a part of this value."""
    member, at = value[name][place], f"$.{name}[{place}]"
    if own := faults(member, inner):
        return [Detail(at + each.path.removeprefix("$"), each.message) for each in own]
    only, alone = _fault({**value, name: [member]}, kind), f"$.{name}[0]"
    if only is None or not only.path.startswith(alone):
        return []
    return [Detail(at + only.path.removeprefix(alone), only.message)]


def _lists_of_structs(value: Any, kind: Any) -> Iterator[tuple[str, Any]]:
    """The fields of the value that are lists of structs, and the type of their members."""
    if not (isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Struct)):
        return
    for field in fields(kind):
        of = get_args(field.type)[0] if get_origin(field.type) is Annotated else field.type
        if get_origin(of) in (list, tuple) and isinstance(value.get(field.encode_name), list):
            member = get_args(of)[0]
            if all(isinstance(each, type) and issubclass(each, Struct) for each in get_args(member) or (member,)):
                yield field.encode_name, member
