"""Reports keys of the log that another program wrote as damage of the log."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import AuditLogDamaged
from app.redis_client.foreign_data import ForeignData


@contextmanager
def foreign_is_damage() -> Iterator[None]:
    """Raise AuditLogDamaged in place of ForeignData: asking again would not help, unlike when the store is down."""
    try:
        yield
    except ForeignData as error:
        raise AuditLogDamaged(f"The audit log cannot be read: {error.message}") from error
