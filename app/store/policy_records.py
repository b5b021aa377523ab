"""Policies as stored: the fields of a record, and the keys of its limits' buckets."""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from app.fair_pool import FairPool
from app.model.counting import limit_fingerprints
from app.model.policies import SHADOW_BUCKET, Policy, PolicyKind, PolicyMode
from app.model.rules import MANY_PATTERNS, PolicyRule
from app.store.keyspace import Keyspace
from app.turns import pause

_STEP_BYTES = 64 * 1024
_PATTERN_BYTES = 8 * 1024
"""How many bytes of rules are decoded before the loop gets a turn, and how many each pattern counts for: 10 ms at
worst.
"""

_rules_from_json = msgspec.json.Decoder(tuple[PolicyRule, ...])


def kind_of(record: dict[str, str]) -> PolicyKind:
    """The record's kind; records older than kinds are grants."""
    return PolicyKind(record.get("policy_kind", PolicyKind.GRANT))


def mode_fields(policy: Policy) -> dict[str, Any]:
    """The record fields that say whether and how a policy decides.

    For a shadow policy, `shadow` says whether it is enabled, and `enabled` is 0: a release without shadow mode must not
    enforce it.
    """
    in_shadow = policy.mode is PolicyMode.SHADOW
    shadow = ("on" if policy.enabled else "off") if in_shadow else ""
    return {"enabled": 0 if in_shadow else int(policy.enabled), "shadow": shadow}


def plain_mode(record: dict[str, str]) -> dict[str, str]:
    """The record with `mode` and `enabled` as in the API and the trail, instead of `shadow`."""
    shadow = record.get("shadow")
    if not shadow:
        return record
    enabled = "1" if shadow == "on" else "0"
    return {**record, "mode": PolicyMode.SHADOW.value, "enabled": enabled, "shadow": ""}


def policy_of(record: dict[str, str]) -> Policy:
    """The policy that a record describes. Stored policies were validated, so this does not fail."""
    record = plain_mode(record)
    return Policy(
        id=record["id"],
        agent_id=record.get("agent_id") or None,
        group=record.get("group") or None,
        key=record.get("key") or None,
        kind=kind_of(record),
        name=record["name"],
        rules=_rules_from_json.decode(record["rules"]),
        priority=int(record["priority"]),
        enabled=record["enabled"] == "1",
        mode=PolicyMode(record.get("mode", PolicyMode.ENFORCE)),
        agent_message=record.get("agent_message") or None,
        created_ms=int(record["created_ms"]),
        updated_ms=int(record["updated_ms"]),
        version=int(record["version"]),
    )


async def policies_of(records: Iterable[dict[str, str]], pool: FairPool, workspace_id: str) -> list[Policy]:
    """The policies that records describe. Other tasks run in between, however many patterns are compiled."""
    policies: list[Policy] = []
    bytes_read = 0
    for record in records:
        rules = record["rules"]
        if rules.count('"regex"') > MANY_PATTERNS:
            policies.append(await pool.run(workspace_id, policy_of, record))
            continue
        policies.append(policy_of(record))
        bytes_read += len(rules) + rules.count('"regex"') * _PATTERN_BYTES
        if bytes_read > _STEP_BYTES:
            bytes_read = 0
            await pause()
    return policies


def quota_keys(keyspace: Keyspace, policy_id: str, rules: Collection[PolicyRule]) -> list[str]:
    """The buckets of a policy's limits."""
    return [keyspace.quota(policy_id, name) for name in limit_fingerprints(rules)]


def shadow_quota_keys(keyspace: Keyspace, policy_id: str, rules: Collection[PolicyRule]) -> list[str]:
    """The buckets of the same limits in shadow mode."""
    return [f"{key}{SHADOW_BUCKET}" for key in quota_keys(keyspace, policy_id, rules)]


def bucket_keys(keyspace: Keyspace, policy: Policy) -> set[str]:
    """The buckets of a policy's limits, whatever its mode."""
    limits = keyspace, policy.id, policy.rules
    return {*quota_keys(*limits), *shadow_quota_keys(*limits)}
