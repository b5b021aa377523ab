"""Draw claims of docs/ to check by experiment: `python tests/contracts/draw_claims.py SEED [COUNT]`.

A claim is a sentence of at least six words, an item of a list or a row of a table; headings of tables are none, nor are
decisions, which say what was believed when they were made.
"""

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#.*$|^\|.*\n\|[-:|]+\|$|^<!--.*$", re.MULTILINE)
PART = re.compile(r"\n\s*\n|\n(?=[-|] ?)|\n(?=\d+\. )")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[])")
WORDS = 6


def claims() -> Iterator[tuple[str, str]]:
    """Every claim with its page."""
    for page in sorted(DOCS.rglob("*.md")):
        if page.parent.name == "decisions":
            continue
        for part in PART.split(HEADING.sub("", CODE.sub("", page.read_text()))):
            text = " ".join(part.split())
            for claim in [text] if text.startswith("|") else SENTENCE.split(text):
                if len(claim.split()) >= WORDS:
                    yield page.relative_to(DOCS).as_posix(), claim


if __name__ == "__main__":
    seed, count = int(sys.argv[1]), int([*sys.argv, "100"][2])
    for number, (page, claim) in enumerate(random.Random(seed).sample(list(claims()), count), 1):
        sys.stdout.write(f"{number}. {page}: {claim}\n")
