"""Mends append-only files of a store that has dropped what scripts wrote when it started, and then decided again.

After such a start, the numbers of decisions begin anew. A server that replays all of it keeps the older entries in the
stream, refuses the newer ones, and sets the number of the last commit and the head of the log back: no commit can
append, and segments of one life follow those of the other. So the files may have only one life of each log. Everything
else in them stays: agents, policies, keys, quotas and approvals of every life.
"""

import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from app.errors import Invalid
from app.serve.append_only_files import TornError, appended_files, command_at
from app.store.keyspace import numbered_log

_NUMBERED = {"commits": b"sequence", "changes:tree": b"size"}
"""Where the number of a log is: that of its last commit, or of the changes in the trail's tree."""
_TRAIL = "changes"
_STREAM = "audit:stream"
_Name = tuple[str, str]
"""A workspace's id, and which of its logs: `audit` or `changes`."""
_Place = tuple[int, int]
"""The number of a file, and where in it a write begins."""
_Words = Sequence[bytes]


class Mended(Struct, frozen=True, rename="camel"):
    """What was done about one workspace's log.

    lives: how often its numbers began, at least 2. kept: entries of the life that has most of them, and that stays;
    left_out: entries of the others.
    """

    workspace_id: str
    lives: int
    kept: int
    left_out: int


class _Log(Struct):
    """The numbers of one log: where in the files each of its lives begins, and how many numbers each has."""

    begins: list[_Place] = []
    counts: list[int] = []
    last: int = -1

    def note(self, place: _Place, number: int) -> None:
        if not self.begins or number <= self.last:
            self.begins.append(place)
            self.counts.append(0)
        self.counts[-1] += 1
        self.last = number

    def life(self, place: _Place) -> int:
        """Which life a write is of; what precedes the first number is of the first."""
        return max(0, sum(begin <= place for begin in self.begins) - 1)


def mend(folder: Path, left_out: Path) -> list[Mended]:
    """The files in the folder have only one life of each log; `left_out` gains the others' entries, as JSON lines.

    No server may use the folder. A file is replaced once its successor is on disk; if there is nothing to mend, none
    is. Raises Invalid if a file is not as a store writes it, or its end is incomplete; nothing is changed then.
    """
    paths = appended_files(folder)
    if not paths:
        raise Invalid(f"{folder} has no manifest of append-only files; name the folder appendonlydir of a store")
    logs: dict[_Name, _Log] = {}
    for number, path in enumerate(paths):
        try:
            for begin, commands in _writes(path):
                for _, _, words in commands:
                    _note(logs, (number, begin), words)
        except (ValueError, TornError):
            raise Invalid(
                f"{path} is damaged, or its end is incomplete: run redis-check-aof --fix on the manifest beside it"
            ) from None
    # Of the trail, only the tree and its checkpoint begin anew, and they are made again out of the trail.
    kept = {
        name: 0 if name[1] == _TRAIL else max(range(len(log.counts)), key=log.counts.__getitem__)
        for name, log in logs.items()
        if len(log.begins) > 1
    }
    if kept:
        with left_out.open("ab") as file:
            for number, path in enumerate(paths):
                _rewrite(path, number, logs, kept, file)
    counts = {name: logs[name].counts for name in kept if name[1] == "audit"}
    return [
        Mended(name[0], len(counted), counted[kept[name]], sum(counted) - counted[kept[name]])
        for name, counted in counts.items()
    ]


def _key(words: _Words) -> tuple[_Name, str] | None:
    """The log that the command's key belongs to, and the key's name in its workspace."""
    found = numbered_log(words[1].decode(errors="replace")) if len(words) > 1 else None
    return found and ((found[0], _TRAIL if found[1].startswith(_TRAIL) else "audit"), found[1])


def _note(logs: dict[_Name, _Log], place: _Place, words: _Words) -> None:
    """Note the number of a log that the command sets, if it does."""
    found = _key(words) if words and words[0].upper() == b"HSET" else None
    if found and found[1] in _NUMBERED:
        number = dict(zip(words[2::2], words[3::2], strict=False)).get(_NUMBERED[found[1]])
        if number is not None:
            logs.setdefault(found[0], _Log()).note(place, int(number))


def _stays(logs: dict[_Name, _Log], kept: dict[_Name, int], place: _Place, words: _Words) -> bool:
    """Whether the command writes to no log, or to the life that is kept."""
    found = _key(words)
    if not found or found[0] not in kept or logs[found[0]].life(place) == kept[found[0]]:
        return True
    # Beside the numbers of commits stand the version tokens of policies, which belong to no log.
    return found[1] == "commits" and not any(
        field == b"sequence" or field.startswith(b"room:") for field in words[2::2]
    )


def _rewrite(path: Path, number: int, logs: dict[_Name, _Log], kept: dict[_Name, int], left_out: BinaryIO) -> None:
    """Replace the file by one without the commands that do not stay."""
    successor = path.with_name(f"{path.name}.mended")
    with path.open("rb") as old, successor.open("wb") as new:
        os.fchmod(new.fileno(), path.stat().st_mode)
        for begin, commands in _writes(path):
            for start, end, words in commands:
                if _stays(logs, kept, (number, begin), words):
                    old.seek(start)
                    new.write(old.read(end - start))
                elif words[0].upper() == b"XADD" and (found := _key(words)) and found[1] == _STREAM:
                    left_out.write(_entry_line(found[0][0], words))
        new.flush()
        os.fsync(new.fileno())
    left_out.flush()
    os.fsync(left_out.fileno())
    successor.replace(path)


def _entry_line(workspace_id: str, words: _Words) -> bytes:
    """An entry of the stream as a line: its workspace, its number, and its fields as they were stored."""
    entry_id, *fields = (word.decode(errors="replace") for word in words[2:])
    entry = {"workspaceId": workspace_id, "sequence": int(entry_id.partition("-")[0])}
    return msgspec.json.encode(entry | dict(zip(fields[::2], fields[1::2], strict=False))) + b"\n"


def _writes(path: Path) -> Iterator[tuple[int, list[tuple[int, int, _Words]]]]:
    """Where each write of the file begins, and its commands, each with its place; MULTI to EXEC is one write.

    Raises ValueError or TornError.
    """
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        place, is_open = 0, False
        commands: list[tuple[int, int, _Words]] = []
        while place < len(data):
            start = place
            if data[place : place + 1] == b"#":  # the time, if aof-timestamp-enabled
                words: _Words = ()
                place = data.find(b"\n", place) + 1 or len(data)
            else:
                words, place = command_at(data, place)
            name = words[0].upper() if words else b""
            commands.append((start, place, words))
            is_open = name == b"MULTI" or (is_open and name != b"EXEC")
            if not is_open:
                yield commands[0][0], commands
                commands = []
        if is_open:
            raise TornError
