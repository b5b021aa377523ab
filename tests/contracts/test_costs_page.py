"""docs/costs.md: the table is what its own numbers make."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/costs.md").read_text()
ROWS = re.findall(r"^\| ([\d,]+) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
MONTH, HALF_YEAR, TWO_YEARS = 30, 180, 730


def size(bytes_):
    unit, number = ("GB", bytes_ / 1e9) if bytes_ >= 1e9 else ("MB", bytes_ / 1e6)
    return f"{number:.1f} {unit}" if number < 10 else f"{number:.0f} {unit}"


def test_a_log_has_as_many_bytes_as_its_entries_take():
    entry = int(re.search(r"\[(\d+) bytes\]", PAGE)[1])
    assert len(ROWS) == 6
    for a_day, a_month, *sizes in ROWS:
        calls = int(a_day.replace(",", ""))
        number, unit = a_month.split()
        assert round(calls * MONTH, -3) == int(number) * {"thousand": 10**3, "million": 10**6}[unit]
        assert sizes == [size(calls * days * entry) for days in (MONTH, HALF_YEAR, TWO_YEARS)]
