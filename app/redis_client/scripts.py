"""The scripts of `lua/`: found, hashed, and declared with what goes in and comes out."""

import hashlib
from functools import cache
from pathlib import Path

from msgspec import Struct

_APP = Path(__file__).resolve().parent.parent
LUA = next(folder for folder in (_APP / "lua", _APP.parent / "lua") if folder.is_dir())
"""In a wheel the scripts lie inside the package, in a checkout beside it."""


class Script(Struct, frozen=True):
    """One file of `lua/`. A test compares this declaration with the file's header.

    keys, args: names of KEYS[1]… and ARGV[1]…; those of `repeated` come after them, once per item, any number of
    times; last_keys come at the end, if at all.
    replies: the first element of every reply it can give; width: how many elements a reply has.
    is_change: an admin asked for it; "done" means that it was made.
    flags: what the store is told of it in its first line: `allow-oom` where it makes room, revokes or deletes, or is
    needed for that, so that a store at its `maxmemory` runs it too; `no-writes` where it only reads.
    """

    name: str
    keys: tuple[str, ...]
    args: tuple[str, ...]
    replies: tuple[str, ...]
    width: int
    repeated_keys: tuple[str, ...] = ()
    last_keys: tuple[str, ...] = ()
    repeated_args: tuple[str, ...] = ()
    is_change: bool = False
    flags: str = ""

    @property
    def text(self) -> str:
        return _text(self.name)

    @property
    def sha(self) -> str:
        return _sha(self.name)


@cache
def _text(name: str) -> str:
    return (LUA / f"{name}.lua").read_text()


@cache
def _sha(name: str) -> str:
    return hashlib.sha1(_text(name).encode(), usedforsecurity=False).hexdigest()


