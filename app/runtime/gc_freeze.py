"""Excludes long-lived objects from garbage collection.

The collector walks all live objects again and again. With the compiled policies of a thousand agents, that took most of
a second, during which no call was answered. What is excluded is freed by its reference count alone, so nothing alive
when the heap is frozen may become part of a cycle. Tests check this for compiled agents, for their cache entries, for
connections however they end, and for the memory of a service in which agents, edits, keys and tool names come and go.
"""

import gc

_YOUNG = 1
"""Objects in generations up to this one are at most a few thousand allocations old."""


def freeze_heap() -> None:
    """Later collections skip everything alive now; unused cycles are collected first."""
    gc.collect(_YOUNG)
    gc.freeze()
