"""Replies of the store in the form that callers use."""

from typing import Any

from app.errors import StoreUnavailable
from app.redis_client.foreign_data import number_of
from app.redis_client.scripts import Script

_DIGITS = 18
"""More digits than any counter or time in ms has."""


def as_record(reply: dict[str, str] | list[str]) -> dict[str, str]:
    """A hash from a reply: a flat list, or the dict that redis-py made of it."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))


def info_of(reply: dict[str, object] | str) -> dict[str, str]:
    """A node's INFO: a string, or the dict that redis-py made of it."""
    if isinstance(reply, dict):
        return {name: str(value) for name, value in reply.items()}
    return dict(line.split(":", 1) for line in reply.splitlines() if ":" in line)


def number_or_none(text: str | None) -> int | None:
    return None if text is None else number_of(text)


def count_of(raw: bytes | None) -> int:
    """The number in an undecoded reply; 0 if it is missing or not a number that our counters can hold."""
    return int(raw) if raw is not None and raw.isdigit() and len(raw) <= _DIGITS else 0


def check_reply(script: Script, reply: Any) -> list[Any]:
    """The reply, if the script can give it; raises StoreUnavailable otherwise, as such a store cannot be trusted."""
    if not is_reply(script, reply):
        raise StoreUnavailable(f"The store gave a reply that the script {script.name} cannot give")
    checked: list[Any] = reply
    return checked


def is_reply(script: Script, reply: Any) -> bool:
    """Whether the script can give this reply."""
    return isinstance(reply, list) and len(reply) == script.width and reply[0] in script.replies
