"""Where this user's store or session is: one folder, whatever folder a command runs in."""

import os
from pathlib import Path

from app.settings import SettingsError


def user_folder(variable: str, below_home: str, otherwise: str) -> Path:
    """`remit` in a base directory of this user, by the XDG specification, which ignores relative paths.

    variable: which one. below_home: where it is if that is not set. otherwise: what to set if there is no home.

    Raises SettingsError if this user has no home directory, or a relative one, which each folder would have.
    """
    given = os.environ.get(variable, "")
    if given.startswith("/"):
        return Path(given) / "remit"
    try:
        home = Path.home()
    except RuntimeError:
        raise SettingsError(f"{otherwise} must be set, because this user has no home directory") from None
    if not home.is_absolute():
        raise SettingsError(f"HOME must be an absolute path, and not {str(home)!r}, or {otherwise} must be set")
    return home / below_home / "remit"
