"""Shell lines beside those of earlier calls: by the programs that they run, and the flags of each."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from app.language.ambiguous import Ambiguous
from app.language.confusables import edits, skeleton
from app.language.shell_lines import Command, Group, commands_of, read_line
from app.model.text import counted
from app.model.usual import Difference, UsualText

_SHORT = 3
"""A program with fewer letters is near to too many others."""
_LISTED = 3


class Program(NamedTuple):
    """A program of a line, and the flags that it gets, without their values; `-la` is one flag."""

    name: str
    flags: frozenset[str]


class LineFound(NamedTuple):
    """What is unusual about a line."""

    kind: Difference
    words: str
    nearest: UsualText | None = None


class SeenLines:
    """The lines that earlier calls had at one place."""

    def __init__(self) -> None:
        self._programs = Counter[str]()
        self._flags = defaultdict[str, Counter[str]](Counter)

    def add(self, line: str) -> None:
        """Count the programs and flags of one more line; one that cannot be read counts for nothing."""
        found = programs_of(line) or []
        self._programs.update({each.name for each in found})
        for name, flags in {(each.name, each.flags) for each in found}:
            self._flags[name].update(flags)

    def beside(self, line: str) -> LineFound | None:
        """What no earlier line had: a program, or a flag of one. The first of them, a look-alike before all others."""
        own = programs_of(line)
        if own is None or not self._programs:
            return None
        unseen = [each.name for each in own if each.name not in self._programs]
        for name in unseen:
            if (twin := self._twin(name)) is not None:
                count = self._programs[twin]
                nearest = UsualText(twin, count)
                return LineFound(
                    Difference.LOOK_ALIKE,
                    f"runs {name}, which looks like {twin} ({counted(count, 'earlier call')})",
                    nearest,
                )
        if unseen:
            usual = ", ".join(name for name, _ in self._programs.most_common(_LISTED))
            return LineFound(Difference.NEW, f"runs {unseen[0]}, which no earlier call did; usual: {usual}")
        for name, flags in own:
            for flag in sorted(flags - self._flags[name].keys()):
                return LineFound(
                    Difference.NEW,
                    f"{name} with {flag}, which {counted(self._programs[name], 'earlier call')} did not have",
                )
        return None

    def _twin(self, name: str) -> str | None:
        """The program that this one could be taken for."""
        same = skeleton(name)
        near = [each for each in self._programs if skeleton(each) == same]
        if not near and len(name) >= _SHORT:
            near = [each for each in self._programs if len(each) >= _SHORT and edits(name, each, 1) is not None]
        return max(near, key=lambda each: self._programs[each], default=None)


def programs_of(line: str) -> list[Program] | None:
    """The programs that a line runs, in its order; None if it cannot be read in one way."""
    try:
        parts = list(commands_of(read_line(line)))
    except Ambiguous:
        return None
    return list(_programs(parts))


def _programs(parts: Sequence[Command | Group]) -> Iterator[Program]:
    for part in parts:
        if isinstance(part, Command) and part.words:
            name, *words = part.words
            ends = words.index("--") if "--" in words else len(words)
            flags = (word.partition("=")[0] for word in words[:ends] if word.startswith("-") and len(word) > 1)
            yield Program(name, frozenset(flags))
