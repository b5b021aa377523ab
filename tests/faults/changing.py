"""Changes something repeatedly while a test breaks things."""

import contextlib
from typing import Any

import httpx
from background import Background
from topologies import until


class Changing(Background):
    """Calls `change` in a separate thread, again and again, `pause_s` apart, even if there is no answer.

    acknowledged: what it was told of, as `change` keeps it.
    """

    pause_s = 0.01

    def __init__(self, witness, path: str) -> None:
        super().__init__()
        self.acknowledged: list[Any] = []
        self.path = path
        self.admin = witness.replica.client(witness.tenant.admin_key)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.admin.close()

    def change(self) -> None:
        """One change."""
        raise NotImplementedError

    def after(self, count: int) -> None:
        wanted = len(self.acknowledged) + count
        until(lambda: len(self.acknowledged) >= wanted, f"{count} more changes are acknowledged", 120)

    def _run(self, _number: int) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(httpx.HTTPError):
                self.change()
            self._stopping.wait(self.pause_s)
