"""Version numbers for optimistic concurrency: a change names the versions it may replace."""

Versions = frozenset[int] | None
"""The versions that a change may replace; None = any."""
