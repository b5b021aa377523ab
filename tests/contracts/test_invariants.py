"""docs/invariants.md: numbered without gaps, and every test that it names exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/invariants.md").read_text()
NUMBERED = re.findall(r"^\*\*I(\d+)\. (.*?)(?=^\*\*I\d|\Z)", PAGE, re.MULTILINE | re.DOTALL)
INVARIANTS = dict(NUMBERED)


def names_in(path: Path) -> set[str]:
    """The names of a module's tests."""
    tree = ast.parse(path.read_text())
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in tree.body if isinstance(node, kinds) and node.name.startswith("test_")}


def test_the_numbers_have_no_gaps():
    """Numbers are never removed or reused."""
    assert [int(number) for number, _ in NUMBERED] == list(range(1, len(NUMBERED) + 1))


def test_every_invariant_is_held_by_a_test_that_exists():
    """Each names at least one."""
    for number, text in INVARIANTS.items():
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", " ".join(text.split()).partition("*Held by*")[2])
        assert named, f"I{number} names no test"
        for path, name in named:
            assert name in names_in(ROOT / path), f"I{number} names {path}::{name}"


def test_only_numbers_that_exist_are_cited():
    """In scripts, in code, in pages and in tests."""
    files = [path for folder in ("app", "lua", "docs", "tests") for path in (ROOT / folder).rglob("*.*")]
    cited = {
        (number, path.relative_to(ROOT).as_posix())
        for path in files
        if path.suffix in {".py", ".lua", ".md"}
        for number in re.findall(r"\bI(\d+)\b(?=[:,. ])", path.read_text())
    }
    assert {each for each in cited if each[0] not in INVARIANTS} == set()
