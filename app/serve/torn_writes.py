"""Removes what a crash has left of a write at the end of the embedded store's append-only file.

A commit is in the file from MULTI to EXEC. If its end is missing, many servers (`serve/doctor.py` knows which) remove
only the last, incomplete command and append to the open MULTI; at their next start, what they answered since is lost.
"""

import os
from pathlib import Path
from typing import BinaryIO

from app.serve.append_only_files import FOLDER, TornError, appended_files, command_at

_CLOSED = b"\r\n*1\r\n$4\r\nEXEC\r\n"
_FIRST_LOOK = 1 << 16


def cut_torn_write(folder: Path) -> str | None:
    """The file that the store in `folder` appends to ends with a complete write; returns what had to be cut, or None.

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
