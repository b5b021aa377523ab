"""Divergences: how often a shadow policy would have changed the result."""

from msgspec import Struct

from app.model.decisions import Result
from app.model.fields import Count
from app.model.policies import Policy


class DivergenceCount(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many calls with one result would have had another.

    result: The actual result.
    shadow_result: The result if the shadow policies had been enforced.
    count: How many calls.
    """

    result: Result
    shadow_result: Result
    count: Count


class PolicyDivergence(Struct, frozen=True):
    """A policy, and the calls whose result it would have changed since its last change."""

    policy: Policy
    counts: tuple[DivergenceCount, ...]
