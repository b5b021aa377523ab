"""Policies as stored: the fields of a record, and the keys of its limits' buckets."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from app.fairness.loop_turns import take_turn
from app.fairness.thread_pool import FairThreadPool
from app.model.counting import limit_fingerprints
from app.model.policies import SHADOW_BUCKET, Policy, PolicyKind, PolicyMode
from app.model.rules import PolicyRule, compiles_much
from app.redis_client.replies import number_of, reading
from app.store.keyspace import Keyspace

_STEP_BYTES = 64 * 1024
_PATTERN_BYTES = 8 * 1024
"""How many bytes of rules are decoded before the loop gets a turn, and how many each pattern counts for: 10 ms at
worst.
"""

_ENABLED = {"1": True, "0": False}
"""Anything else in the store is not taken for a policy that is switched off."""
_SHADOW_ENABLED = {"on": "1", "off": "0"}

_rules_from_json = msgspec.json.Decoder(tuple[PolicyRule, ...])


def kind_of(record: dict[str, str]) -> PolicyKind:
    """The record's kind; records older than kinds are grants."""
    with reading(f"The record of policy {record.get('id', '')}"):
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
    enabled = _SHADOW_ENABLED.get(shadow, shadow)
    return {**record, "mode": PolicyMode.SHADOW.value, "enabled": enabled, "shadow": ""}


def policy_of(record: dict[str, str]) -> Policy:
    """The policy that a record describes. Raises ForeignData; stored policies were validated."""
    with reading(f"The record of policy {record.get('id', '')}"):
        record = plain_mode(record)
        return Policy(
            id=record["id"],
            agent_id=record.get("agent_id") or None,
            group=record.get("group") or None,
            key=record.get("key") or None,
            kind=kind_of(record),
            name=record["name"],
            rules=_rules_from_json.decode(record["rules"]),
            priority=number_of(record["priority"]),
            enabled=_ENABLED[record["enabled"]],
            mode=PolicyMode(record.get("mode", PolicyMode.ENFORCE)),
            agent_message=record.get("agent_message") or None,
            created_ms=number_of(record["created_ms"]),
            updated_ms=number_of(record["updated_ms"]),
            version=number_of(record["version"]),
        )


def totals_of(record: Mapping[str, str]) -> tuple[int, int]:
    """The rate limits and the bytes of rules that the owner's record counts. Raises ForeignData."""
    with reading("The totals of policies"):
        return number_of(record.get("rate_limits", "0")), number_of(record.get("rules_bytes", "0"))


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
