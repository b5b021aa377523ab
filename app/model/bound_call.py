"""The form of a call to which an approval is bound: bytes.

Two calls have the same bytes if and only if who asks, agent, tool, action, parameters and the bound part of the context
are the same JSON values: neither the order of keys nor the spelling of a number matters, everything else does. Strings
are not normalised (no Unicode normalisation), and numbers are exact at any length: 1, 1.0 and 10e-1 are equal, and
9007199254740992 and 9007199254740993 are not, which RFC 8785 rounds to one. Every part is tagged and states its length,
so different values never have the same bytes.
"""

from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
from msgspec import Raw, Struct

FORM = b"remit call 3"
FORM_WITHOUT_TEXTS = b"remit call 4"
"""Of a call some of whose texts are not bound; any other has the bytes that it has where no rule is `descriptive`."""
DESCRIPTIVE_BYTES = 1024
"""The longest text, in UTF-8, that is not bound."""
ENTITIES = ("subject", "action", "resource")
"""Paths of the context with the entities of an AuthZEN question."""
ALWAYS_BOUND = ("session", "user", *ENTITIES)
"""Paths of the context that are always bound, whether or not a policy reads them."""


class _Question(Struct):
    """The two fields of a request that the caller fills freely; one left out is an empty object."""

    parameters: Raw = Raw(b"{}")
    context: Raw = Raw(b"{}")


class _Beyond(Struct, frozen=True):
    """A number whose exponent no Decimal has; two spellings of one such number count as different."""

    text: str


def _written(text: str) -> Decimal | _Beyond:
    """The number exactly."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return _Beyond(text)


_question = msgspec.json.Decoder(_Question).decode
decode_exact = msgspec.json.Decoder(float_hook=_written).decode
"""JSON with every number exactly as written: an int, a Decimal, or `_Beyond`, which no arithmetic takes."""


def bound_form(
    asker: str,
    agent_id: str,
    tool_name: str,
    action: str,
    body: bytes,
    bound: Mapping[str, Any],
    descriptive: Collection[str] = (),
) -> bytes:
    """The bytes of one call.

    asker: the root of the key that asks, so that no other key joins its request or uses its approval.
    body: the request as received, found well-formed by `app.http`: no key occurs twice.
    bound: the bound part of the context by path, as decoded by `bound_context`.
    descriptive: parameters whose texts are not bound; that the call has them is.
    """
    parameters = decode_exact(_question(body).parameters)
    said = texts_apart(parameters, descriptive)
    for name in said:
        del parameters[name]
    call = [asker, agent_id, tool_name, action, parameters, dict(bound)]
    return b"".join((FORM_WITHOUT_TEXTS, *_parts([*call, said])) if said else (FORM, *_parts(call)))


def texts_apart(parameters: Mapping[str, Any], descriptive: Collection[str]) -> list[str]:
    """The names, in order, of those descriptive parameters that are not bound: texts of up to 1 KiB."""
    given = ((name, parameters.get(name)) for name in sorted(descriptive))
    return [name for name, text in given if isinstance(text, str) and len(text.encode()) <= DESCRIPTIVE_BYTES]


def exact_context(body: bytes) -> dict[str, Any]:
    """The request's context, with numbers exactly as written."""
    context: dict[str, Any] = decode_exact(_question(body).context)
    return context


def without_act(context: dict[str, Any]) -> dict[str, Any]:
    """The context without `subject.properties.act`."""
    subject = context.get("subject")
    if not isinstance(subject, dict) or not isinstance(properties := subject.get("properties"), dict):
        return context
    if "act" not in properties:
        return context
    others = {name: value for name, value in properties.items() if name != "act"}
    kept = {name: value for name, value in subject.items() if name != "properties"}
    return {**context, "subject": {**kept, "properties": others} if others else kept}


def _parts(value: Any) -> Iterator[bytes]:
    match value:
        case None | True | False:
            yield {None: b"n", True: b"t", False: b"f"}[value]
        case str():
            text = value.encode()
            yield b"s%d:%b" % (len(text), text)
        case int() | Decimal():
            yield _number(Decimal(value))
        case _Beyond(text):
            yield b"e%d:%b" % (len(text), text.encode())
        case list():
            yield b"l%d:" % len(value)
            for item in value:
                yield from _parts(item)
        case dict():
            yield b"o%d:" % len(value)
            for name in sorted(value):
                yield from _parts(name)
                yield from _parts(value[name])
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON value")


def _number(value: Decimal) -> bytes:
    """Sign, digits and exponent, exactly: `normalize` would round to 28 digits."""
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    significant = text.rstrip("0")
    exponent = int(exponent) + len(text) - len(significant) if significant else 0
    return b"d%d %b %d;" % (sign if significant else 0, significant.encode(), exponent)
