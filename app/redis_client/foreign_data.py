"""Foreign data in the store: keys of another type, and records that Remit cannot read."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from app.errors import StoreUnavailable

log = logging.getLogger(__name__)

_is_number = re.compile("[0-9]{1,15}", re.ASCII).fullmatch
_LARGEST = 253_402_300_799_999
"""The last ms of the year 9999, after which no time can be written; no count comes near it."""


class ForeignData(StoreUnavailable):
    """A key holds what Remit does not write: another type, bytes that are not UTF-8, or an unreadable record."""


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Raise ForeignData if what is read inside is not as Remit writes it, so that nothing is decided on it.

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
        raise ValueError(f"{text[:20]!r} is no count and no time")
    return int(text)
