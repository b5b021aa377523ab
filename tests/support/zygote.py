"""A process that has loaded the command line and the service, and forks for each command it is asked to run.

Loading takes half a second of CPU for a command and over a second for a service, and the tests start hundreds.
`forked.Forked` asks; a fork has the environment, folder, files, signals, command line and exit code that a new
interpreter would have. What is loaded, and how the service starts, is tested with new interpreters.

python -P zygote.py LISTENER PADDING    descriptor of a listening socket; room for the command lines of the forks.
                                        It ends when standard input does. A fork is asked to end, by SIGTERM, when
                                        that happens or when whoever asked for it has ended.
"""

import atexit
import contextlib
import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import time
import traceback
from importlib import import_module
from pathlib import Path

_REQUEST_BYTES = 1 << 20
_LOADED = (
    "app.serve.supervisor",
    "app.serve.jobs",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
    "app.explain.replay_jobs.proposer",
    "app.explain.replay_jobs.replayer",
)


def _run(args, *, env, cwd="."):
    """Be a new interpreter with these arguments, in this process, to its end."""
    code = 1
    try:
        _rename(args)
        _close_all_but({0, 1, 2})
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(env)
        time.tzset()
        os.chdir(cwd)
        if args[1] == "-m":
            sys.argv[:] = args[2:]
            runpy.run_module(args[2], run_name="__main__", alter_sys=True)
        else:
            sys.argv[:] = args[1:]
            runpy.run_path(args[1], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _rename(args) -> None:
    """Let ps and /proc show this command line, as far as there is room for it."""
    start, end = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:47])
    line = b"\0".join(map(os.fsencode, args))[: end - start - 1]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, line, len(line))


def _close_all_but(kept) -> None:
    for each in Path("/proc/self/fd").iterdir():
        if int(each.name) not in kept:
            with contextlib.suppress(OSError):  # one of them was the listing's own
                os.close(int(each.name))


def _fork(connection) -> int:
    """Fork what the connection asks for, and tell it the pid."""
    request, files, _, _ = socket.recv_fds(connection, _REQUEST_BYTES, 3)
    wanted = json.loads(request)
    pid = os.fork()
    if pid == 0:
        for number, file in enumerate(files):
            os.dup2(file, number)
        _run(**wanted)
    for file in files:
        os.close(file)
    connection.send(str(pid).encode())
    return pid


def _serve(listener) -> None:
    """Fork until standard input ends; tell whoever asked for a process its exit code and the seconds of CPU it took."""
    running, asked, events = {}, {}, select.poll()
    events.register(sys.stdin.fileno(), 0)
    events.register(listener, select.POLLIN)
    while True:
        ready, _ = events.poll()[0]  # one at a time: what it closes may be among the others, and its number taken anew
        if ready == sys.stdin.fileno():
            for pid, _ in running.values():
                os.kill(pid, signal.SIGTERM)
            return
        if ready == listener.fileno():
            connection, _ = listener.accept()
            pid = _fork(connection)
            process = os.pidfd_open(pid)
            running[process], asked[connection.fileno()] = (pid, connection), pid
            events.register(process, select.POLLIN)
            events.register(connection, 0)
        elif ready in running:
            pid, connection = running.pop(ready)
            events.unregister(ready)
            os.close(ready)
            _, status, used = os.wait4(pid, 0)
            if asked.pop(connection.fileno(), None):
                events.unregister(connection)
            with contextlib.suppress(OSError), connection:  # whoever asked may have ended
                spent = used.ru_utime + used.ru_stime
                connection.send(f"{os.waitstatus_to_exitcode(status)} {spent}".encode())
        else:
            events.unregister(ready)
            os.kill(asked.pop(ready), signal.SIGTERM)


def _make_beforehand(module) -> None:
    """Registering the routes takes 0.2 s: the first application that a fork makes is there already."""
    make = module._application
    made = [make()]
    module._application = lambda: made.pop() if made else make()


def main() -> None:
    from app.cli.main import COMMANDS  # noqa: PLC0415 - who imports this module need not load it
    from app.explain.replay_jobs import processes  # noqa: PLC0415
    from app.http import application  # noqa: PLC0415
    from app.http.routes import prepare_pages  # noqa: PLC0415
    from app.runtime.lanes import scheduling  # noqa: PLC0415
    from app.serve import jobs  # noqa: PLC0415

    for each in (*_LOADED, *(command.partition(":")[0] for command in COMMANDS.values())):
        import_module(each)
    # Beside other tests no core is idle, and what gives way to others would wait for minutes. That it gives way is
    # tested with new interpreters.
    processes.lower_priority = lambda _pid: None
    scheduling.SLOW_NICENESS = jobs._NICENESS = 0
    prepare_pages()
    _make_beforehand(application)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which then end this process
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        # Replays and analyses each would load for a second, too.
        address = listener.getsockname().hex()
        processes.PROGRAM = ("-S", str(Path(__file__).with_name("forked.py")), address, "app.explain.replay_jobs")
        _serve(listener)


if __name__ == "__main__":
    main()
