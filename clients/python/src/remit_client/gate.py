"""`Gate` and `AsyncGate`: adapters find a call's session and place; a gate judges it and says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_client._async.client import AsyncRemit
from remit_client._async.gate import AsyncGate
from remit_client._sync.client import Remit
from remit_client._sync.gate import Gate
from remit_client.enforcement import Options, async_enforcer, enforcer
from remit_client.verdicts import Place, Refused, Run, Verdict, Waits

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["AsyncGate", "Gate", "Options", "Place", "Refused", "Run", "Verdict", "Waits", "async_gate", "gate"]


def async_gate(remit: Remit | AsyncRemit, agent: str, **options: Unpack[Options]) -> AsyncGate:
    """A gate for `await`, made from either client."""
    return AsyncGate(async_enforcer(remit, agent, **options))


def gate(remit: Remit | AsyncRemit, agent: str, **options: Unpack[Options]) -> Gate:
    """A gate for threads, made from either client."""
    return Gate(enforcer(remit, agent, **options))
