"""How long a process has waited for a core."""

import os
import signal
import time

from app.runtime.lanes.scheduling import waited_seconds


def test_a_process_beside_a_busy_one_has_waited():
    """Both want the same core."""
    pids = []
    for _ in range(2):
        pid = os.fork()
        if not pid:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            signal.alarm(30)
            while True:
                pass
        pids.append(pid)
    try:
        before, deadline = waited_seconds(pids[0]), time.monotonic() + 20
        while waited_seconds(pids[0]) < before + 0.05:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_a_process_that_is_gone_has_not():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    assert waited_seconds(pid) == 0.0
