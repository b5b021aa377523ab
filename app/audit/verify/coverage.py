"""Describes, in sentences, what a verification checked and what it did not."""

from typing import NamedTuple

from app.audit.verify.trail import Trail
from app.audit.verify.unsealed import Unsealed
from app.model.checkpoints import Finding, Part


class Coverage(NamedTuple):
    """The extent of a verification. unsealed, trail: None if it did not reach their end."""

    first_segment: int
    segments: int
    entries: int
    unsealed: Unsealed | None
    trail: Trail | None
    finding: Finding | None

    def sentences(self, *, after_checkpoint: bool) -> tuple[list[str], list[str]]:
        """The sentences about what was checked, and those about what was not."""
        first, last = self.first_segment, self.first_segment + self.segments - 1
        checked, unchecked = [], []
        if self.segments:
            checked.append(f"segments {first} to {last}: {self.entries} entries, links and index")
        if after_checkpoint and first > 1:
            before = f"segments before {first}"
            unchecked.append(f"{before}: entries, and the index by agent, tool, action and result")
            if self.finding is None or self.finding.segment >= first:
                checked.append(f"{before}: that they are there, linked, and in the index of all segments")
        if self.unsealed is not None:
            checked.append(f"stream: {self.unsealed.entries} entries, that none is missing, added or unreadable")
        elif self.finding is None or self.finding.part is not Part.CHANGES:
            unchecked.append(f"what follows segment {last}, and the stream" if last > 0 else "segments and the stream")
        if self.trail is not None:
            waiting = self.trail.changes - self.trail.linked
            checked.append(f"changes: {self.trail.changes}, of which {waiting} are not chained yet")
        elif self.finding is None:
            unchecked.append("changes")
        return checked, unchecked
