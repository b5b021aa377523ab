"""The directory of the embedded store: the one that is set, or else one of this user, the same from every folder."""

from pathlib import Path

from app.settings import Settings
from app.user_folder import user_folder


def data_folder(settings: Settings) -> Path:
    """`REMIT_DATA_DIR`, or else `remit` in the user's data directory.

    Raises SettingsError if nothing is set and this user has no home directory.
    """
    if settings.data_dir is not None:
        return Path(settings.data_dir)
    return user_folder("XDG_DATA_HOME", ".local/share", "REMIT_DATA_DIR or REMIT_REDIS_URL")


def store_in_words(settings: Settings) -> str:
    """The store that the settings name, without user and password."""
    return settings.store or f"embedded in {data_folder(settings)}"
