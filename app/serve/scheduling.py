"""Which lane gets a core that both want."""

import ctypes
import os
import platform
import struct
import sys

SLOW_NICENESS = 10
"""Where both lanes want the same core, the fast one has ten times the slow one's time."""

_SLICE_NS = 100_000
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
_attributes = struct.Struct("=IIQiIQQQII")
"""struct sched_attr (sched_setattr(2)): size, policy, flags, niceness, priority, runtime, deadline, period, clamps."""


def take_short_turns() -> None:
    """On waking, run before a process with longer time slices, instead of waiting some ms until its slice ends.

    Linux has this since 6.12 ("sched/eevdf: Allow shorter slices to wakeup-preempt"); elsewhere nothing changes.
    """
    number = _SCHED_SETATTR.get(platform.machine())
    if sys.platform == "linux" and number is not None:
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        wanted = _attributes.pack(_attributes.size, os.SCHED_OTHER, 0, niceness, 0, _SLICE_NS, 0, 0, 0, 0)
        ctypes.CDLL(None).syscall(number, 0, wanted, 0)  # a kernel that refuses leaves it as it is


def let_others_go_first() -> None:
    """Wherever another process wants the same core, this one gets a tenth of it."""
    os.nice(SLOW_NICENESS)
