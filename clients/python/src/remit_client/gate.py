"""`Gate` and `AsyncGate`: adapters say what a framework's call is; a gate judges it and says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_client._async.client import AsyncRemit
from remit_client._async.gate import AsyncGate
from remit_client._sync.client import Remit
from remit_client._sync.gate import Gate
from remit_client.enforcement import Options, UserOptions, async_enforcer, enforcer
from remit_client.verdicts import Framework, Place, Refused, Run, ToolCall, Verdict, Waits, message_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "AsyncGate",
    "Framework",
    "Gate",
    "Options",
    "Place",
    "Refused",
    "Run",
    "ToolCall",
    "UserOptions",
    "Verdict",
    "Waits",
    "async_gate",
    "gates",
    "message_of",
]
PLAIN = Framework()


def async_gate(
    remit: Remit | AsyncRemit,
    agent: str,
    framework: Framework = PLAIN,
    *,
    user_request: bool = False,
    **options: Unpack[Options],
) -> AsyncGate:
    """A gate for `await`, made from either client."""
    return AsyncGate(async_enforcer(remit, agent, **options), framework, user_request=user_request)


def gates(
    remit: Remit | AsyncRemit,
    agent: str,
    framework: Framework = PLAIN,
    *,
    user_request: bool = False,
    **options: Unpack[Options],
) -> tuple[Gate, AsyncGate]:
    """A gate for threads and one for `await`, made from either client, for frameworks that have both."""
    judging = Gate(enforcer(remit, agent, **options), framework, user_request=user_request)
    return judging, async_gate(remit, agent, framework, user_request=user_request, **options)
