"""What plays a row of clients/adapters.json: one driver for each framework.

calls: what the model calls in each of its answers: (id, arguments), one list for each. ran: what the tool ran with.
said: what the model has read of its last call. waits: whether something must be answered before the run goes on.
`start`, `resume`, `refuse`, `amend`, `again` and `restart` are the steps of that name.
"""

from __future__ import annotations

from typing import ClassVar

from cases import PATIENT

from remit_client import Remit

NAME = "refund_create"
SESSION = {"session": "s1"}
THREAD = {"configurable": {"thread_id": "s1"}}


class Driver:
    """CANNOT: by the name of a row, why the framework cannot play it.

    COMES_BACK: whether the framework can come back to a call; otherwise it plays only rows that do nothing but start.
    KEPT: what a program itself must keep, as JSON, so that another process can go on with the run. None: no other can.
    """

    CANNOT: ClassVar[dict[str, str]] = {}
    COMES_BACK = True
    KEPT: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, settings, agent, calls, pauses, delegates=False):
        self._settings, self.agent, self.calls = settings, agent, []
        self._pauses, self._delegates = pauses, delegates
        self.ran, self.said = [], ""
        self.script(calls)
        self.restart()

    def keep_in(self, folder):
        """From the next restart on, let the framework save there what it saves by itself."""

    def script(self, calls):
        """Make this what models call from now on: [id, amount], one list for each answer."""
        self.calls[:] = [[(call, {"amount": amount}) for call, amount in each] for each in calls]

    @property
    def waits(self):
        return bool(self._waiting)

    def restart(self):
        """Make everything anew, but for what the framework saves."""
        self._make(Remit(*self._settings, **PATIENT))
