"""Applies each mutant to a copy of the tree, runs the tests that should notice, and prints a line about each.

    python tests/mutants/run.py                     all of them
    python tests/mutants/run.py pdp lua:3 one-tier  an area, a place in one, a name
    python tests/mutants/run.py pdp tests/workspaces  only these tests

A line is a mutant, `caught` or `SURVIVED`, and the test that failed first; or `BROKEN` if the tests could not run, and
`UNDECIDED` if they took more than ten minutes, as they do on a busy machine: name fewer. The exit code is the number of
mutants that were not caught.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from mutants import AUTHORIZE, IDENTITY, LUA, PDP, SURFACE, Mutant

ROOT = Path(__file__).resolve().parents[2]
AREAS = {"pdp": PDP, "authorize": AUTHORIZE, "lua": LUA, "surface": SURFACE, "identity": IDENTITY}
DECIDING = ("tests/workspaces", "tests/pdp", "tests/authorize", "tests/lua", "tests/approvals", "tests/store")
TESTS = {"pdp": DECIDING, "authorize": DECIDING, "lua": (*DECIDING, "tests/http/test_outcomes.py")}
TESTS |= {"surface": ("tests/workspaces", "tests/store", "tests/http", "tests/approvals", "tests/cli")}
TESTS |= {"identity": ("tests/identity/test_attacks.py", "tests/http/test_workloads.py", "tests/http/test_sessions.py")}
OPTIONS = ("-x", "-q", "-p", "no:schemathesis", "--hypothesis-profile", "brief", "--no-header")
QUICK = ("-m", "not (slow or faults or stores)", "--ignore", "tests/http/test_conformance.py")
HISTORIES = ("-m", "slow and not (faults or stores)", "tests/workspaces")
"""Only the first history of each door is a quick test."""
AT_ONCE = 2
SECONDS = 600


def chosen(words: list[str]) -> list[tuple[str, Mutant]]:
    """The mutants that the words name, each with its area."""
    every = [(area, mutant) for area, mutants in AREAS.items() for mutant in mutants]
    if not words:
        return every
    places = {f"{area}:{place}" for area, mutants in AREAS.items() for place in range(len(mutants))}
    unknown = set(words) - AREAS.keys() - places - {mutant.name for _, mutant in every}
    if unknown:
        sys.exit(f"no area and no mutant: {', '.join(sorted(unknown))}")
    return [
        (area, mutant)
        for area, mutant in every
        if {area, mutant.name, f"{area}:{AREAS[area].index(mutant)}"} & set(words)
    ]


def copy_of_the_tree(folder: Path) -> Path:
    """What git knows of the tree, as it is on disk now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    environment = environment_of(folder)
    ran = [sys.executable, "-c", "import app; print(app.__file__)"]
    imported = subprocess.run(ran, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout
    if Path(imported.strip()).parent != folder / "app":
        sys.exit(f"the copy imports {imported.strip()}, so no mutant would be seen")
    return folder


def environment_of(folder: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def verdict_on(mutant: Mutant, tests: tuple[str, ...], folder: Path) -> str:
    """What becomes of the mutant in this copy, which is as before afterwards."""
    file = folder / mutant.file
    text = file.read_text("utf-8")
    if text.count(mutant.old) != 1:
        return "MISPLACED"
    file.write_text(text.replace(mutant.old, mutant.new), "utf-8")
    try:
        there = [path for path in tests if (folder / path).exists()]
        for selected in ((*QUICK, *there), *[HISTORIES] * ("tests/workspaces" in there)):
            command = [sys.executable, "-m", "pytest", *OPTIONS, *selected]
            ran = subprocess.run(
                command, cwd=folder, env=environment_of(folder), capture_output=True, text=True, timeout=SECONDS
            )
            if ran.returncode != 0:
                break
    except subprocess.TimeoutExpired:
        return "UNDECIDED the tests did not end"
    finally:
        file.write_text(text, "utf-8")
    if ran.returncode != 1:
        return "SURVIVED" if ran.returncode == 0 else f"BROKEN    {ran.stdout[-300:]}"
    first = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    return f"caught    by {first[1] if first else ran.stdout[-200:]}"


def main() -> int:
    """Run the chosen mutants; return how many survived."""
    survivors, copies = 0, SimpleQueue[Path]()
    only = tuple(word for word in sys.argv[1:] if word.startswith("tests/"))
    words = [word for word in sys.argv[1:] if word not in only]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(AT_ONCE):
            copies.put(copy_of_the_tree(Path(scratch).resolve() / f"copy{number}"))

        def run(each: tuple[str, Mutant]) -> str:
            area, mutant = each
            folder = copies.get()
            try:
                return f"{area:9}  {mutant.name:26}  {verdict_on(mutant, only or TESTS[area], folder)}"
            finally:
                copies.put(folder)

        for line in pool.map(run, chosen(words)):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            survivors += "caught" not in line
    return survivors


if __name__ == "__main__":
    sys.exit(main())
