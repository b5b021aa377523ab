"""`remit WORDS` as a process with an environment, a folder, an input and an exit code of its own, hundreds of times.

Each is forked from a process that has already loaded the console, which takes half a second of CPU. Tests of what is
loaded, of signals and of services start `python -m app.cli` themselves.
"""

import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

_REQUEST_BYTES = 1 << 20


class Consoles:
    """Runs the console, one command at a time."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._asking, answering = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with answering:
            command = [sys.executable, __file__, str(answering.fileno())]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[answering.fileno()])

    def close(self) -> None:
        self._asking.close()
        self._process.wait(10)

    def run(self, words, env, cwd=None, stdin=None) -> subprocess.CompletedProcess[str]:
        """What `subprocess.run([sys.executable, "-m", "app.cli", *words], …)` gives; every output is text."""
        request = {"words": list(map(str, words)), "env": env, "cwd": str(cwd or os.getcwd())}  # noqa: PTH109
        with self._turn, tempfile.TemporaryFile("w+", encoding="utf-8") as given:
            given.write(stdin or "")
            given.seek(0)
            (out, into_out), (err, into_err) = os.pipe(), os.pipe()
            socket.send_fds(self._asking, [json.dumps(request).encode()], [given.fileno(), into_out, into_err])
            os.close(into_out)
            os.close(into_err)
            with ThreadPoolExecutor(2) as reading:
                printed = list(reading.map(_read, (out, err)))
            return subprocess.CompletedProcess(request["words"], int(self._asking.recv(100)), *printed)


def _read(pipe: int) -> str:
    with open(pipe, encoding="utf-8") as file:
        return file.read()


def _serve(asked: socket.socket) -> None:
    """Answer every request with its exit code until the other end is closed."""
    from app.cli.main import COMMANDS  # noqa: PLC0415 - only this process needs it

    for each in ("app.replica", *(command.partition(":")[0] for command in COMMANDS.values())):
        import_module(each)
    while True:
        request, files, _, _ = socket.recv_fds(asked, _REQUEST_BYTES, 3)
        if not request:
            return
        child = os.fork()
        if child == 0:
            _run(json.loads(request), files)
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        asked.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run(request, files) -> None:
    """End this process as `python -m app.cli` would."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    sys.argv[1:] = request["words"]
    code = 1
    try:
        runpy.run_module("app.cli", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        _serve(asked)
