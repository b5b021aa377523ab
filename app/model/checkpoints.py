"""The results of a verification, and the checkpoint line by which a later one detects a rewritten log."""

import re
from enum import StrEnum

from msgspec import Struct

from app.model.fields import Timestamp
from app.model.ids import uuid_of
from app.model.times import parse_time_ms, rfc3339

_NUMBER, _HASH = "([0-9]{1,15})", "([0-9a-f]{64})"
_SEALED = rf"(\S{{36}}) {_NUMBER} {_NUMBER} {_HASH} (\S+)"
_LINE = re.compile(rf"{_SEALED}(?: {_NUMBER} {_HASH} {_NUMBER} {_NUMBER} {_HASH})?", re.ASCII).fullmatch


class Rest(Struct, frozen=True):
    """The second half of a checkpoint: the unsealed entries and the trail of changes.

    newest: sequence of the newest entry. sha256: of the segment's hash, in hex, and the lines up to the newest entry.
    linked: changes covered by the trail's chain. changes: all changes. changes_sha256: of the link's hash, in hex, and
    the changes after it. If nothing is unsealed, the two are the hashes of the segment and of the link.
    """

    newest: int
    sha256: str
    linked: int
    changes: int
    changes_sha256: str


class Checkpoint(Struct, frozen=True):
    """The state of a workspace's log at one segment. Kept elsewhere, it cannot be rewritten with the log.

    sequence: of the segment's last entry. time_ms: of its latest entry. Segment 0 means none, with the genesis as
    sha256.
    rest: None if the verification did not get that far.
    """

    workspace: str
    segment: int
    sequence: int
    sha256: str
    time_ms: int
    rest: Rest | None = None

    @property
    def newest(self) -> int:
        """The newest entry that it covers."""
        return self.sequence if self.rest is None else self.rest.newest

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
        """The checkpoint on this line. Raises ValueError with a sentence."""
        match = _LINE(line.strip())
        if match and uuid_of(match[1]) == match[1]:
            rest = Rest(int(match[6]), match[7], int(match[8]), int(match[9]), match[10]) if match[6] else None
            return cls(match[1], int(match[2]), int(match[3]), match[4], parse_time_ms(match[5]), rest)
        raise ValueError(
            "is not a checkpoint: workspace, segment, sequence, sha256 and time, with spaces between, and in a whole "
            "one the newest sequence, its sha256, two numbers of changes and their sha256"
        )


class SignedTree(StrEnum):
    """What checkpoints are signed of."""

    LOG = "log"
    CHANGES = "changes"


class Fork(Struct, frozen=True):
    """A log or a trail of changes that does not continue what was signed before, and is signed no more.

    tree: Which of them: `log`, or `changes` for the trail of changes.
    since: When that was found, by the store's clock: what came later is in no checkpoint.
    message: What does not continue what, for people.
    """

    tree: SignedTree
    since: Timestamp
    message: str


class Fault(StrEnum):
    """Kinds of alterations of a log."""

    CHANGED = "changed"
    REMOVED = "removed"
    INSERTED = "inserted"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    REWRITTEN = "rewritten"


class Part(StrEnum):
    """The parts of a log that can be altered."""

    SEGMENTS = "segments"
    STREAM = "stream"
    CHANGES = "changes"
    ARCHIVE = "archive"
    TREE = "tree"


class Finding(Struct, frozen=True):
    """The first point at which the log differs from what was sealed.

    fault: How it was altered.
    segment: The first segment concerned; for the stream, the segment that its entries would be sealed into; for the
    changes and the Merkle trees, 0; for an archive, the file's, or 0 for its manifest.
    message: What is wrong, for people.
    part: Which part was altered; a segment includes its index. Only `remit audit verify --archive` reads an archive.
    """

    fault: Fault
    segment: int
    message: str
    part: Part = Part.SEGMENTS

    @property
    def place(self) -> str:
        """The place for people, such as `segment 3`."""
        return f"segment {self.segment}" if self.part is Part.SEGMENTS else f"the {self.part}"


class Verification(Struct, frozen=True, kw_only=True):
    """The result of a verification.

    finding: None if everything that was checked is intact.
    complete: True if it reached the newest entry and change; otherwise `checkpoint` says where to continue.
    checkpoint: the last state that was found intact, or None.
    first_segment: the first segment whose entries were read; more than 1 after a checkpoint, or if retention dropped
    earlier ones.
    segments, entries: how many were read and recomputed. unsealed: number of entries in the stream. changes: number
    of changes in the trail.
    checked, unchecked: what was checked and what was not, in sentences.
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


class FaultFound(Exception):
    """Something in the log is not what was written; the finding says where and what is wrong."""

    def __init__(self, fault: Fault, segment: int, message: str, part: Part = Part.SEGMENTS) -> None:
        super().__init__(message)
        self.finding = Finding(fault, segment, message, part)
