"""The append-only files of a store: their names, the commands in them, and the end that a crash has torn off."""

import mmap
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

FOLDER, MANIFEST = "appendonlydir", "appendonly.aof.manifest"
_APPENDED_TO = re.compile(r"^file (\S+) seq \d+ type i", re.MULTILINE)
_HEADER, _BEGUN_HEADER = re.compile(rb"[*$](\d{1,10})\r\n"), re.compile(rb"[*$]?\d{0,10}\r?")
_CLOSED = b"\r\n*1\r\n$4\r\nEXEC\r\n"
_FIRST_LOOK = 1 << 16


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


def cut_torn_write(folder: Path) -> str | None:
    """The file that the store in `folder` appends to ends with a complete write; returns what had to be cut, or None.

    A commit is in the file from MULTI to EXEC. If its end is missing, many servers (`serve/doctor.py` knows which)
    remove only the last, incomplete command and append to the open MULTI; at their next start, what they answered since
    is lost.

    No server may have the file open. Other damage is left to the server, which refuses the file. Raises OSError.
    """
    *_, path = [None, *appended_files(folder / FOLDER)]
    if path is None or not path.exists():
        return None
    with path.open("r+b") as file:
        length = file.seek(0, os.SEEK_END)
        complete = _complete_bytes(file, length)
        if complete is None or complete == length:
            return None
        file.truncate(complete)
        os.fsync(file.fileno())
    return f"{path} ended within a write, which was never answered: its last {length - complete} bytes have been cut"


def _complete_bytes(file: BinaryIO, length: int) -> int | None:
    """How many bytes at the start of the file are complete writes; None if it has damage of another kind."""
    look = _FIRST_LOOK
    while True:
        start = max(0, length - look)
        file.seek(start)
        data = file.read(length - start).rstrip(b"\0")  # after a loss of power, zeros can follow what was written
        end = len(data)
        while (end := data.rfind(_CLOSED, 0, end)) >= 0:
            # A value may contain the same bytes, but then what follows does not read as commands.
            if (boundary := _last_boundary(data, end + len(_CLOSED))) is not None:
                return start + boundary
        if start == 0:
            return _last_boundary(data, 0)
        look *= 4


def _last_boundary(data: bytes, place: int) -> int | None:
    """Where the last complete command outside a transaction ends, from `place` on; None if these are not commands."""
    boundary, in_transaction = place, False
    try:
        while place < len(data):
            words, place = command_at(data, place)
            name = words[0].upper() if words else b""
            in_transaction = name == b"MULTI" or (in_transaction and name != b"EXEC")
            if not in_transaction:
                boundary = place
    except TornError:
        pass
    except ValueError:
        return None
    return boundary
