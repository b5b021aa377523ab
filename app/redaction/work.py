"""Bounds the work of redacting one call, which is counted, so that equal calls are recorded alike on any machine."""

MAX_STEPS = 200_000
"""The most steps of up to 100 ns that strings of one call may cost. A step is a character that a pattern reads."""

KEPT_STEPS = MAX_STEPS // 5
"""The part of them that is kept for beginnings of strings that cannot be searched whole."""

NAME_STEPS = 16
"""The steps of one name that a pattern finds in a string."""

MAX_SHORTENED = 1_024
"""The most strings of a call that are recorded shortened. More do not fit into the log."""


class TooMuchWork(Exception):
    """A string, or a call, cannot be searched within the bound."""


class Work:
    """The steps that are left for one call.

    kept: steps that cannot be spent. shortened: strings recorded shortened.
    """

    __slots__ = ("kept", "left", "shortened")

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.left, self.kept, self.shortened = steps, KEPT_STEPS, 0

    def spend(self, steps: int) -> None:
        """Count some more, before they are done. Raises TooMuchWork, counting nothing, if they exceed what is left."""
        if self.left - steps < self.kept:
            raise TooMuchWork
        self.left -= steps
