"""What runs weekly also runs with a commit that touches what it tests."""

from pathlib import Path

import pytest
from weekly import WEEKLY, may_wait

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("file", WEEKLY)
def test_a_file_of_the_week_runs_with_what_it_tests(file):
    """By name: one that is gone, or was renamed, would never be touched."""
    assert (ROOT / file).exists()
    assert may_wait(file, [])
    assert may_wait(file, ["app/pdp/decide.py", "docs/deploy.md"])
    for beginning in (file, *WEEKLY[file].tested):
        found = [path.relative_to(ROOT).as_posix() for path in ROOT.glob(f"{beginning}*")]
        assert found, beginning
        assert not any(may_wait(file, [name]) for name in found)


def test_other_files_never_wait():
    assert not may_wait("tests/pdp/test_decide.py", [])
