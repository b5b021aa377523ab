"""Runs the Python of a page of docs/clients exactly as printed, to compare its output with the page's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from cases import PATIENT

ROOT = Path(__file__).parents[3]
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
PATIENT_TOO = f"""from remit_client import AsyncRemit, Remit
for each in (AsyncRemit, Remit):
    each.__init__.__kwdefaults__.update({PATIENT})
"""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(
    page: str, folder: Path, agent: str, alias: str = "refund-bot", **env: str
) -> subprocess.CompletedProcess[str]:
    """The page's program, as a process; `agent` stands for the alias that the page uses.

    Clients that it makes without a timeout have that of the tests: a busy machine is no error of the page.
    """
    program = folder / "page.py"
    program.write_text(code_of(page).replace(f'"{alias}"', repr(agent)))
    (folder / "sitecustomize.py").write_text(PATIENT_TOO)  # which Python imports before the program
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Some frameworks keep things there; one offers traces to whoever runs it first.
    own = {"PATH": path, "PYTHONPATH": str(folder), "XDG_DATA_HOME": str(folder), "CREWAI_TESTING": "true"}
    return subprocess.run(
        [sys.executable, program], env=own | env, cwd=folder, capture_output=True, text=True, timeout=300
    )


def code_of(page: str) -> str:
    """All Python blocks of a page as one program."""
    return "\n".join(text for kind, text in blocks(page) if kind == "python")


def output_of(page: str) -> str:
    """The output that the page shows."""
    return "".join(text for kind, text in blocks(page) if kind == "text")


def begins_with_lines_of_code(page: str, most: int) -> bool:
    """Whether the first block, which gates a tool, has at most `most` lines, not counting imports and empty ones."""
    _, text = blocks(page)[0]
    return sum(bool(line.strip()) and not line.startswith(("from ", "import ")) for line in text.splitlines()) <= most


def without_ids(text: str) -> str:
    """The text with every id as `{id}`: no two runs have the same ones."""
    return UUID.sub("{id}", text)


def blocks(page: str) -> list[tuple[str, str]]:
    """Kind and text of every fenced block."""
    return BLOCK.findall((ROOT / "docs/clients" / page).read_text())
