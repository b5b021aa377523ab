"""Gives the fast lane precedence over the slow one on a core that both want."""

import ctypes
import os
import platform
import struct
import sys
from pathlib import Path

SLOW_NICENESS = 15
"""Where both lanes want the same core, the fast one has nearly thirty times the slow one's time.

Linux lets a task that wakes up run at once only if it has not had more than its share so far. The smaller the slow
lane's share, the less often the fast lane has to wait, up to 4 ms, until the kernel looks again.
"""

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
        attributes = _attributes.pack(_attributes.size, os.SCHED_OTHER, 0, niceness, 0, _SLICE_NS, 0, 0, 0, 0)
        ctypes.CDLL(None).syscall(number, 0, attributes, 0)  # a kernel that refuses leaves it as it is


def let_others_go_first() -> None:
    """Wherever another process wants the same core, this one gets a thirtieth of it."""
    os.nice(SLOW_NICENESS)


def waited_seconds(pid: int) -> float:
    """Seconds that the process's first thread was ready to run while others had the cores (/proc/PID/schedstat).

    0 for an unknown process, and on systems that do not tell.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
