"""Replies of the store in the form that callers use: records, errors, and data that Remit did not write."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from redis import exceptions

from app.errors import StoreUnavailable
from app.redis_client.scripts import Script
from app.redis_client.tls import tls_fault

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
    """The number in an undecoded reply; 0 if it is missing or not a number that our counters can reach."""
    return int(raw) if raw is not None and raw.isdigit() and len(raw) <= _DIGITS else 0


def check_reply(script: Script, reply: Any) -> list[Any]:
    """The reply, if the script can give it; raises StoreUnavailable otherwise, as such a store cannot be trusted."""
    if not is_reply(script, reply):
        raise StoreUnavailable(f"The store gave a reply that the script {script.name} cannot give")
    checked: list[Any] = reply
    return checked


def is_reply(script: Script, reply: Any) -> bool:
    """True if the script can give this reply."""
    if type(reply) is not list or not reply or reply[0] not in script.replies:
        return False
    added = len(reply) - len(script.elements)
    return not added or (added > 0 and added % 2 == 0 and all(name in script.adds for name in reply[-added::2]))


_WRONG_TYPE = re.compile(r"(?:.* of pipeline caused error: [(']*)?WRONGTYPE ", re.DOTALL).match

_denied_in_script = re.compile("The user executing the script can't run |ACL failure in script").search
"""The words of Redis 7.0 and of Valkey; both give the code ERR."""


def describe_fault(error: BaseException) -> str:
    """A public sentence: the leading code of a store's error, never its text, which may contain arguments."""
    if (fault := tls_fault(error)) is not None:
        return fault
    if _refuses_slots(error):
        return "The store is not a cluster, or refuses to say where its slots are; check REMIT_REDIS_URL and its user"
    if _denied_in_script(str(error)):
        return "The store's user may not run a command of a script (NOPERM); what the script did before is not undone"
    text = str(error).partition(" ")[0]
    # redis-py removes the code if it has a class for it.
    code = getattr(error, "status_code", None) or (text if text.isupper() else type(error).__name__)
    if isinstance(error, exceptions.ResponseError) or code is text:
        return f"The store refused the command ({code}); nothing was done"
    return f"The store did not answer ({type(error).__name__}); whether it did what was asked is not known"


def is_foreign(error: BaseException) -> bool:
    """True if the store reports that a key has the wrong type for the command."""
    return isinstance(error, exceptions.ResponseError) and _WRONG_TYPE(str(error)) is not None


class StoreAway(StoreUnavailable):
    """The store does not answer, is loading or full of clients, or its cluster is down; that passes by itself."""


_REFUSED = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.MaxConnectionsError)
_AWAY = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.RedisClusterException,
    exceptions.ClusterDownError,
    OSError,
)


def is_away(error: BaseException) -> bool:
    """True if the error is one that StoreAway stands for."""
    lasts = isinstance(error, _REFUSED) or tls_fault(error) is not None or _refuses_slots(error)
    return isinstance(error, _AWAY) and not lasts


def _refuses_slots(error: BaseException | None) -> bool:
    """True if no layout of a cluster can be read because the store has answered with an error that does not pass."""
    if not isinstance(error, exceptions.RedisClusterException):
        return False
    while (error := error.__cause__ or error.__context__) is not None:
        if isinstance(error, exceptions.ResponseError):
            return not isinstance(error, _AWAY)
    return False


log = logging.getLogger(__name__)

_is_number = re.compile("[0-9]{1,15}", re.ASCII).fullmatch
_LARGEST = 253_402_300_799_999
"""The last ms of the year 9999, after which no time can be written; no count comes near it."""


class ForeignData(StoreUnavailable):
    """Remit has not written this value: it has another type, is not UTF-8, or is an unreadable record."""


@contextmanager
def decoding_record(what: str) -> Iterator[None]:
    """Turn errors while decoding into ForeignData, so that nothing is decided on a record that Remit did not write.

    what: the record, for people.
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, OverflowError, msgspec.MsgspecError) as error:
        log.warning("%s cannot be read: %s: %s", what, type(error).__name__, error)
        raise ForeignData(f"{what} in the store is not as Remit writes it; nothing was done") from error


def number_of(text: str) -> int:
    """A count, or a time in ms, as Remit stores it. Raises ValueError for anything else."""
    if not _is_number(text) or int(text) > _LARGEST:
        raise ValueError(f"{text[:20]!r} is neither a count nor a time")
    return int(text)