COMMIT_DECISION = Script(
    name="commit_decision",
    keys=("caller_key", "agent", "commits", "audit_stream"),
    args=(
        "now_us",
        "arrived_us",
        "holds_from_us",
        "holds_until_us",
        "decision_id",
        "action",
        "tool_name",
        "parameters",
        "body_digest",
        "version",
        "backlog_max",
        "agent_id",
        "key_id",
        "result",
        "policy_id",
        "rule",
        "reason",
    ),
    replies=("committed", "revoked", "expired", "stale", "moved", "backlog", "repeated", "conflict"),
    width=6,
    repeated_keys=("quota",),
    last_keys=("first_answer",),
    repeated_args=("max_calls", "window_us", "full_result", "full_policy_id", "full_rule", "full_reason"),
)
CHECK_KEY = Script(
    name="check_key",
    flags="allow-oom",
    keys=("caller_key",),
    args=("now_us",),
    replies=("valid", "revoked", "expired"),
    width=3,
)
PUT_AGENT = Script(
    name="put_agent",
    is_change=True,
    keys=("caller_key", "changes", "agent", "agents"),
    args=("actor_id", "before", "after", "expected", "version", "id", "agents_max"),
    replies=("done", "revoked", "stale", "frozen", "full"),
    width=4,
    repeated_args=("field", "value"),
)
FREEZE_AGENT = Script(
    name="freeze_agent",
    flags="allow-oom",
    keys=("caller_key", "agent"),
    args=("actor_id",),
    replies=("done", "revoked", "no_agent"),
    width=1,
)
DELETE_AGENT = Script(
    name="delete_agent",
    flags="allow-oom",
    is_change=True,
    keys=("caller_key", "changes", "agent", "agents", "agent_policies", "policies"),
    args=("actor_id", "before", "expected", "id"),
    replies=("done", "revoked", "stale"),
    width=1,
    repeated_keys=("record",),
    repeated_args=("policy_id", "policy_before"),
)
PUT_POLICY = Script(
    name="put_policy",
    is_change=True,
    keys=("caller_key", "changes", "agent", "policy", "agent_policies", "policies"),
    args=(
        "actor_id",
        "before",
        "after",
        "expected",
        "version_token",
        "id",
        "agent_id",
        "name",
        "rules",
        "priority",
        "enabled",
        "rate_limits",
        "limits_read",
        "limits_max",
        "rules_max",
        "per_agent_max",
        "policies_max",
    ),
    replies=("done", "revoked", "no_agent", "stale", "frozen", "agent_full", "full", "rate_full", "rules_full"),
    width=4,
    repeated_keys=("dropped_quota",),
)
DELETE_POLICY = Script(
    name="delete_policy",
    flags="allow-oom",
    is_change=True,
    keys=("caller_key", "changes", "agent", "policy", "agent_policies", "policies"),
    args=("actor_id", "before", "expected", "version_token", "id"),
    replies=("done", "revoked", "stale", "frozen"),
    width=1,
    repeated_keys=("quota",),
)
PUT_KEY = Script(
    name="put_key",
    is_change=True,
    keys=("caller_key", "changes", "key", "keys"),
    args=("actor_id", "after", "id", "created_ms", "keys_max"),
    replies=("done", "revoked", "exists", "full"),
    width=1,
    repeated_args=("field", "value"),
)
REVOKE_KEY = Script(
    name="revoke_key",
    flags="allow-oom",
    is_change=True,
    keys=("caller_key", "changes", "key", "keys"),
    args=("actor_id", "before", "expires_ms", "id"),
    replies=("done", "revoked", "stale"),
    width=1,
)
ROTATE_KEY = Script(
    name="rotate_key",
    is_change=True,
    keys=("caller_key", "changes", "key", "successor", "keys"),
    args=(
        "actor_id",
        "before",
        "after",
        "successor_after",
        "expires_ms",
        "until_ms",
        "id",
        "successor_id",
        "created_ms",
        "keys_max",
    ),
    replies=("done", "revoked", "stale", "full"),
    width=1,
    repeated_args=("field", "value"),
)
QUARANTINE_ENTRIES = Script(
    name="quarantine_entries",
    flags="allow-oom",
    keys=("audit_stream", "audit_head", "audit_poison"),
    args=("built_upon", "sequence", "foreign"),
    replies=("kept", "stale"),
    width=1,
    repeated_args=("entry_id", "found"),
)
TAKE_LEASE = Script(
    name="take_lease",
    flags="allow-oom",
    keys=("audit_lease",),
    args=("holder", "lease_ms"),
    replies=("held", "taken"),
    width=1,
)
SEAL_SEGMENT = Script(
    name="seal_segment",
    flags="allow-oom",
    keys=("audit_stream", "audit_head", "audit_segment", "audit_data", "audit_parts"),
    args=(
        "built_upon",
        "oldest_id",
        "number",
        "first_sequence",
        "last_sequence",
        "first_ms",
        "last_ms",
        "count",
        "codec",
        "sha256",
        "frames",
        "data",
        "part",
        "span",
        "names",
    ),
    replies=("sealed", "stale", "moved"),
    width=2,
    repeated_keys=("index",),
    repeated_args=("member",),
)
READ_FRAMES = Script(
    name="read_frames",
    flags="no-writes",
    keys=(),
    args=("bytes_max",),
    replies=("read",),
    width=2,
    repeated_keys=("segment", "data"),
    repeated_args=("mask",),
)
READ_SNAPSHOT = Script(
    name="read_snapshot",
    flags="no-writes",
    keys=(),
    args=(),
    replies=("read",),
    width=2,
    repeated_keys=("key",),
    repeated_args=("command", "words"),
)
DROP_SEGMENT = Script(
    name="drop_segment",
    flags="allow-oom",
    keys=("audit_head", "audit_segment", "audit_data", "audit_parts"),
    args=("number", "sha256", "next_sequence", "floor_ms", "unarchived", "ended_part"),
    replies=("dropped", "kept"),
    width=2,
    repeated_keys=("index",),
    repeated_args=("member",),
)
MARK_ARCHIVED = Script(
    name="mark_archived",
    flags="allow-oom",
    keys=("audit_head", "audit_segment"),
    args=("number", "sha256"),
    replies=("noted", "other"),
    width=1,
)
SCRIPTS = (
    COMMIT_DECISION,
    CHECK_KEY,
    PUT_AGENT,
    FREEZE_AGENT,
    DELETE_AGENT,
    PUT_POLICY,
    DELETE_POLICY,
    PUT_KEY,
    REVOKE_KEY,
    ROTATE_KEY,
    TAKE_LEASE,
    QUARANTINE_ENTRIES,
    SEAL_SEGMENT,
    READ_FRAMES,
    READ_SNAPSHOT,
    DROP_SEGMENT,
    MARK_ARCHIVED,
)
