"""Python commands of the project as processes of their own, forked from one that has loaded them: see zygote.py.

python -S forked.py ADDRESS MODULE WORDS…    `python -m MODULE WORDS…`: `remit` for shells, replays for replicas. With
                                             NEW_INTERPRETERS in the environment it becomes one: a test may freeze it
"""

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

ZYGOTE = Path(__file__).with_name("zygote.py")
spent_s = 0.0
"""CPU that the processes asked for here have taken, each added once it has ended."""


class Forked:
    """What `subprocess.Popen` gives, as far as tests ask for it.

    command: `[sys.executable, "-m", module, …]` or `[sys.executable, path, …]`.
    stdin, stdout, stderr: files, descriptors or subprocess.PIPE; None = this process's own.
    zygote: where the one listens that is asked; None = that of this process.
    """

    def __init__(self, command, *, env, cwd=None, stdin=None, stdout=None, stderr=None, zygote=None) -> None:
        self.args, self.returncode = [str(word) for word in command], None
        request = {"args": self.args, "env": env, "cwd": str(cwd or os.getcwd())}  # noqa: PTH109
        given, pipes = {"stdin": stdin, "stdout": stdout, "stderr": stderr}, []
        for number, (name, file) in enumerate(given.items()):
            if file == subprocess.PIPE:
                reading, writing = map(os.fdopen, os.pipe(), ("rb", "wb"))
                given[name], own = (writing, reading) if number else (reading, writing)
                setattr(self, name, own)
                pipes.append(given[name])
        files = [_descriptor(file, number) for number, file in enumerate(given.values())]
        self._zygote = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._zygote.connect(zygote or address())
        socket.send_fds(self._zygote, [json.dumps(request).encode()], files)
        self.pid = int(self._zygote.recv(100))
        for each in pipes:
            each.close()

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._end(0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code. Raises subprocess.TimeoutExpired if it still runs after so many seconds."""
        if self._end(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _end(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            events = select.poll()
            events.register(self._zygote, select.POLLIN)
            if events.poll(None if seconds is None else seconds * 1000):
                global spent_s
                code, spent = self._zygote.recv(100).split()
                self.returncode, spent_s = int(code), spent_s + float(spent)
                self._zygote.close()
        return self.returncode


def _descriptor(file, number: int) -> int:
    if file is None:
        return number
    return file if isinstance(file, int) else file.fileno()


@functools.cache
def address(tree: Path | None = None) -> bytes:
    """Where this process's zygote listens that has loaded the project's tree, or another one."""
    env = None if tree is None else os.environ | {"PYTHONPATH": str(tree)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(b"")  # the kernel chooses a name, which is in no folder
        listener.listen(64)
        command = [sys.executable, "-P", str(ZYGOTE), str(listener.fileno()), " " * 1000]
        zygote = subprocess.Popen(command, stdin=subprocess.PIPE, env=env, pass_fds=[listener.fileno()])
        atexit.register(zygote.communicate)
        return listener.getsockname()


def put_remit_in(folder: Path, before: str = "") -> Path:
    """A folder for PATH with `remit` in it; `before` is a line of shell that may change its words."""
    folder.mkdir(parents=True, exist_ok=True)
    command = f'{sys.executable} -S {__file__} {address().hex()} app.cli "$@"'
    (folder / "remit").write_text(f"#!/bin/sh\n{before}\nexec {command}\n")
    (folder / "remit").chmod(0o755)
    return folder


if __name__ == "__main__":
    module = ["-m", *sys.argv[2:]]
    if "NEW_INTERPRETERS" in os.environ:
        os.execv(sys.executable, [sys.executable, "-P", *module])
    asked = Forked([sys.executable, *module], env=dict(os.environ), zygote=bytes.fromhex(sys.argv[1]))
    sys.exit(asked.wait())
