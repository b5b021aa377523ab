"""Which tools a pattern covers."""

from collections.abc import Iterable


def covers(patterns: Iterable[str], tool: str) -> bool:
    """Whether any pattern covers the tool: its exact name, `prefix*` for names that continue the prefix, or `*`."""
    for pattern in patterns:
        if pattern in (tool, "*"):
            return True
        if pattern.endswith("*") and tool.startswith(pattern[:-1]) and len(tool) >= len(pattern):
            return True
    return False


def covering(patterns: Iterable[str], tool: str) -> str | None:
    """The first pattern that covers the tool; None if none does."""
    return next((pattern for pattern in patterns if covers((pattern,), tool)), None)
