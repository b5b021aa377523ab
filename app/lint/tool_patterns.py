"""Relations between sets of tools, derived from their patterns: exact names, `prefix*`, `*`."""

from collections.abc import Iterable, Sequence


def _parts(pattern: str) -> tuple[str, bool]:
    """The fixed part, and whether more may follow it."""
    return (pattern[:-1], True) if pattern.endswith("*") else (pattern, False)


def pattern_within(inner: str, outer: str) -> bool:
    """Whether `outer` covers every tool that `inner` covers."""
    (inner_text, inner_open), (outer_text, outer_open) = _parts(inner), _parts(outer)
    if not outer_open:
        return inner == outer
    return inner_text.startswith(outer_text) and (inner_open or _is_longer(inner_text, outer_text))


def patterns_meet(one: str, other: str) -> bool:
    """Whether both cover some tool."""
    (text, is_open), (other_text, other_open) = _parts(one), _parts(other)
    if is_open and other_open:
        return text.startswith(other_text) or other_text.startswith(text)
    return pattern_within(one, other) or pattern_within(other, one)


def tools_meet(some: Iterable[str], others: Sequence[str]) -> bool:
    """Whether both lists of patterns cover some tool."""
    return any(patterns_meet(one, other) for one in some for other in others)


def first_not_within(inner: Iterable[str], outer: Sequence[str]) -> str | None:
    """The first pattern of `inner` that no single pattern of `outer` covers; None if each is covered."""
    return next((one for one in inner if not any(pattern_within(one, other) for other in outer)), None)


def _is_longer(name: str, prefix: str) -> bool:
    # `file.*` does not cover `file.`, whose group has no tool in it; `get_*` does cover `get_`.
    return len(name) > len(prefix) or not prefix.endswith(".")
