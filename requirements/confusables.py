"""Writes app/language/confusables.txt (`make confusables`) from the locked version of confusable-homoglyphs.

That package has the pairs of Unicode's confusables.txt without their direction. They form stars: a character looks
like one prototype, and a prototype, which may be several characters, like many. Which of two characters that look only
like each other is the prototype does not matter for a comparison; here it is the one with the lower code point.
"""

import json
from importlib.resources import files
from pathlib import Path

MADE = Path(__file__).parents[1] / "app/language/confusables.txt"
LICENCE = Path(__file__).with_name("confusables-licence.txt")
HEADER = """\
Characters that look like ASCII, from confusables.txt of Unicode's security mechanisms (UTS 39), version 15.1.
On each line a prototype, a tab, and the characters that look like it. `make confusables` writes this file.
"""
_MARK = "\u200e"
"""Stands around characters that are written from right to left, and is no part of them."""


def pairs() -> dict[str, set[str]]:
    """For each character or sequence those that look like it."""
    found: dict[str, set[str]] = {}
    for name, others in json.loads((files("confusable_homoglyphs") / "confusables.json").read_text("utf-8")).items():
        found.setdefault(name.strip(_MARK), set()).update(each["c"].strip(_MARK) for each in others)
    return found


def prototypes() -> dict[str, str]:
    """For each character its prototype, if it has one."""
    alike, found = pairs(), {}
    for character, others in alike.items():
        if len(character) == 1 and len(others) == 1:
            (other,) = others
            if len(other) > 1 or len(alike[other]) > 1 or other < character:
                found[character] = other
    return found


def text() -> str:
    """The file: only prototypes in ASCII, since names and accounts that are forged are nearly all in ASCII."""
    sources: dict[str, list[str]] = {}
    for character, prototype in prototypes().items():
        if prototype.isascii():
            sources.setdefault(prototype, []).append(character)
    lines = [f"{prototype}\t{''.join(sorted(found))}\n" for prototype, found in sorted(sources.items())]
    notice = "".join(f"# {line}".rstrip() + "\n" for line in (HEADER + "\n" + LICENCE.read_text("utf-8")).splitlines())
    return notice + "".join(lines)


if __name__ == "__main__":
    MADE.write_text(text(), "utf-8")
