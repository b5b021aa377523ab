"""Loaded into a service by `bench.operations`: counts what it executes, when it is told to.

The first SIGUSR1 prepares the process; send it before the first call. The second begins to count bytecode operations
and calls of Python functions, the third counts calls of C functions instead; the fourth writes all of it to the file
TRACE_OUT.PID.
"""

import json
import os
import signal
import sys
from collections import Counter
from types import CodeType, FrameType
from typing import Any

operations: Counter[CodeType] = Counter()
calls: Counter[CodeType] = Counter()
c_calls: Counter[str] = Counter()


def count_operations(frame: FrameType, event: str, _: Any) -> Any:
    """Trace function of one frame."""
    if event == "opcode":
        operations[frame.f_code] += 1
    return count_operations


def begin_frame(frame: FrameType, _event: str, _: Any) -> Any:
    """Trace function of a thread: called once for each call of a Python function."""
    calls[frame.f_code] += 1
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    return count_operations


def count_c_calls(_: FrameType, event: str, function: Any) -> None:
    """Profile function."""
    if event == "c_call":
        c_calls[getattr(function, "__qualname__", str(function))] += 1


def count_c() -> None:
    """Count calls of C functions from now on, and nothing else."""
    sys.settrace(None)
    sys.setprofile(count_c_calls)


def ignore_duration() -> None:
    """Traced, a step takes so long that the fast lane would move each call to the slow lane."""
    for name, module in list(sys.modules.items()):
        if name.endswith(".loop_budget"):
            vars(module).update(NOTICED_S=1e9, _NOTICED_US=1e9)


def write() -> None:
    """Write the counts."""
    sys.setprofile(None)
    counts = {"operations": _named(operations), "calls": _named(calls), "c_calls": c_calls}
    with open(f"{os.environ['TRACE_OUT']}.{os.getpid()}", "w") as file:  # noqa: PTH123 - as few imports as possible
        json.dump(counts, file)


def _named(counts: Counter[CodeType]) -> dict[str, int]:
    named: Counter[str] = Counter()
    for code, count in counts.items():
        path = code.co_filename.rpartition("/app/")[2].rpartition("site-packages/")[2]
        named[f"{path}:{code.co_firstlineno} {code.co_qualname}"] += count
    return named


def install() -> None:
    """Listen, also in processes that are forked from this one."""
    steps = iter((ignore_duration, lambda: sys.settrace(begin_frame), count_c, write))
    signal.signal(signal.SIGUSR1, lambda *_: next(steps)())


os.register_at_fork(after_in_child=install)
install()
