"""The parts of answers that are the same for every decision with an outcome, encoded once."""

from collections.abc import Callable

from app.model.decisions import Decision, Outcome

_FRAMES_MAX = 1024


class OutcomeFrames:
    """What `encode` gives for a decision, by its outcome, which lives as long as its agent is cached."""

    __slots__ = ("_encode", "_frames")

    def __init__(self, encode: Callable[[Decision], bytes]) -> None:
        self._encode = encode
        # By the id() of an outcome. The outcome is kept, so that no other object can get the same id().
        self._frames: dict[int, tuple[Outcome, bytes]] = {}

    def of(self, decision: Decision) -> bytes:
        """The part for this decision's outcome."""
        outcome = decision.outcome
        kept = self._frames.get(id(outcome))
        if kept is not None:
            return kept[1]
        if len(self._frames) >= _FRAMES_MAX:
            self._frames.clear()
        frame = self._encode(decision)
        self._frames[id(outcome)] = outcome, frame
        return frame
