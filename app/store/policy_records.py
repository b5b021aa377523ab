"""Policies as stored: the fields of a record, and the keys of its limits' buckets."""

from collections.abc import Callable, Iterable
from types import NoneType
from typing import Any, get_args

import msgspec

from app.model.counting import limit_fingerprints, rate_limit_count
from app.model.policies import SHADOW_BUCKET, Policy, PolicyKind, PolicyMode, field_types, values_of
from app.model.rules import compiles_much
from app.redis_client.client import Value
from app.redis_client.replies import decoding_record, number_of
from app.runtime.fairness.loop_turns import take_turn
from app.runtime.fairness.thread_pool import FairThreadPool
from app.store.keyspace import Keyspace

_STEP_BYTES = 64 * 1024
_PATTERN_BYTES = 8 * 1024
"""The bytes of rules that are decoded before the loop gets a turn, and those that each pattern counts for: 10 ms at
worst.
"""

_ENABLED = {"1": True, "0": False}
"""Anything else in the store is not taken for a policy that is switched off."""
_SHADOW_ENABLED = {"on": "1", "off": "0"}

_remembers_from_json = msgspec.json.Decoder(dict[str, int]).decode
_IN_EVERY_RECORD = frozenset({"name", "rules", "priority", "enabled"})
"""The fields that every release has written. Another field that a record lacks has its default."""
_CALLED = {"kind": "policy_kind"}
"""The names in the record that differ from the field's."""


def record_of(policy: Policy) -> dict[str, Value]:
    """The policy's record without its times, which the script sets.

    For a shadow policy, `shadow` says whether it is enabled, and `enabled` is 0: a release without shadow mode must not
    enforce it.
    """
    record: dict[str, Value] = {"id": policy.id, "agent_id": policy.agent_id or "", "group": policy.group or ""}
    record |= {_CALLED.get(name, name): _as_stored(value) for name, value in values_of(policy).items()}
    in_shadow = record.pop("mode") == PolicyMode.SHADOW
    record["shadow"] = ("on" if policy.enabled else "off") if in_shadow else ""
    record["enabled"] = 0 if in_shadow else record["enabled"]
    record |= {"rate_limits": rate_limit_count(policy.rules), "rules_bytes": len(rules_json(policy))}
    return record | {"version": policy.version}


def rules_json(policy: Policy) -> bytes:
    """The rules as the record has them."""
    return msgspec.json.encode(policy.rules)


def plain_mode(record: dict[str, str]) -> dict[str, str]:
    """The record with `mode` and `enabled` as in the API and the trail, instead of `shadow`."""
    shadow = record.get("shadow")
    if not shadow:
        return record
    enabled = _SHADOW_ENABLED.get(shadow, shadow)
    return {**record, "mode": PolicyMode.SHADOW.value, "enabled": enabled, "shadow": ""}


def policy_of(record: dict[str, str]) -> Policy:
    """The policy that a record describes. Raises ForeignData; stored policies were validated."""
    with decoding_record(f"The record of policy {record.get('id', '')}"):
        record = plain_mode(record)
        return Policy(
            id=record["id"],
            agent_id=record.get("agent_id") or None,
            group=record.get("group") or None,
            created_ms=number_of(record["created_ms"]),
            updated_ms=number_of(record["updated_ms"]),
            version=number_of(record["version"]),
            remembers=_remembers_from_json(record.get("remembers") or "{}"),
            **{
                name: decode(record[stored])
                for name, stored, decode in _FIELDS
                if stored in record or name in _IN_EVERY_RECORD
            },
        )


def wanted_values(kind: PolicyKind | None, key: str | None) -> dict[str, tuple[str | None, ...]]:
    """The values of a policy's record that make it one of this kind, with this key; None = whichever it has."""
    wanted: dict[str, tuple[str | None, ...]] = {}
    if kind is not None:  # records older than kinds are grants
        wanted[_CALLED["kind"]] = (kind.value, None) if kind is PolicyKind.GRANT else (kind.value,)
    if key is not None:
        wanted["key"] = (key,)
    return wanted


def _as_stored(value: Any) -> Value:
    match value:
        case None:
            return ""
        case bool() | int():
            return int(value)
        case str():  # an enum's value, too
            return str(value)
        case _:
            return msgspec.json.encode(value)


def _decoder(kind: Any) -> Callable[[str], Any]:
    """The function that turns a stored string into a value of this type."""
    if NoneType in get_args(kind):
        decode = _decoder(get_args(kind)[0])
        return lambda text: decode(text) if text else None
    if kind is bool:
        return _ENABLED.__getitem__
    if kind is int:
        return number_of
    if isinstance(kind, type) and issubclass(kind, str):
        return kind
    return msgspec.json.Decoder(kind).decode


_FIELDS = [(name, _CALLED.get(name, name), _decoder(kind)) for name, kind in field_types(bounds=False).items()]
"""For each field of a policy: its name, its name in the record, and the function that decodes it."""


async def policies_of(records: Iterable[dict[str, str]], pool: FairThreadPool, workspace_id: str) -> list[Policy]:
    """The policies that records describe. Other tasks run in between, however many patterns are compiled."""
    policies: list[Policy] = []
    bytes_read = 0
    for record in records:
        rules = record.get("rules", "")
        if compiles_much(rules):
            policies.append(await pool.run(workspace_id, policy_of, record))
            continue
        policies.append(policy_of(record))
        bytes_read += len(rules) + rules.count('"regex"') * _PATTERN_BYTES
        if bytes_read > _STEP_BYTES:
            bytes_read = 0
            await take_turn()
    return policies


def bucket_keys(keyspace: Keyspace, policy: Policy) -> set[str]:
    """The buckets of a policy's limits, enforced and in shadow mode."""
    keys = [keyspace.quota(policy.id, name) for name in limit_fingerprints(policy.rules)]
    return {*keys, *(f"{key}{SHADOW_BUCKET}" for key in keys)}
