"""Files written whole or not at all."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click


@contextmanager
def atomic_output(name: str) -> Iterator[BinaryIO]:
    """The file has the new content once the block ends; if the block fails, it is unchanged.

    Until then the content is in `<name>.part` beside it. `-` is standard output; that, a pipe and a device receive
    every write at once. Raises ClickException.
    """
    if name == "-":
        yield sys.stdout.buffer
        return
    path = Path(name)
    is_stream = path.exists() and not path.is_file()
    if not is_stream:
        path = path.resolve()  # a symbolic link stays; the file it points to is replaced
    unfinished = path if is_stream else path.with_name(f"{path.name}.part")
    try:
        file = unfinished.open("wb")
    except OSError as error:
        raise click.FileError(name, error.strerror or "") from None
    if is_stream:
        with file:
            yield file
        return
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, unfinished)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
