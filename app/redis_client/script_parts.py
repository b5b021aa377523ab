"""Scripts with parts: `lua/NAME.lua` is a script by itself, and another with the parts in the folder `lua/NAME`."""

import re
from pathlib import Path

from msgspec import Struct

_FILE = re.compile(r"--\[\[\n(?P<header>(?P<name>\w+): .*?)\n\]\]\n(?P<sections>--@ .*)", re.DOTALL)
_ORDER = re.compile(r"^PARTS +(\w[\w ]*)$", re.MULTILINE)
_PLACE = re.compile(r"^ *--@ (\w+): .*\n", re.MULTILINE)
_SECTION = re.compile(r"^--@ (\w+)\n", re.MULTILINE)
_WORD = re.compile(r"^(KEYS|ARGV)\[p\+(.+?)\]\s+(\w+)", re.MULTILINE)
_RETURNS = re.compile(r"^RETURNS\n((?:  .*\n)+)", re.MULTILINE)
_STATUS = re.compile(r"^  (\w+) ", re.MULTILINE)


class Part(Struct, frozen=True):
    """One file of a script's folder. header: of the file. sections: its code, by the place where it goes."""

    header: str
    sections: dict[str, str]

    def words(self, kind: str) -> tuple[str, ...]:
        """Names of its KEYS or ARGV, in order; one that may come any number of times is the last."""
        return tuple(name for of, _, name in _WORD.findall(self.header) if of == kind)

    @property
    def replies(self) -> tuple[str, ...]:
        """Statuses that only a script with this part returns."""
        return tuple(_STATUS.findall("".join(_RETURNS.findall(f"{self.header}\n"))))


def parse_part(name: str, text: str) -> Part:
    """The part in a file. Raises ValueError if it does not have the form shown in lua/README.md."""
    file = _FILE.fullmatch(text)
    if file is None or file["name"] != name:
        raise ValueError(f"{name}.lua: the file begins with `--[[` and `{name}: …`, and has sections")
    _, *found = _SECTION.split(file["sections"])
    part = Part(file["header"], dict(zip(found[::2], found[1::2], strict=True)))
    for kind in ("KEYS", "ARGV"):
        places = [place for of, place, _ in _WORD.findall(part.header) if of == kind]
        numbers = [str(number) for number in range(1, len(places) + 1)]
        if places not in (numbers, [*numbers[:-1], f"{len(places) - 1}+i"], ["i"]):
            raise ValueError(f"{name}.lua: the places of {kind} are {places}")
    return part


def read_parts(folder: Path, text: str) -> dict[str, Part]:
    """The parts that the script's header names, in its order. Raises ValueError unless they are the folder's files."""
    order = _ORDER.search(text)
    names = order[1].split() if order else []
    if sorted(names) != sorted(path.stem for path in folder.glob("*.lua")):
        raise ValueError(f"{folder}: the files are not the PARTS of the script")
    parts = {name: parse_part(name, (folder / f"{name}.lua").read_text("utf-8")) for name in names}
    places = set(_PLACE.findall(text))
    for name, part in parts.items():
        if not part.sections.keys() <= places:
            raise ValueError(f"{folder}/{name}.lua: the script has the places {sorted(places)} and no others")
    return parts


def with_parts(name: str, text: str, parts: dict[str, Part]) -> str:
    """The script with each part's sections in their places, under another name."""

    def sections_of(place: re.Match[str]) -> str:
        found = ((each, part.sections.get(place[1])) for each, part in parts.items())
        return "".join(f"-- {each}\n{section}" for each, section in found if section)

    head, end, body = text.partition("\n]]\n")
    headers = "".join(f"--[[\n{part.header}\n]]\n" for part in parts.values())
    return re.sub(r"--\[\[\n\w+", f"--[[\n{name}", head, count=1) + end + headers + _PLACE.sub(sections_of, body)
