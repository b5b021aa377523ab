"""The session that `remit login` saved, which commands use in place of an API key."""

import json
import os
from pathlib import Path
from typing import Any

from app.user_folder import user_folder


def saved_path() -> Path:
    """The file with the session; only its owner may read it. Raises SettingsError without a home directory."""
    return user_folder("XDG_CONFIG_HOME", ".config", "REMIT_API_KEY or XDG_CONFIG_HOME") / "session"


def read_saved(url: str) -> dict[str, Any] | None:
    """The session for the service at this URL; None if there is none, or the file cannot be read."""
    try:
        saved = json.loads(saved_path().read_text("utf-8"))
        return saved if saved["url"] == url and isinstance(saved["token"], str) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def key_for(url: str) -> str:
    """`REMIT_API_KEY`, or else the token of the session for this URL; "" if there is neither."""
    return os.environ.get("REMIT_API_KEY") or (read_saved(url) or {}).get("token", "")


def remember(url: str, token: str, until: str) -> None:
    """Save the session in place of any other."""
    path = saved_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"url": url, "token": token, "until": until}, file)
    made.replace(path)


def forget() -> None:
    """Remove the file."""
    saved_path().unlink(missing_ok=True)
