"""The words of a commit as the script reads them: what every commit has, its quotas, and the parts that it needs."""

from collections.abc import Sequence

from app.redis_client.client import Value
from app.redis_client.scripts import COMMIT_ASKING, COMMIT_DECISION, COMMIT_WITH_PARTS, Script

VARYING = COMMIT_DECISION.args.index("tool_name")
"""How many arguments change from call to call; they come first."""
_CALL_BYTES, _WORD_BYTES = 800, 8
"""What a prepared call takes, and each of its words beside its letters."""


class CommitWords:
    """Keys and settled arguments of one commit: at first those of every commit, then its quotas', then its parts'."""

    def __init__(self, keys: list[str], settled: list[Value]) -> None:
        self.keys = keys
        self.settled = settled
        self._part_keys: list[str] = []
        self._part_args: list[Value] = []
        self._counts: list[str] = []

    def add_part(self, name: str, keys: Sequence[str], args: Sequence[Value]) -> None:
        """The call needs this part of `lua/commit_decision/`, with these keys and arguments."""
        self._part_keys += keys
        self._part_args += args
        self._counts.append(f"{name} {len(keys)} {len(args)} ")

    def complete(self) -> Script:
        """The script that does what was added; nothing may be added any more."""
        if not self._counts:
            return COMMIT_DECISION
        self.keys += self._part_keys
        self.settled += (*self._part_args, "".join(reversed(self._counts)))
        if len(self._counts) == 1 and self._counts[0].startswith("approvals "):
            return COMMIT_ASKING
        return COMMIT_WITH_PARTS

    def bytes_held(self) -> int:
        """As how many bytes the prepared call counts."""
        return _CALL_BYTES + sum(len(str(each)) + _WORD_BYTES for each in (*self.keys, *self.settled))
