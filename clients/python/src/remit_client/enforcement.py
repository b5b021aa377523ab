"""The core under every adapter: `Enforcer` and `AsyncEnforcer` let through what Remit allows, and raise otherwise."""

from remit_client._async.enforcement import AsyncEnforcer, Context
from remit_client._sync.enforcement import Enforcer

__all__ = ["AsyncEnforcer", "Context", "Enforcer"]
