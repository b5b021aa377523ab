"""What the garbage collector need not look at.

It walks through everything that lives, again and again: with the compiled policies of a thousand agents that took most
of a second, in which nobody was answered. They hold no cycles, so they are freed when their last user has gone, without
it.
"""

import gc

_YOUNG = 1
"""The generations up to this hold what is a few thousand allocations old."""


def freeze_heap() -> None:
    """What lives now is left out of all collections to come; cycles that nobody uses any more have gone before."""
    gc.collect(_YOUNG)
    gc.freeze()
