"""Calls of MCP whose server asks its client. Since 2026-07-28, each answer is a request of its own, a leg of a call."""

from __future__ import annotations

import secrets
from collections import deque

from remit_client.models import Json
from remit_client.verdicts import name_of

LEGS_MAX = 10_000
Asked = tuple[str, str, Json]
"""Agent, tool and arguments, which all legs of a call have."""


class Legs:
    """The places of calls whose server has asked something: each question lets one more leg pass, with its state.

    What a client writes is not enough for that: a leg without a question, or that is sent again, is a call of its own.
    So is the next leg of the oldest, if more than LEGS_MAX wait for one.
    """

    def __init__(self) -> None:
        self._expected: deque[tuple[str, list[str]]] = deque(maxlen=LEGS_MAX)

    def place(self, asked: Asked, *, answers: bool, state: str | None) -> list[str]:
        """That of the call that the leg goes on with, or a new one. answers: it says that it answers a question."""
        if answers:
            leg = name_of(*asked, [state])
            for each in self._expected:
                if each[0] == leg:
                    self._expected.remove(each)
                    return each[1]
        return [secrets.token_hex(16)]

    def expect(self, asked: Asked, place: list[str], state: str | None) -> None:
        """The server has asked, and given this state, which comes back with the answer."""
        self._expected.append((name_of(*asked, [state]), place))
