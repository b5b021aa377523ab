"""The keys and arguments of a commit, in the script's order: those of every commit, of its quotas, of its parts."""

from collections.abc import Mapping, Sequence

from app.model.decisions import Outcome
from app.redis_client.client import Value
from app.redis_client.scripts import COMMIT_ASKING, COMMIT_DECISION, COMMIT_WITH_PARTS, Script
from app.store.keyspace import Keyspace

PER_CALL = COMMIT_DECISION.args.index("tool_name")
"""The number of arguments that differ from call to call; they come first."""
_COMMIT_BYTES, _ARGUMENT_BYTES = 1_600, 8
"""Estimated overhead in bytes: of a packed commit, and of each of its keys and arguments."""


class CommitArguments:
    """Keys and fixed arguments of one commit: those of every commit first, then its quotas', then its parts'.

    versions: the policy versions that are known, by the policy's id.
    """

    def __init__(self, keyspace: Keyspace, agent_id: str, versions: Mapping[str, int], keys: list[str]) -> None:
        self.keyspace = keyspace
        self.agent_id = agent_id
        self.versions = versions
        self.keys = keys
        self.fixed: list[Value] = []
        self._part_keys: list[str] = []
        self._part_args: list[Value] = []
        self._counts: list[str] = []

    def add_part(self, name: str, keys: Sequence[str], args: Sequence[Value]) -> None:
        """Add a part of `lua/commit_decision/` that the call needs, with its keys and arguments."""
        self._part_keys += keys
        self._part_args += args
        self._counts.append(f"{name} {len(keys)} {len(args)} ")

    def complete(self) -> Script:
        """The script that has the added parts. Nothing may be added after this."""
        if not self._counts:
            return COMMIT_DECISION
        self.keys += self._part_keys
        self.fixed += (*self._part_args, "".join(reversed(self._counts)))
        if len(self._counts) == 1 and self._counts[0].startswith("approvals "):
            return COMMIT_ASKING
        return COMMIT_WITH_PARTS

    def outcome(self, outcome: Outcome) -> tuple[str, str, str, str]:
        """Its result, policy, rule and reason as the script reads them."""
        policy = outcome.policy_id or ""
        if outcome.rule is None:
            return outcome.result, policy, "", outcome.reason
        if policy in self.versions:
            policy = f"{policy} {self.versions[policy]}"
        return outcome.result, policy, f"{outcome.rule.index} {outcome.rule.type}", outcome.reason

    def packed_bytes(self) -> int:
        """The estimated size of the packed commit in bytes."""
        return _COMMIT_BYTES + sum(len(str(each)) + _ARGUMENT_BYTES for each in (*self.keys, *self.fixed))
