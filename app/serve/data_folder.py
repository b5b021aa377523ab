"""The directory of the embedded store: the one that is set, or else one of this user, the same from every folder."""

import shlex
from pathlib import Path

from app.serve.server_binaries import has_been_served
from app.settings import Settings
from app.user_folder import user_folder

EARLIER = Path("var")
"""Where earlier builds kept the store by default, in whatever folder they were started."""


def data_folder(settings: Settings) -> Path:
    """`REMIT_DATA_DIR`, or else `remit` in the user's data directory; `var` here if only that contains a store.

    Raises SettingsError if nothing is set and this user has no home directory.
    """
    if settings.data_dir is not None:
        return Path(settings.data_dir)
    usual = _usual_folder()
    return EARLIER if has_been_served(EARLIER) and not has_been_served(usual) else usual


def store_in_words(settings: Settings) -> str:
    """The store that the settings name, without user and password."""
    return settings.store or f"embedded in {data_folder(settings)}"


def earlier_store(settings: Settings) -> str | None:
    """What to know about a store in `var` of this folder, if no setting names a directory; None if there is none."""
    if settings.data_dir is not None or not has_been_served(EARLIER):
        return None
    usual = _usual_folder()
    if has_been_served(usual):
        return f"{EARLIER}/ in this folder contains another store, which is not used; REMIT_DATA_DIR={EARLIER} uses it"
    source, target = shlex.quote(str(EARLIER.resolve())), shlex.quote(str(usual))
    return (
        f"{EARLIER}/ is used because it contains a store and {usual} does not; to find it from any folder, stop remit, "
        f"then mkdir -p {shlex.quote(str(usual.parent))} && mv -T {source} {target}"
    )


def _usual_folder() -> Path:
    return user_folder("XDG_DATA_HOME", ".local/share", "REMIT_DATA_DIR or REMIT_REDIS_URL")
