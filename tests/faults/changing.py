"""Changes something again and again, while everything breaks."""

import contextlib
import threading
from typing import Any, Self

import httpx
from topologies import until


class Changing:
    """Calls `change` in a separate thread, again and again, `pause_s` apart, even if there is no answer.

    acknowledged: what it was told of, as `change` keeps it.
    """

    pause_s = 0.01

    def __init__(self, witness, path: str) -> None:
        self.acknowledged: list[Any] = []
        self.path = path
        self.admin = witness.replica.client(witness.tenant.admin_key)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(30)
        self.admin.close()

    def change(self) -> None:
        """One change."""
        raise NotImplementedError

    def after(self, count: int) -> None:
        wanted = len(self.acknowledged) + count
        until(lambda: len(self.acknowledged) >= wanted, f"{count} more changes are acknowledged")

    def _run(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(httpx.HTTPError):
                self.change()
            self._stopping.wait(self.pause_s)
