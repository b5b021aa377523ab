"""The keys and arguments of a commit, in the script's order: those of every commit, of its quotas, of its parts."""

from collections.abc import Sequence

from app.redis_client.client import Value
from app.redis_client.scripts import COMMIT_ASKING, COMMIT_DECISION, COMMIT_WITH_PARTS, Script

VARYING = COMMIT_DECISION.args.index("tool_name")
"""How many arguments differ from call to call; they come first."""
_CALL_BYTES, _WORD_BYTES = 1_600, 8
"""Estimated overhead in bytes: of a prepared call, and of each of its words."""


class CommitArguments:
    """Keys and settled arguments of one commit: those of every commit first, then its quotas', then its parts'."""

    def __init__(self, keys: list[str], settled: list[Value]) -> None:
        self.keys = keys
        self.settled = settled
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
        self.settled += (*self._part_args, "".join(reversed(self._counts)))
        if len(self._counts) == 1 and self._counts[0].startswith("approvals "):
            return COMMIT_ASKING
        return COMMIT_WITH_PARTS

    def bytes_held(self) -> int:
        """The estimated size of the prepared call in bytes."""
        return _CALL_BYTES + sum(len(str(each)) + _WORD_BYTES for each in (*self.keys, *self.settled))
