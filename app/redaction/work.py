"""Bounds the work of redacting one request, which is counted, so that equal calls are recorded alike on any machine."""

from msgspec import Struct

MAX_STEPS = 90_000
"""The most steps of up to 100 ns that strings of one request may cost. A step is a character that a pattern reads."""

KEPT_STEPS = MAX_STEPS // 5
"""The part of them that is kept for beginnings of strings that cannot be searched whole."""

NAME_STEPS = 16
"""The steps of one name that a pattern finds in a string."""

MAX_SHORTENED = 1_024
"""The most strings of a call that are recorded shortened. More do not fit into the log."""


class TooMuchWork(Exception):
    """A string, or a call, cannot be searched within the bound."""


class Work(Struct, gc=False):
    """The steps that are left for one request.

    kept: steps that cannot be spent. shortened: strings recorded shortened.
    """

    left: int = MAX_STEPS
    kept: int = KEPT_STEPS
    shortened: int = 0

    def spend(self, steps: int) -> None:
        """Count some more, before they are done. Raises TooMuchWork, counting nothing, if they exceed what is left."""
        if self.left - steps < self.kept:
            raise TooMuchWork
        self.left -= steps
