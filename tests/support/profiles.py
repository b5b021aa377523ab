"""How many examples Hypothesis tries: a tenth in `make test` and `make test-all`, all in a plain run, or EXAMPLES."""

import os

from hypothesis import settings

SEARCHED = int(os.environ.get("EXAMPLES", "0"))
BRIEF = "brief"


def register_profiles() -> None:
    """The same examples every time, or with EXAMPLES new ones each time. No profile keeps a database."""
    settings.register_profile("full", derandomize=True, database=None, deadline=None)
    settings.register_profile(BRIEF, derandomize=True, database=None, deadline=None, max_examples=20)
    settings.register_profile("search", database=None, deadline=None, max_examples=SEARCHED or 1)
    settings.load_profile("search" if SEARCHED else "full")


def examples(full: int, least: int = 10) -> int:
    """How many of `full` examples a test tries in this run: a tenth if brief, but at least `least`."""
    return max(least, full // 10) if settings.get_current_profile_name() == BRIEF else max(full, SEARCHED)
