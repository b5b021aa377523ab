"""Divergences: how often a shadow policy would have given another result than the one that was given."""

from msgspec import Struct

from app.model.decisions import Result
from app.model.fields import Count
from app.model.policies import Policy


class DivergenceCount(Struct, frozen=True, kw_only=True, rename="camel"):
    """Calls with one result that would have had another.

    result: What was answered.
    shadow_result: What would have been answered if the shadow policies had been enforced.
    count: How many calls.
    """

    result: Result
    shadow_result: Result
    count: Count


class PolicyDivergence(Struct, frozen=True):
    """A policy, and where it made a difference since its last change."""

    policy: Policy
    counts: tuple[DivergenceCount, ...]
