"""Workers: processes that run the tests side by side, each taking the next file when it has run one.

They are forked once all tests are collected. Interpreters of their own, as pytest-xdist starts them, would each import
and collect everything again, which takes ten seconds of a core, and over twenty if nothing is compiled yet.
"""

import contextlib
import mmap
import multiprocessing
import os
import signal
import struct
import sys
from itertools import chain, pairwise
from multiprocessing import connection

import forked
import pytest
from costs import Costs

_NUMBER = struct.Struct("=i")
_FORK = multiprocessing.get_context("fork")
WAITING = ("tests/faults/", "tests/console/")
"""Folders of tests that mostly wait for processes to start, stop or fail, or for a browser: many fit on one core."""
_INTERRUPTED = 130
"""The exit code of a worker that Ctrl-C has ended, as shells have it."""


class Workers:
    """The plugin that runs what is collected in `count` processes, and in `waiting` more what mostly waits."""

    def __init__(self, count: int, waiting: int, costs) -> None:
        self.count, self.waiting, self.costs = count, waiting, costs

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Run every test, each file's in one process, and report them here."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        forked.address()  # one process that has loaded the service is enough for all
        session.config._tmp_path_factory.getbasetemp()
        files: dict[str, list[int]] = {}
        for number, item in enumerate(session.items):
            files.setdefault(item.nodeid.partition("::")[0], []).append(number)
        waits = {file for file in files if file.startswith(WAITING)}
        queues = [
            _queue(tests[0] for file, tests in files.items() if (file in waits) == wait) for wait in (False, True)
        ]
        firsts = {tests[0]: tests for tests in files.values()}
        workers = {}
        running = mmap.mmap(-1, _NUMBER.size * (self.count + self.waiting))
        for number in range(self.count + self.waiting):
            reader, writer = _FORK.Pipe(duplex=False)
            own = queues if number < self.count else queues[1:]
            process = _FORK.Process(target=_work, args=(session, number, firsts, own, running, writer, self.costs))
            process.start()
            writer.close()
            workers[reader] = number, process
        for queue in queues:
            os.close(queue)
        try:
            _report(session, workers, running, self.costs)
        finally:
            for _, process in workers.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGINT)
                process.join()
        return True


def _queue(numbers) -> int:
    """A pipe from which each worker reads the number of the next file's first test."""
    queue, rest = os.pipe()
    os.write(rest, b"".join(map(_NUMBER.pack, numbers)))
    os.close(rest)
    return queue


def _report(session, workers, running, costs) -> None:
    """Report what the workers send, until none is left; a worker that dies fails the test that it was running, and
    each that then nobody runs.
    """
    config = session.config
    unreported = {item.nodeid: item for item in session.items}
    while workers:
        for reader in connection.wait(list(workers)):
            try:
                data = reader.recv()
            except EOFError:
                number, process = workers.pop(reader)
                process.join()
                if process.exitcode == 0:
                    continue
                item = session.items[_NUMBER.unpack_from(running, number * _NUMBER.size)[0]]
                report = _failed(item, f"The worker ended with {process.exitcode} in this test.")
            else:
                if isinstance(data, Costs):
                    costs.add(data)
                    continue
                report = config.hook.pytest_report_from_serializable(config=config, data=data)
            unreported.pop(report.nodeid, None)
            config.hook.pytest_runtest_logreport(report=report)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
    for item in unreported.values():
        config.hook.pytest_runtest_logreport(report=_failed(item, "No worker was left to run this test."))


def _failed(item, why: str) -> pytest.TestReport:
    return pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")


def _work(session, number, files, queues, running, writer, costs) -> None:
    """Take files from one queue after the other and run their tests; say in `running` which one."""
    config = session.config
    manager = config.pluginmanager
    manager.unregister(name="terminalreporter")
    manager.register(_Sender(config, writer))
    manager.register(_Interruption())
    if capture := manager.get_plugin("capturemanager"):  # its files are those of all workers until now
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
    factory = config._tmp_path_factory
    factory._basetemp = factory.getbasetemp() / f"worker{number}"
    factory._basetemp.mkdir()
    taken = (first for queue in queues for first in iter(lambda: os.read(queue, _NUMBER.size), b""))  # noqa: B023
    tests = chain.from_iterable(files[_NUMBER.unpack(first)[0]] for first in taken)
    try:
        for test, following in pairwise(chain(tests, [None])):
            _NUMBER.pack_into(running, number * _NUMBER.size, test)
            item, nextitem = (None if each is None else session.items[each] for each in (test, following))
            config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)  # which a parent that was not interrupted reports
    finally:
        session._setupstate.teardown_exact(None)
        writer.send(costs)


class _Interruption:
    """Ctrl-C ends a worker's tests, after the setup or teardown under way, which would otherwise leave processes that
    no fixture ends.
    """

    def __init__(self) -> None:
        self._is_told, self._must_wait = False, False
        signal.signal(signal.SIGINT, self._interrupt)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self):
        return (yield from self._to_its_end())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self):
        return (yield from self._to_its_end())

    def _to_its_end(self):
        self._must_wait = True
        try:
            return (yield)
        finally:
            self._must_wait = False
            if self._is_told:
                raise KeyboardInterrupt

    def _interrupt(self, _number, _frame) -> None:
        """It comes from the terminal and from the parent; the second must not interrupt what the first has begun."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._is_told = True
        if not self._must_wait:
            raise KeyboardInterrupt


class _Sender:
    """Sends the reports of a worker. That a fixture was set up or torn down is no news if nothing failed."""

    def __init__(self, config, writer) -> None:
        self.config, self.writer = config, writer
        self.every = bool(config.option.durations)

    def pytest_runtest_logreport(self, report) -> None:
        if self.every or report.when == "call" or not report.passed:
            self.writer.send(self.config.hook.pytest_report_to_serializable(config=self.config, report=report))
