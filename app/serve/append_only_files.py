"""Reads the append-only files of a store: their names, and the commands in them."""

import mmap
import re
from collections.abc import Sequence
from pathlib import Path

FOLDER, MANIFEST = "appendonlydir", "appendonly.aof.manifest"
_APPENDED_TO = re.compile(r"^file (\S+) seq \d+ type i", re.MULTILINE)
_HEADER, _BEGUN_HEADER = re.compile(rb"[*$](\d{1,10})\r\n"), re.compile(rb"[*$]?\d{0,10}\r?")


class TornError(Exception):
    """The bytes end within a command."""


def appended_files(folder: Path) -> list[Path]:
    """The files in a folder of append-only files that commands were appended to, oldest first. Raises OSError."""
    manifest = folder / MANIFEST
    names = _APPENDED_TO.findall(manifest.read_text(errors="replace")) if manifest.exists() else []
    return [folder / name for name in names]


def command_at(data: bytes | mmap.mmap, place: int) -> tuple[Sequence[bytes], int]:
    """The words of the command at `place`, and where it ends. Raises ValueError if it is not one, or TornError."""
    count, place = _header(data, place, b"*")
    words: list[bytes] = []
    for _ in range(count):
        length, place = _header(data, place, b"$")
        end = place + length
        if end + 2 > len(data):
            raise TornError
        if data[end : end + 2] != b"\r\n":
            raise ValueError
        words.append(data[place:end])
        place = end + 2
    return words, place


def _header(data: bytes | mmap.mmap, place: int, sign: bytes) -> tuple[int, int]:
    """The number after `sign`, and where its line ends."""
    found = _HEADER.match(data, place)
    if found is not None and found[0].startswith(sign):
        return int(found[1]), found.end()
    if _BEGUN_HEADER.fullmatch(data, place) and data[place : place + 1] in {b"", sign}:
        raise TornError
    raise ValueError
