"""`remit WORDS` as a process with an environment, a folder, an input and an exit code of its own, hundreds of times."""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from forked import Forked


def run_remit(words, env, cwd=None, stdin=None) -> subprocess.CompletedProcess[str]:
    """Like `subprocess.run([sys.executable, "-m", "app.cli", *words], …)`, with output as text."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as given:
        given.write(stdin or "")
        given.seek(0)
        command, pipe = [sys.executable, "-m", "app.cli", *words], subprocess.PIPE
        process = Forked(command, env=env, cwd=cwd, stdin=given, stdout=pipe, stderr=pipe)
    with ThreadPoolExecutor(2) as reading:
        printed = list(reading.map(_read, (process.stdout, process.stderr)))
    return subprocess.CompletedProcess(process.args[3:], process.wait(), *printed)


def _read(pipe) -> str:
    with pipe:
        return pipe.read().decode()
