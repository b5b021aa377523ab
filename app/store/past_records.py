"""Reconstruct past records by undoing the changes in the trail."""

import re

import msgspec
from msgspec import Raw

from app.model.times import parse_time_ms
from app.store.policy_records import plain_mode

_fields_of = msgspec.json.Decoder(dict[str, Raw]).decode
_NAMES = {
    "policy": {"kind": "policy_kind", "createdAt": "created_ms"},
    "agent": {"version": "revision", "createdAt": "created_ms"},
}
"""Record fields whose name in the API differs."""
_capital = re.compile("[A-Z]")


def undone(record: dict[str, str], change: dict[str, str]) -> dict[str, str]:
    """The agent's or policy's record before a change; empty if the change created it.

    record: as the change left it; empty if the change deleted it. change: the fields of the change's entry in the
    trail.
    """
    if change["kind"] == "created":
        return {}
    was = plain_mode(record) | {"id": change["resourceId"]}
    names = _NAMES[change["resourceType"]]
    for name, raw in _fields_of(change["before"]).items():
        field = names.get(name) or _capital.sub(lambda letter: f"_{letter[0].lower()}", name)
        if bytes(raw) == b"null":
            was.pop(field, None)
        else:
            was[field] = _text(name, bytes(raw))
    # A deletion's entry does not hold every field; the creation time is taken from the id.
    created_ms = str(int(was["id"].replace("-", "")[:12], 16))
    return {"created_ms": created_ms, "updated_ms": created_ms, "version": "", **was}


def _text(name: str, raw: bytes) -> str:
    """A value as stored in a record: lists and objects are JSON."""
    if raw in (b"true", b"false"):
        return "1" if raw == b"true" else "0"
    if name == "createdAt":
        return str(parse_time_ms(msgspec.json.decode(raw)))
    return str(msgspec.json.decode(raw)) if raw.startswith(b'"') else raw.decode()
