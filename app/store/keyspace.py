"""Every key name; no other module builds one. docs/keyspace.md lists them, and a test compares the two.

All keys of a workspace carry its id as hash tag, so they share one slot: atomic together, sharded by workspace.
"""

import re
from binascii import crc_hqx
from functools import lru_cache
from itertools import count

WORKSPACES = "remit:workspaces"
"""Hash: name → workspace id."""

WEBHOOK_COUNTS = "remit:webhooks"
"""Hash: the numbers of delivery attempts that were `delivered`, `failed` or `parked`."""

ISSUERS = "remit:issuers"
"""Hash: SHA-256 of an issuer's `iss` and `aud` → `<workspace id> <name>`. It routes; the record is the authority."""

READINESS_PROBE = "remit:ready"
"""Never exists: /readyz writes it with XX, which changes nothing, to learn whether the store accepts writes. In a
cluster, one such name for each master, with a number behind it.
"""

_SLOTS, _NEAR = 16_384, 1_024

_COUNTED = re.compile(r"remit:\{([^}]+)\}:(?:quota|live|session|agent:[^:]+:(?:session|marked|denials|denied)):")

_OF_LOGS = re.compile(r"remit:\{([^}]+)\}:(commits|audit:.+|changes:(?:tree|checkpoint))", re.DOTALL)


def counting_workspace(name: str) -> str | None:
    """The workspace of a key in which a commit keeps what rules count; None for other keys."""
    found = _COUNTED.match(name)
    return None if found is None else found[1]


def numbered_log(name: str) -> tuple[str, str] | None:
    """The workspace of a key that depends on the numbers of a log, and the key's name there; None for other keys."""
    found = _OF_LOGS.fullmatch(name)
    return None if found is None else (found[1], found[2])


