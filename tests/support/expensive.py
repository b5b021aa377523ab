"""Lists the quick tests that took more than a second of their process's CPU: they should do less, or be `slow`.

Nothing fails because of it: the same test takes longer on a busy machine.
"""

import time

import pytest

ALLOWED_S = 1
_NAME = "expensive_s"


class Expensive:
    """The plugin that measures tests and lists the expensive ones at the end."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        began = time.process_time()
        try:
            return (yield)
        finally:
            took = time.process_time() - began
            if took > ALLOWED_S and not any(map(item.get_closest_marker, ("slow", "faults", "stores"))):
                item.user_properties.append((_NAME, took))

    def pytest_terminal_summary(self, terminalreporter):
        reports = terminalreporter.getreports("passed")
        found = {each.nodeid: took for each in reports for name, took in each.user_properties if name == _NAME}
        if found:
            terminalreporter.section(f"quick tests that took more than {ALLOWED_S} s of CPU")
            for test, took in sorted(found.items(), key=lambda each: -each[1]):
                terminalreporter.line(f"- {took:.1f} s {test}")
