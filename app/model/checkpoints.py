"""What `verify` finds, and the line by which a later one can tell whether the log was rewritten since."""

import re
from enum import StrEnum

from msgspec import Struct

from app.model.ids import canonical_uuid
from app.model.times import parse_time_ms, rfc3339

_NUMBER, _HASH = "([0-9]{1,15})", "([0-9a-f]{64})"
_SEALED = rf"(\S{{36}}) {_NUMBER} {_NUMBER} {_HASH} (\S+)"
_LINE = re.compile(rf"{_SEALED}(?: {_NUMBER} {_HASH} {_NUMBER} {_NUMBER} {_HASH})?", re.ASCII).fullmatch


class Rest(Struct, frozen=True):
    """What a checkpoint states besides the last segment: the entries that were not sealed, and the trail of changes.

    newest: sequence of the newest entry. sha256: of the segment's, in hex, and the lines up to the newest entry.
    linked: changes that the trail's chain covered. changes: those there were. changes_sha256: of the link's, in hex,
    and the changes after it. Where nothing is unsealed, the two are those of the segment and of the link.
    """

    newest: int
    sha256: str
    linked: int
    changes: int
    changes_sha256: str


class Checkpoint(Struct, frozen=True):
    """The state of a workspace's log at one segment. Kept elsewhere, it cannot be rewritten with the log.

    sequence: of the segment's last entry. time_ms: of its latest. Segment 0 is none, its sha256 the genesis.
    rest: None where the verification ended before it, and in lines of before there was one.
    """

    workspace: str
    segment: int
    sequence: int
    sha256: str
    time_ms: int
    rest: Rest | None = None

    @property
    def line(self) -> str:
        """`<workspace> <segment> <sequence> <sha256> <time>`, and the rest in the order of its fields."""
        words = [self.workspace, self.segment, self.sequence, self.sha256, rfc3339(self.time_ms)]
        if self.rest is not None:
            rest = self.rest
            words += [rest.newest, rest.sha256, rest.linked, rest.changes, rest.changes_sha256]
        return " ".join(map(str, words))

    @classmethod
    def parse(cls, line: str) -> "Checkpoint":
        """The checkpoint that a line states. Raises ValueError with a sentence."""
        match = _LINE(line.strip())
        if match and canonical_uuid(match[1]) == match[1]:
            rest = Rest(int(match[6]), match[7], int(match[8]), int(match[9]), match[10]) if match[6] else None
            return cls(match[1], int(match[2]), int(match[3]), match[4], parse_time_ms(match[5]), rest)
        raise ValueError(
            "is not a checkpoint: workspace, segment, sequence, sha256 and time, with spaces between, and in a whole "
            "one the newest sequence, its sha256, two numbers of changes and their sha256"
        )


class Fault(StrEnum):
    """What was done to a log."""

    CHANGED = "changed"
    REMOVED = "removed"
    INSERTED = "inserted"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    REWRITTEN = "rewritten"


class Part(StrEnum):
    """Where it was done."""

    SEGMENTS = "segments"
    STREAM = "stream"
    CHANGES = "changes"


class Finding(Struct, frozen=True):
    """The first place at which a log is not what was sealed.

    fault: What was done.
    segment: Where it begins; for the stream the segment that its entries would be sealed into, 0 for the changes.
    message: What is wrong, for people.
    part: Where it was done; the index of a segment is part of it.
    """

    fault: Fault
    segment: int
    message: str
    part: Part = Part.SEGMENTS

    @property
    def place(self) -> str:
        """In words."""
        return f"segment {self.segment}" if self.part is Part.SEGMENTS else f"the {self.part}"


class Verification(Struct, frozen=True, kw_only=True):
    """What `verify` found.

    finding: None if everything that was checked is intact.
    complete: whether it went on to the newest entry and change; otherwise `checkpoint` says where to go on.
    checkpoint: the last state that was found intact; None if there is none.
    first_segment: where it began to read entries; more than 1 after a checkpoint, or where retention dropped what was
    before.
    segments, entries: read and computed again. unsealed: entries that wait in the stream. changes: of the trail.
    checked, unchecked: what was, in sentences.
    """

    finding: Finding | None
    complete: bool
    checkpoint: Checkpoint | None
    first_segment: int
    segments: int
    entries: int
    unsealed: int
    changes: int = 0
    checked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
