"""The core of every adapter: `Enforcer` and `AsyncEnforcer` let allowed calls through and raise otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from remit_client._async.client import AsyncRemit
from remit_client._async.enforcement import AsyncEnforcer, Context, OnUnavailable, RecordsOf, ToolName
from remit_client._sync.client import Remit
from remit_client._sync.enforcement import Enforcer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["AsyncEnforcer", "Context", "Enforcer", "Options", "RecordsOf", "UserOptions", "async_enforcer", "enforcer"]


class Options(TypedDict, total=False):
    """Options of every adapter, besides the client and the agent; see `Enforcer`."""

    context: Context
    wait: float
    on_unavailable: OnUnavailable
    report_outcome: bool
    records: RecordsOf | None
    tool_name: ToolName
    named: bool


class UserOptions(Options, total=False):
    """Options of adapters that know what the user has said. It is sent as `context.request` if `user_request` is on."""

    user_request: bool


def async_enforcer(remit: Remit | AsyncRemit, agent: str, **options: Unpack[Options]) -> AsyncEnforcer:
    """An enforcer for `await`, made from either client."""
    return AsyncEnforcer(AsyncRemit.of(remit), agent, **options)


def enforcer(remit: Remit | AsyncRemit, agent: str, **options: Unpack[Options]) -> Enforcer:
    """An enforcer for threads, made from either client."""
    return Enforcer(Remit.of(remit), agent, **options)
