"""The connections of the sync and the async `plain_http` between two requests."""

from __future__ import annotations

import contextlib
from typing import Generic, Protocol, TypeVar

MOST_IDLE = 20


class Reusable(Protocol):
    """A connection that may carry another request. stays_open: whether the server allows it."""

    stays_open: bool

    def is_fresh(self) -> bool:
        """Whether another request can be sent: the server has not closed the connection or sent anything unasked."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


_Connection = TypeVar("_Connection", bound=Reusable)


class IdleConnections(Generic[_Connection]):
    """Open connections that carry no request. Threads may share them: to append and to pop is atomic."""

    def __init__(self) -> None:
        self._idle: list[_Connection] = []

    def take(self) -> _Connection | None:
        """The usable connection that was used last, if there is one."""
        with contextlib.suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.is_fresh():
                    return connection
                connection.close()
        return None

    def keep(self, connection: _Connection) -> None:
        """Keep the connection for another request if the server allows it and there is room; otherwise close it."""
        if connection.stays_open and len(self._idle) < MOST_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close them all."""
        with contextlib.suppress(IndexError):  # another thread may be faster
            while True:
                self._idle.pop().close()
