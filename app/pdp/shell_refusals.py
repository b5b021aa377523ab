"""Entries of `deny`, and commands that run others, so that nothing here can tell what they run."""

import re
from collections.abc import Iterator

from msgspec import UNSET

from app.language.shell_lines import Command, Lines, commands_of
from app.language.shell_surroundings import (
    EVALUATES,
    HARMLESS_VARIABLES,
    INTERPRETERS,
    OF_SHELL,
    RUN_BY_FLAG,
    RUN_BY_WORD,
    RUNNERS,
    VIA,
)
from app.model.command_constraint import DeniedCommand, several
from app.pdp.clauses import shown

_DURATION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,3})?[smhd]?").fullmatch
_NICENESS = re.compile(r"-?[0-9]{1,2}").fullmatch


class Denied:
    """One entry of `deny`, ready to judge."""

    def __init__(self, denied: DeniedCommand) -> None:
        self._runs = frozenset(map(str.lower, several(denied.run)))
        self._words = tuple(
            frozenset(map(str.lower, several(each))) for each in (denied.first, denied.second) if each is not UNSET
        )
        self._flags = tuple(several(denied.flags))

    def matches(self, words: tuple[str, ...]) -> bool:
        """True if a command with these words is one of those that are refused."""
        if not words or words[0].rpartition("/")[2].lower() not in self._runs:
            return False
        given = [word.lower() for word in words[1:]]
        for wanted in self._words:
            # Behind options, whose values are not known, any word can be the one that says what is done.
            if given[:1] and given[0] in wanted:
                del given[0]
            elif not (given[:1] and given[0][:1] == "-") or wanted.isdisjoint(given):
                return False
        return not self._flags or any(_is_flag_in(flag, word) for flag in self._flags for word in words[1:])


def _is_flag_in(flag: str, word: str) -> bool:
    """True if a word may stand for the flag: among letters, in any letter case, or as an abbreviation."""
    name = word.partition("=")[0].lower()
    if flag.startswith("--"):
        return name.startswith("--") and name != "--" and flag.lower().startswith(name)
    if name.startswith("--"):
        return name[2:3] == flag[1].lower()
    return name[:1] == "-" and flag[1:].lower() in name


def unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without `timeout N`, `nice -n N` and `time` before them."""
    while True:
        if words[:1] == ("time",) and words[1:] and words[1][:1] != "-":
            words = words[1:]
        elif words[:1] == ("timeout",) and words[2:] and _DURATION(words[1]):
            words = words[2:]
        elif words[:2] == ("nice", "-n") and words[3:] and _NICENESS(words[2]):
            words = words[3:]
        else:
            return words


def inner(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of what really runs, as far as it is plain."""
    while True:
        inner = unwrapped(words)
        for length in VIA_LENGTHS.get(inner[0].rpartition("/")[2], ()) if inner else ():
            if len(inner) > length and inner[length][:1] != "-" and _via(inner[:length]) in VIA_WORDS:
                inner = inner[length:]
                break
        if inner == words:
            return words
        words = inner


def _via(words: tuple[str, ...]) -> tuple[str, ...]:
    return (words[0].rpartition("/")[2], *words[1:])


VIA_WORDS = frozenset(VIA.values())
VIA_LENGTHS: dict[str, tuple[int, ...]] = {
    head: tuple(sorted({len(each) for each in VIA_WORDS if each[0] == head})) for head, *_ in VIA_WORDS
}


def simple_commands(lines: Lines) -> Iterator[Command]:
    """Yield every command of a line that is no group."""
    return (each for each in commands_of(lines) if isinstance(each, Command))


def why_unread(command: Command) -> str | None:
    """Why a command can run others that its words do not show; None if it does not look like it."""
    for name, _ in command.assignments:
        if name not in HARMLESS_VARIABLES:
            return f"sets {shown(name)}, which can change what runs"
    words = inner(command.words)
    if not words:
        return None
    program = words[0].rpartition("/")[2].lower()
    given = {word.partition("=")[0] for word in words[1:]}
    if program in RUNNERS or ("/" not in words[0] and program in _CHANGES_SHELL):
        return f"contains {shown(program)}, which runs other commands"
    flags = RUN_BY_FLAG.get(program, EVALUATES if INTERPRETERS(program) else _NO_FLAGS)
    if not flags.isdisjoint(given) or (program, words[1] if len(words) > 1 else "") in RUN_BY_WORD:
        return f"contains {shown(program)} with words that can make it run others"
    return None


_CHANGES_SHELL = OF_SHELL - {
    "cd",
    "pushd",
    "popd",
    "dirs",
    "exit",
    "logout",
    "wait",
    "jobs",
    "times",
    "umask",
    "ulimit",
}
_NO_FLAGS = frozenset[str]()
