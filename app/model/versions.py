"""Versions of what callers change: numbers that tell whether somebody else was faster."""

Versions = frozenset[int] | None
"""What the version must be one of for a change to be made; None = it may be any."""
