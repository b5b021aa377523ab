"""The session that `remit login` saved, which commands use in place of an API key, and whom it gave ID tokens to."""

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


def given_to(issuer: str, client_id: str) -> str | None:
    """The service to which this machine gave the last ID token of the provider's client; None = it has given none."""
    try:
        found = json.loads(_given_path().read_text("utf-8"))[f"{issuer} {client_id}"]
        return found if isinstance(found, str) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def note_given(issuer: str, client_id: str, url: str) -> None:
    """From now on, the service at this URL is the one to which ID tokens of the client are given."""
    try:
        known = dict(json.loads(_given_path().read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        known = {}
    _write(_given_path(), known | {f"{issuer} {client_id}": url})


def key_for(url: str) -> str:
    """`REMIT_API_KEY`, or else the token of the session for this URL; "" if there is neither."""
    return os.environ.get("REMIT_API_KEY") or (read_saved(url) or {}).get("token", "")


def remember(url: str, token: str, until: str) -> None:
    """Save the session in place of any other."""
    _write(saved_path(), {"url": url, "token": token, "until": until})


def _given_path() -> Path:
    return saved_path().with_name("providers")


def _write(path: Path, content: dict[str, Any]) -> None:
    """Replace the file, which only its owner may read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(content, file)
    made.replace(path)


def forget() -> None:
    """Remove the file."""
    saved_path().unlink(missing_ok=True)
