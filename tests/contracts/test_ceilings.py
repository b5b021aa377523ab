"""docs/architecture.md lists every ceiling of a workspace, and whether one key can take it all."""

import re
from pathlib import Path

from msgspec.structs import fields

from app.runtime.fairness import shares
from app.settings import Settings

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs/architecture.md").read_text().split("### Ceilings of a workspace\n", 1)[1].split("\n\n", 2)[1]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.splitlines()[2:]]
_OF_A_REQUEST = {"call_bytes_max"}
_OF_AN_OWNER = re.compile(r"_per_(agent|group)_max$|^policy_versions_max$").search
"""Each agent, group or policy has as many, whatever others have."""


def constants():
    """The numbers of things that the store keeps of a workspace, and of a key."""
    files = [*(ROOT / "app/store").glob("*.py"), ROOT / "app/model/catalog.py", ROOT / "app/model/resources.py"]
    files.append(ROOT / "app/audit/seal/sealer.py")
    text = "".join(path.read_text() for path in files)
    return set(
        re.findall(r"^([A-Z]+_MAX|MAX_(?:SEEN|TOOLS|RESOURCES)|[A-Z]+_PER_[A-Z]+)\b[^=\n]*=", text, re.MULTILINE)
    )


def test_every_ceiling_of_the_code_has_its_row_and_no_other():
    settings = {field.name for field in fields(Settings) if re.search("_max$|_per_workspace$", field.name)}
    ceilings = {name for name in settings - _OF_A_REQUEST if not _OF_AN_OWNER(name)}
    ceilings |= {name for name in constants() if "_PER_" not in name}
    assert len(ROWS) > 10
    assert {row[0].strip("`") for row in ROWS} == ceilings


def test_every_share_exists_and_where_there_is_none_the_row_says_whose_it_is():
    known = constants() | {field.name for field in fields(Settings)} | set(vars(shares))
    for ceiling, _, share, without in ROWS:
        named = re.findall(r"`(\w+)`", share)
        assert set(named) <= known, ceiling
        assert without or share != "none", ceiling
    named = {name for row in ROWS for name in re.findall(r"`(\w+)`", row[2])}
    assert {name for name in constants() if "_PER_" in name} <= named
