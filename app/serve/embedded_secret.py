"""The secret of an embedded store: created once, kept beside the store's files, never in them."""

import contextlib
import os
import secrets
from pathlib import Path

from app.settings import MIN_SECRET_BYTES, SettingsError

_NAME = "secret"


def embedded_secret(folder: Path) -> str:
    """The secret of this data directory, created if it is missing. Only the user who runs this can read it.

    It is written whole or not at all, even in a crash. The caller must hold the folder's lock. Raises SettingsError.
    """
    path = folder / _NAME
    try:
        if not path.exists():
            _write(path, secrets.token_hex(MIN_SECRET_BYTES))
        secret = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"REMIT_DATA_DIR: {path} cannot be used ({error}); REMIT_SECRET gives another") from None
    if len(secret) < MIN_SECRET_BYTES:
        raise SettingsError(
            f"REMIT_DATA_DIR: {path} contains no secret of {MIN_SECRET_BYTES} bytes; restore or remove it"
        )
    return secret


def _write(path: Path, secret: str) -> None:
    draft = path.with_name(f"{_NAME}.new")
    with contextlib.suppress(FileNotFoundError):
        draft.unlink()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{secret}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
