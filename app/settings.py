"""Everything that may differ between two deployments, read once from REMIT_* and passed down."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

PREFIX = "REMIT_"
RAW_KEY = r"^svc_[0-9a-f]{32}$"


class SettingsError(ValueError):
    """A REMIT_* variable is unknown or has a value that cannot be used; the message names it."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A deployment's settings. `docs/operations.md` lists them; a test compares the two."""

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    """Address to listen on. The default is reachable from this machine alone."""

    port: Annotated[int, Meta(ge=1, le=65535)] = 8080
    """Port to listen on."""

    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    """Processes that share the port; each is a replica of its own."""

    redis_url: str | None = None
    """Redis or Valkey to keep everything in; unset: a store of our own in `data_dir`."""

    data_dir: str = "var"
    """Where the embedded store keeps its files."""

    bootstrap_key: Annotated[str, Meta(pattern=RAW_KEY)] | None = None
    """Workspace `default` is made sure to exist with this admin key (svc_ + 32 hex digits)."""

    store_timeout_ms: Annotated[int, Meta(ge=10, le=10_000)] = 250
    """A store silent for this long is unavailable: the caller gets 503."""

    agent_cache_bytes: Annotated[int, Meta(ge=0)] = 64 * 1024 * 1024
    """Bound of the compiled policies a replica keeps, in bytes of their JSON; least recently used leave."""

    caller_cache_size: Annotated[int, Meta(ge=0)] = 10_000
    """API keys whose workspace and scopes a replica remembers; least recently used leave."""

    audit_backlog_max: Annotated[int, Meta(ge=1_000)] = 2_000_000
    """Unsealed entries of one workspace beyond which authorize answers 503 rather than fill the store."""

    redact: str = (
        "password,passwd,passphrase,secret,token,api_key,apikey,access_key,private_key,authorization,"
        "credential,credentials,cookie,otp,pin,cvv,ssn"
    )
    """Words, by comma; a parameter whose name contains one of them is stored as "[REDACTED]"."""

    log_level: Annotated[str, Meta(pattern="^(debug|info|warning|error)$")] = "info"
    """debug, info, warning or error."""

    @property
    def data_path(self) -> Path:
        return Path(self.data_dir)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Settings":
        """The settings that `env` gives. Raises SettingsError naming the variable at fault."""
        given = {k[len(PREFIX) :].lower(): v for k, v in env.items() if k.startswith(PREFIX)}
        known = {field.name for field in msgspec.structs.fields(cls)}
        for name in sorted(given.keys() - known):
            raise SettingsError(f"{PREFIX}{name.upper()} is not a setting; the settings are {', '.join(names())}")
        try:
            return msgspec.convert(given, cls, strict=False)
        except msgspec.ValidationError as error:
            raise SettingsError(_sentence(str(error), given)) from None


def names() -> list[str]:
    """The environment variables that are read, in the order of the struct."""
    return [PREFIX + field.name.upper() for field in msgspec.structs.fields(Settings)]


def _sentence(message: str, given: Mapping[str, Any]) -> str:
    """The message with the variable's name, and without the value where it is a secret."""
    match = re.search(r" - at `\$\.(\w+)`$", message)
    if match is None:
        return message
    name = match[1]
    shown = "" if name in {"bootstrap_key", "redis_url"} else f" (it is {given[name]!r})"
    return f"{PREFIX}{name.upper()}: {message[: match.start()]}{shown}"
