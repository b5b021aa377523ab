"""Asks Remit before an AI agent's tool runs.

`Remit` and `AsyncRemit` ask; `.guard` runs a tool only if it is allowed. Adapters for frameworks are separate
modules, such as `remit_client.langchain`; `remit-client mcp` sits between any MCP client and server.
"""

from remit_client._async.client import AsyncRemit
from remit_client._async.guard import AsyncGuard
from remit_client._sync.client import Remit
from remit_client._sync.guard import Guard
from remit_client.errors import (
    ApprovalPending,
    Denied,
    Interrupted,
    MalformedAnswer,
    NotAllowed,
    NotAnOutage,
    Refused,
    RemitError,
    Throttled,
    Unavailable,
)
from remit_client.models import Approval, ApprovalRef, Decision, RuleRef

__all__ = [
    "Approval",
    "ApprovalPending",
    "ApprovalRef",
    "AsyncGuard",
    "AsyncRemit",
    "Decision",
    "Denied",
    "Guard",
    "Interrupted",
    "MalformedAnswer",
    "NotAllowed",
    "NotAnOutage",
    "Refused",
    "Remit",
    "RemitError",
    "RuleRef",
    "Throttled",
    "Unavailable",
]
