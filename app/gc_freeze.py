"""Excludes long-lived objects from garbage collection.

The collector walks all live objects again and again. With the compiled policies of a thousand agents, that took most of
a second, during which no call was answered. Compiled policies hold no cycles, so their reference counts free them.
"""

import gc

_YOUNG = 1
"""Objects in generations up to this one are at most a few thousand allocations old."""


def freeze_heap() -> None:
    """Later collections skip everything alive now; unused cycles are collected first."""
    gc.collect(_YOUNG)
    gc.freeze()
