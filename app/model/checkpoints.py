"""What `verify` finds, and the line by which a later one can tell whether the log was rewritten since."""

import re
from enum import StrEnum

from msgspec import Struct

from app.model.fields import Count
from app.model.ids import canonical_uuid
from app.model.times import parse_time_ms, rfc3339

_LINE = re.compile(r"(\S{36}) ([0-9]{1,15}) ([0-9]{1,15}) ([0-9a-f]{64}) (\S+)", re.ASCII).fullmatch


class Checkpoint(Struct, frozen=True):
    """The state of a workspace's log at one segment. Kept elsewhere, it cannot be rewritten with the log.

    sequence: of the segment's last entry. time_ms: of its latest.
    """

    workspace: str
    segment: int
    sequence: int
    sha256: str
    time_ms: int

    @property
    def line(self) -> str:
        """`<workspace> <segment> <sequence> <sha256> <time>`."""
        return f"{self.workspace} {self.segment} {self.sequence} {self.sha256} {rfc3339(self.time_ms)}"

    @classmethod
    def parse(cls, line: str) -> "Checkpoint":
        """The checkpoint that a line states. Raises ValueError with a sentence."""
        match = _LINE(line.strip())
        if match and canonical_uuid(match[1]) == match[1]:
            return cls(match[1], int(match[2]), int(match[3]), match[4], parse_time_ms(match[5]))
        raise ValueError("is not a checkpoint: workspace, segment, sequence, sha256 and time, with spaces between")


class Fault(StrEnum):
    """What was done to a log."""

    CHANGED = "changed"
    REMOVED = "removed"
    INSERTED = "inserted"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    REWRITTEN = "rewritten"


class Finding(Struct, frozen=True):
    """The first place at which a log is not what was sealed.

    fault: What was done to the log.
    segment: Where it begins.
    message: For people.
    """

    fault: Fault
    segment: Count
    message: str


class Verification(Struct, frozen=True, kw_only=True):
    """What `verify` found.

    finding: None if everything that was checked is intact.
    complete: whether it went on to the newest entry; otherwise `checkpoint` says where to go on.
    checkpoint: the last segment that was found intact; None if there is none.
    first_segment: where it began; more than 1 after a checkpoint, or where retention dropped what was before.
    unsealed: entries that wait in the stream and are not chained yet.
    """

    finding: Finding | None
    complete: bool
    checkpoint: Checkpoint | None
    first_segment: int
    segments: int
    entries: int
    unsealed: int
