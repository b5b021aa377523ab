"""Objects that the garbage collector need not look at.

It walks all live objects again and again: with the compiled policies of a thousand agents that took most of a second,
in which no call was answered. Compiled policies hold no cycles, so their reference counts free them.
"""

import gc

_YOUNG = 1
"""The generations up to this hold what is a few thousand allocations old."""


def freeze_heap() -> None:
    """Later collections skip what lives now; unused cycles were collected first."""
    gc.collect(_YOUNG)
    gc.freeze()
