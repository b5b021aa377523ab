"""What a verification of the log found."""

from msgspec import Struct

from app.model.checkpoints import Finding, Verification


class VerificationView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a verification found.

    intact: nothing that was checked is wrong. complete: the newest entry was reached; if not, ask again with
    `checkpoint`, a line that states the last intact segment. Kept elsewhere, it shows later whether the log was
    rewritten. unsealed: entries not yet chained.
    """

    intact: bool
    complete: bool
    finding: Finding | None
    checkpoint: str | None
    first_segment: int
    segments: int
    entries: int
    unsealed: int

    @classmethod
    def of(cls, found: Verification) -> "VerificationView":
        return cls(
            intact=found.finding is None,
            complete=found.complete,
            finding=found.finding,
            checkpoint=None if found.checkpoint is None else found.checkpoint.line,
            first_segment=found.first_segment,
            segments=found.segments,
            entries=found.entries,
            unsealed=found.unsealed,
        )
