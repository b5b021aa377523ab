"""The Python of a page of docs/clients, run as it stands there; and what the page says comes out."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def code_of(page: str) -> str:
    """All Python blocks of a page as one program."""
    return "\n".join(text for kind, text in blocks(page) if kind == "python")


def output_of(page: str) -> str:
    """What the page says that the program prints."""
    return "".join(text for kind, text in blocks(page) if kind == "text")


def without_ids(text: str) -> str:
    """The text with every id as `{id}`: no two runs have the same ones."""
    return UUID.sub("{id}", text)


def blocks(page: str) -> list[tuple[str, str]]:
    """Kind and text of every fenced block."""
    return BLOCK.findall((ROOT / "docs/clients" / page).read_text())
