"""`remit WORDS` as a process with an environment, a folder, an input and an exit code of its own, hundreds of times."""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from forked import Forked


def run_console(words, env, cwd=None, stdin=None) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run([sys.executable, "-m", "app.cli", *words], …)` gives; every output is text."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as given:
        given.write(stdin or "")
        given.seek(0)
        (out, into_out), (err, into_err) = os.pipe(), os.pipe()
        command = [sys.executable, "-m", "app.cli", *words]
        process = Forked(command, env=env, cwd=cwd, stdin=given, stdout=into_out, stderr=into_err)
    os.close(into_out)
    os.close(into_err)
    with ThreadPoolExecutor(2) as reading:
        printed = list(reading.map(_read, (out, err)))
    return subprocess.CompletedProcess(process.args[3:], process.wait(), *printed)


def _read(pipe: int) -> str:
    with open(pipe, encoding="utf-8") as file:
        return file.read()
