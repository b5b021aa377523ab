"""Which tools a pattern covers."""

from collections.abc import Iterable


def covers(patterns: Iterable[str], tool: str) -> bool:
    """Whether any pattern covers the tool: the exact name, `prefix.*` or `*`. Case-sensitive."""
    for pattern in patterns:
        if pattern in (tool, "*"):
            return True
        if pattern.endswith(".*") and tool.startswith(pattern[:-1]) and len(tool) > len(pattern) - 1:
            return True
    return False
