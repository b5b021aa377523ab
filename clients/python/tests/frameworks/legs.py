"""A program that imports the frameworks once, and plays each leg of a run in a process that is killed at its end.

A line of standard input is what `play` takes, as JSON; then it prints how the leg's process has ended.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from stage import DRIVERS


def play(framework, settings, agent, row, leg, folder):
    """Afterwards there are in `folder` the framework's files, and in `kept` what its program must keep."""
    kind = next(each for each in DRIVERS if each.__name__ == framework)
    desk, kept = kind(settings, agent, row["calls"], row["pauses"]), Path(folder, "kept")
    desk.keep_in(folder)
    desk.restart()
    if kept.exists():
        vars(desk).update(json.loads(kept.read_text()))
    asyncio.run(getattr(desk, leg)())
    kept.write_text(json.dumps({name: getattr(desk, name) for name in (*kind.KEPT, "ran", "said")}))
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            play(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)  # noqa: T201 - the answer
