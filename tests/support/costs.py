"""Lists what a run costs: the files that took most CPU and most time, and the quick tests that are not quick.

Nothing fails because of it: the same test takes longer on a busy machine. CPU is that of the worker and of the
processes that it has started and that have ended; a store that several files share belongs to none of them.
"""

import resource
import time
from collections import Counter

import forked
import pytest

MOST_S = 1
"""CPU of its own process that a quick test may take."""
FILES = 20


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime + forked.spent_s


class Costs:
    """The plugin that adds up what tests cost, in each worker, and lists the sum of all at the end."""

    def __init__(self) -> None:
        self.cpu_s, self.wall_s, self.slow_s = Counter(), Counter(), {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        cpu_s, began = _cpu_s(), time.perf_counter()
        try:
            return (yield)
        finally:
            file = item.nodeid.partition("::")[0]
            self.cpu_s[file] += _cpu_s() - cpu_s
            self.wall_s[file] += time.perf_counter() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        began = time.process_time()
        try:
            return (yield)
        finally:
            took = time.process_time() - began
            if took > MOST_S and not any(map(item.get_closest_marker, ("slow", "faults", "stores"))):
                self.slow_s[item.nodeid] = took

    def add(self, others: "Costs") -> None:
        """Count what a worker has run, too."""
        self.cpu_s += others.cpu_s
        self.wall_s += others.wall_s
        self.slow_s |= others.slow_s

    def pytest_terminal_summary(self, terminalreporter):
        if len(self.cpu_s) > FILES:
            total = f"{self.cpu_s.total():.0f} s of CPU, {self.wall_s.total():.0f} s with waiting"
            terminalreporter.section(f"{len(self.cpu_s)} files: {total}")
            for title, seconds in (("most CPU", self.cpu_s), ("longest", self.wall_s)):
                terminalreporter.line(f"    CPU    wall {title}")
                for file, _ in seconds.most_common(FILES):
                    terminalreporter.line(f"{self.cpu_s[file]:7.1f} {self.wall_s[file]:7.1f} {file}")
        if self.slow_s:
            terminalreporter.section(f"quick tests that took more than {MOST_S} s of CPU")
            for test, took in sorted(self.slow_s.items(), key=lambda each: -each[1]):
                terminalreporter.line(f"- {took:.1f} s {test}")
