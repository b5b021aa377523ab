"""The result of verifying the log."""

from msgspec import Struct

from app.model.checkpoints import Finding, Verification
from app.model.fields import Count, Ordinal


class VerificationView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a verification.

    intact: Whether everything that was checked is intact.
    complete: Whether the newest entry was reached; if not, ask again with `checkpoint`.
    finding: The first fault; null if there is none.
    checkpoint: The state that was found intact, as a line to keep elsewhere; null if there is none.
    first_segment: The segment with which it began.
    segments: Segments that were checked.
    entries: Entries in them.
    unsealed: Entries that are not sealed and chained yet.
    changes: Changes of the trail that were checked.
    checked: What was checked, in words.
    unchecked: What was not checked, in words.
    """

    intact: bool
    complete: bool
    finding: Finding | None
    checkpoint: str | None
    first_segment: Ordinal
    segments: Count
    entries: Count
    unsealed: Count
    changes: Count
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]

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
            changes=found.changes,
            checked=found.checked,
            unchecked=found.unchecked,
        )
