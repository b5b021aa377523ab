"""What the signatures below a note are worth to somebody who trusts certain keys."""

from collections.abc import Sequence

from app.model.notes import Note, VerifierKey
from app.transparency.keys import signed_at

AHEAD_S = 300
"""How far a witness's clock may be ahead."""


class NotVerified(Exception):
    """A note is not signed as required; the message is a sentence."""


def require_signed(note: Note, key: VerifierKey, witnesses: Sequence[VerifierKey], quorum: int, now_s: int) -> None:
    """Return if the log's key has signed the note, and of the witnesses at least so many. Raises NotVerified."""
    if key.name != note.origin:
        raise NotVerified(f"The checkpoint is of the log {note.origin}, and the key of {key.name}")
    if signed_at(note, key) is None:
        raise NotVerified(f"The checkpoint has no valid signature of the key {key}")
    times = {each: signed_at(note, each) for each in witnesses}
    ahead = [each.name for each, seconds in times.items() if seconds is not None and seconds > now_s + AHEAD_S]
    if ahead:
        raise NotVerified(f"The cosignature of {', '.join(ahead)} is of a time in the future")
    missing = [each.name for each, seconds in times.items() if seconds is None]
    if len(times) - len(missing) < quorum:
        raise NotVerified(f"The checkpoint has no valid cosignature of {', '.join(missing)}; {quorum} must have signed")