def copy_of(name: str) -> str:
    """The name of a pointer's second copy in a cluster: its slot is about half the ring from the first one's."""
    opposite = (_slot_of(name) + _SLOTS // 2) % _SLOTS
    return next(copy for copy in map(f"{name}:{{}}".format, count(1)) if abs(_slot_of(copy) - opposite) < _NEAR)


def slot_of_workspace(workspace_id: str) -> int:
    """The slot of all keys of a workspace: its id is their hash tag."""
    return _slot_of(workspace_id)


def _slot_of(name: str) -> int:
    """The slot of a key without hash tag (the specification of Redis Cluster: CRC-16/XMODEM modulo 16384)."""
    return crc_hqx(name.encode(), 0) % _SLOTS


def key_pointer(digest: str) -> str:
    """String: `<workspace id> <key id>` of the raw key with this SHA-256. It routes; the record is the authority."""
    return f"remit:key:{digest}"


def code_pointer(digest: str) -> str:
    """String: the workspace and the scopes for which the one-time code with this SHA-256 makes a session."""
    return f"remit:code:{digest}"


def waiting_sign_in(digest: str) -> str:
    """String: the sign-in that the one-time code with this SHA-256 finishes, once a workspace is chosen."""
    return f"remit:choice:{digest}"


def used_token(digest: str) -> str:
    """String: the identity provider's token with this SHA-256 has been used."""
    return f"remit:used:{digest}"


@lru_cache(maxsize=4096)
def keyspace_of(workspace_id: str) -> "Keyspace":
    """The workspace's key names, built once because every decision needs them."""
    return Keyspace(workspace_id)


class Keyspace:
    """The key names of one workspace."""

    __slots__ = (
        "_prefix",
        "agent_aliases",
        "agents",
        "approval_events",
        "approvals",
        "approvals_open",
        "approvals_trail",
        "audit_checkpoint",
        "audit_head",
        "audit_lease",
        "audit_parts",
        "audit_poison",
        "audit_stream",
        "audit_tree",
        "catalog",
        "catalog_tools",
        "changes",
        "changes_chain",
        "changes_checkpoint",
        "changes_tree",
        "commits",
        "issuers",
        "keys",
        "marks",
        "notices",
        "policies",
        "policy_reviews",
        "policy_reviews_waiting",
        "resource_entries",
        "resources",
        "seen_tools",
        "sign_ins",
        "tokens",
        "verification_lease",
        "webhooks",
        "workspace",
        "workspace_policies",
    )

    def __init__(self, workspace_id: str) -> None:
        self._prefix = prefix = f"remit:{{{workspace_id}}}:"
        self.workspace = f"{prefix}workspace"
        self.workspace_policies = f"{prefix}workspace:policies"
        self.keys = f"{prefix}keys"
        self.sign_ins = f"{prefix}sign-ins"
        self.issuers = f"{prefix}issuers"
        self.tokens = f"{prefix}issuers:tokens"
        self.agents = f"{prefix}agents"
        self.agent_aliases = f"{prefix}agents:aliases"
        self.policies = f"{prefix}policies"
        self.catalog = f"{prefix}catalog"
        self.catalog_tools = f"{prefix}catalog:tools"
        self.seen_tools = f"{prefix}catalog:seen"
        self.resources = f"{prefix}catalog:resources"
        self.resource_entries = f"{prefix}catalog:resources:entries"
        self.changes = f"{prefix}changes"
        self.changes_chain = f"{prefix}changes:chain"
        self.changes_checkpoint = f"{prefix}changes:checkpoint"
        self.changes_tree = f"{prefix}changes:tree"
        self.approvals = f"{prefix}approvals"
        self.approvals_open = f"{prefix}approvals:open"
        self.policy_reviews = f"{prefix}policy-reviews"
        self.policy_reviews_waiting = f"{prefix}policy-reviews:waiting"
        self.approvals_trail = f"{prefix}approvals:trail"
        self.approval_events = f"{prefix}approvals:events"
        self.webhooks = f"{prefix}webhooks"
        self.notices = f"{prefix}notices"
        self.marks = f"{prefix}marks"
        self.commits = f"{prefix}commits"
        self.audit_stream = f"{prefix}audit:stream"
        self.audit_head = f"{prefix}audit:head"
        self.audit_parts = f"{prefix}audit:parts"
        self.audit_poison = f"{prefix}audit:poison"
        self.audit_checkpoint = f"{prefix}audit:checkpoint"
        self.audit_tree = f"{prefix}audit:tree"
        self.audit_lease = f"{prefix}audit:lease"
        self.verification_lease = f"{prefix}audit:verification-lease"

    def key(self, key_id: str) -> str:
        """Hash: one API key's record."""
        return f"{self._prefix}key:{key_id}"

    def workload_tokens(self, workload_id: str) -> str:
        """Sorted set: those of `tokens` that are the workload's."""
        return f"{self.tokens}:{workload_id}"

    def agent(self, agent_id: str) -> str:
        """Hash: one agent's record with its version token."""
        return f"{self._prefix}agent:{agent_id}"

    def agent_policies(self, agent_id: str) -> str:
        """Sorted set: ids of the agent's policies in the order of evaluation."""
        return f"{self._prefix}agent:{agent_id}:policies"

    def group(self, group_digest: str) -> str:
        """Hash: counts over the policies of one group of agents."""
        return f"{self._prefix}group:{group_digest}"

    def group_policies(self, group_digest: str) -> str:
        """Sorted set: ids of the group's policies in the order of evaluation."""
        return f"{self._prefix}group:{group_digest}:policies"

    def policy(self, policy_id: str) -> str:
        """Hash: one policy."""
        return f"{self._prefix}policy:{policy_id}"

    def policy_versions(self, policy_id: str) -> str:
        """List: the id in the trail of changes of each version of a policy, newest first."""
        return f"{self._prefix}policy:{policy_id}:versions"

    def policy_review(self, review_id: str) -> str:
        """Hash: one change of policies that waits for a second person, or waited for one."""
        return f"{self._prefix}policy-review:{review_id}"

    def divergence(self, policy_id: str) -> str:
        """Hash: how often a shadow policy would have given another result, since its last change."""
        return f"{self._prefix}policy:{policy_id}:divergence"

    def answer_counts(self, key_id: str) -> str:
        """Hash: how many Idempotency-Keys an API key has used in each of the latest four-hour slots."""
        return f"{self._prefix}key:{key_id}:answers"

    def submission(self, digest: str) -> str:
        """String: a MAC of the access request that came with the Idempotency-Key of this SHA-256."""
        return f"{self._prefix}submission:{digest}"

    def mismatches(self, root: str) -> str:
        """String: how many calls of a key's holder named an approval that is not theirs; kept a minute."""
        return f"{self._prefix}key:{root}:mismatches"

    def first_answer(self, key_id: str, idempotency_digest: str) -> str:
        """Hash: the answer to an API key's first request with this Idempotency-Key; kept 24 hours."""
        return f"{self._prefix}idempotency:{key_id}:{idempotency_digest}"

    def keyed_batch(self, key_id: str, idempotency_digest: str) -> str:
        """String: a MAC of the batch that came with this Idempotency-Key of an API key; kept 24 hours."""
        return f"{self._prefix}keyed-batch:{key_id}:{idempotency_digest}"

    def quota(self, policy_id: str, fingerprint: str) -> str:
        """List: times of the admitted calls of one rate limit."""
        return f"{self._prefix}quota:{policy_id}:{fingerprint}"

    def approval(self, approval_id: str) -> str:
        """Hash: one approval."""
        return f"{self._prefix}approval:{approval_id}"

    def approval_call(self, digest: str) -> str:
        """String: the id of the current approval of the call with this digest."""
        return f"{self._prefix}approvals:call:{digest}"

    def agent_approvals(self, agent_id: str) -> str:
        """Sorted set: ids of the agent's open approvals, by the ms at which they expire."""
        return f"{self._prefix}agent:{agent_id}:approvals"

    def rule_approvals(self, agent_id: str, rule: str) -> str:
        """Sorted set: ids of the agent's open approvals that one rule has asked for, by the ms at which they expire."""
        return f"{self._prefix}agent:{agent_id}:approvals:{rule}"

    def key_approvals(self, key_id: str) -> str:
        """Sorted set: ids of the open approvals that an API key has asked for, by the ms at which they expire."""
        return f"{self._prefix}key:{key_id}:approvals"

    def webhook(self, webhook_id: str) -> str:
        """Hash: one webhook."""
        return f"{self._prefix}webhook:{webhook_id}"

    def webhook_outbox(self, webhook_id: str) -> str:
        """Hash: how far a webhook's events have been sent, and delivery counts."""
        return f"{self._prefix}webhook:{webhook_id}:outbox"

    def webhook_waiting(self, webhook_id: str) -> str:
        """Sorted set: events waiting for a retry, by the ms at which it is due."""
        return f"{self._prefix}webhook:{webhook_id}:waiting"

    def webhook_parked(self, webhook_id: str) -> str:
        """Sorted set: events given up, by the ms at which they were."""
        return f"{self._prefix}webhook:{webhook_id}:parked"

    def webhook_unsent(self, webhook_id: str) -> str:
        """Hash: waiting and parked events, and how often each was tried."""
        return f"{self._prefix}webhook:{webhook_id}:unsent"

    def webhook_deliveries(self, webhook_id: str) -> str:
        """List: the latest attempts to deliver a webhook's events, newest first."""
        return f"{self._prefix}webhook:{webhook_id}:deliveries"

    def webhook_lease(self, webhook_id: str) -> str:
        """String: the process that currently sends a webhook's events."""
        return f"{self._prefix}webhook:{webhook_id}:lease"

    def bucket(self, policy_id: str, fingerprint: str, bucket: str) -> str:
        """List: times of the admitted calls of one value that a rate limit or budget is counted per."""
        return f"{self._prefix}quota:{policy_id}:{fingerprint}:{bucket}"

    def live_buckets(self, policy_id: str, fingerprint: str, agent_id: str) -> str:
        """Sorted set: the values for which an agent has a bucket that still counts."""
        return f"{self._prefix}live:{policy_id}:{fingerprint}:{agent_id}"

    def signed_out(self, digest: str) -> str:
        """String: when the person, or the session of the identity provider, with this SHA-256 signed out there, s."""
        return f"{self._prefix}signed-out:{digest}"

    def addressed(self, digest: str) -> str:
        """String: the id of the newest session of whoever has the verified mail address with this SHA-256."""
        return f"{self._prefix}addressed:{digest}"

    def issuer_keys(self, name: str) -> str:
        """Hash: the public keys that were last read from an issuer, and when."""
        return f"{self._prefix}issuers:keys:{name}"

    def session(self, digest: str) -> str:
        """Hash: when any agent was last allowed, in the session, each call that `forbiddenAfter` rules name."""
        return f"{self._prefix}session:{digest}"

    def pinned(self, digest: str) -> str:
        """Hash: the user's request that was pinned for one session, by its MAC."""
        return f"{self._prefix}pinned:{digest}"

    def agent_session(self, agent_id: str, digest: str) -> str:
        """Hash: when an agent was last allowed, in the session, each call that other rules require first."""
        return f"{self._prefix}agent:{agent_id}:session:{digest}"

    def session_records(self, agent_id: str, digest: str) -> str:
        """Hash: what runtimes reported of the results of an agent's calls in the session, by the record's digest."""
        return f"{self._prefix}agent:{agent_id}:records:{digest}"

    def live_sessions(self, agent_id: str, mark: str) -> str:
        """Sorted set: the sessions in which a mark of the agent still counts."""
        return f"{self._prefix}agent:{agent_id}:marked:{mark}"

    def denials(self, agent_id: str, since: int, policy_id: str, fingerprint: str) -> str:
        """List: times of the agent's denied calls counted by one breaker since a given revision of the agent."""
        return f"{self._prefix}agent:{agent_id}:denials:{since}:{policy_id}:{fingerprint}"

    def denials_of_value(self, agent_id: str, since: int, policy_id: str, fingerprint: str, bucket: str) -> str:
        """List: the same for one value, if the breaker counts separately for each."""
        return f"{self._prefix}agent:{agent_id}:denials:{since}:{policy_id}:{fingerprint}:{bucket}"

    def live_denials(self, agent_id: str, since: int, policy_id: str, fingerprint: str) -> str:
        """Sorted set: the values for which a breaker counts denials of the agent."""
        return f"{self._prefix}agent:{agent_id}:denied:{since}:{policy_id}:{fingerprint}"

    def remembered(self, agent_id: str, memory: str) -> str:
        """Hash: what one rule remembers of the agent's approved calls, by the MAC of the value."""
        return f"{self._prefix}agent:{agent_id}:remembered:{memory}"

    def taken(self, decision_id: str) -> str:
        """String: what an allowed call took from refundable limits."""
        return f"{self._prefix}decision:{decision_id}:taken"

    def outcome(self, decision_id: str) -> str:
        """String: the reported outcome of an allowed call."""
        return f"{self._prefix}decision:{decision_id}:outcome"

    def audit_segment(self, number: int) -> str:
        """Hash: one sealed segment, without its entries."""
        return f"{self._prefix}audit:segment:{number}"

    def audit_data(self, number: int) -> str:
        """String: the compressed entries of one sealed segment; a separate key, because ranges of it are read."""
        return f"{self._prefix}audit:data:{number}"

    def audit_columns(self, part: int) -> str:
        """Hash: segment -> the values that its entries are counted by, of one part of the log."""
        return f"{self._prefix}audit:columns:{part}"

    def audit_names(self, part: int) -> str:
        """Hash: segment -> the names that it adds to those that the columns of the part refer to."""
        return f"{self._prefix}audit:names:{part}"

    def audit_hours(self, part: int) -> str:
        """Hash: table -> how many entries of a whole part of the log each hour has, by what the table counts by."""
        return f"{self._prefix}audit:hours:{part}"

    def audit_by_all(self, part: int) -> str:
        """Sorted set: every segment of one part of the log."""
        return f"{self._prefix}audit:by:all:{part}"

    def audit_by(self, dimension: str, value: str, part: int) -> str:
        """Sorted set: the segments of a part that contain entries with this value.

        Values that callers choose (tools, actions) are represented by the first 32 hex digits of their SHA-256.
        """
        return f"{self._prefix}audit:by:{dimension}:{value}:{part}"
