"""Which commands of a shell line may run: each is judged with its words, files, and the directory in which it runs.

Nothing here touches a disk: a symbolic link in the project can lead anywhere.
"""

import re
from collections.abc import Iterator

from msgspec import UNSET, Struct, UnsetType

from app.language.ambiguous import Ambiguous
from app.language.paths import canonical_path
from app.language.shell_lines import ERRORS_TOO, Command, Group, Lines, commands_of, read_line
from app.language.shell_surroundings import (
    EVALUATES,
    HARMLESS_VARIABLES,
    INTERPRETERS,
    OF_SHELL,
    RUN_BY_FLAG,
    RUN_BY_WORD,
    RUNNERS,
    VIA,
    is_harmless_value,
)
from app.model.command_constraint import CommandConstraint, DeniedCommand, several
from app.model.context_roots import is_home
from app.pdp.clauses import shown
from app.pdp.shell_entries import NULL, READERS, Entry, joined, outside

_MAX_DIRECTORIES = 8
_MAX_AGAIN = 128
"""Words that are judged more than once, because a `cd` before them may have failed."""

_DURATION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,3})?[smhd]?").fullmatch
_NICENESS = re.compile(r"-?[0-9]{1,2}").fullmatch
_IS_NO_CDPATH = re.compile(r"(?:/|\.\.?/|\.\.?\Z)").match


class JudgedCommand(Struct, frozen=True):
    """One command of a line. text: as it stands there. why: why it does not pass; None if it does.

    command: None for what is redirected of a group.
    """

    text: str
    why: str | None
    command: Command | None


class Places(Struct, frozen=True):
    """Where a line runs. root, start: canonical paths; the start lies in the root."""

    root: str
    start: str


def places_of(root: str, start: str) -> Places:
    """The places of a line. Raises Ambiguous if the root is no project's, or the start does not lie in it."""
    canonical_root, canonical_start = canonical_path(root), canonical_path(start)
    if is_home(canonical_root):
        raise Ambiguous("has a home or the whole disk as its root")
    why = outside(canonical_start, canonical_root, canonical_root, READERS)
    if why is not None:
        raise Ambiguous(f"starts in a directory that {why}")
    return Places(canonical_root, canonical_start)


class CommandJudge:
    """Judges lines by one constraint."""

    def __init__(self, constraint: CommandConstraint) -> None:
        self._has_allow = constraint.allow is not UNSET
        self._env = frozenset(several(constraint.env))
        self._allowed = dict[str, list[Entry]]()
        allow = () if isinstance(constraint.allow, UnsetType) else constraint.allow
        for allowed in allow:
            entry = Entry(allowed)
            for program in several(allowed.run):
                self._allowed.setdefault(program.rpartition("/")[2], []).append(entry)
        self._denied = tuple(map(Denied, () if isinstance(constraint.deny, UnsetType) else constraint.deny))
        self._may_be_denied = _BEFORE_OTHERS.union(*(each.runs for each in self._denied))

    def first_failure(self, line: str, places: Places | None) -> tuple[str, str] | None:
        """The first command that does not pass and why; None if all pass. Raises Ambiguous if it cannot be read.

        places: None if only `deny` judges. A command that is refused comes before one that runs others.
        """
        lines, runs_others = read_line(line), None
        for command in simple_commands(lines) if self._denied else ():
            if (why := self._why_denied(command)) is not None:
                return command.text, why
        for judged in self._each(lines, places):
            if judged.why is None:
                continue
            why = None if judged.command is None else why_unread(judged.command)
            if why is None:
                return judged.text, judged.why
            runs_others = runs_others or why
        if runs_others is not None:
            raise Ambiguous(runs_others)
        return None

    def commands(self, line: str, places: Places | None) -> list[JudgedCommand]:
        """Every command of the line, in order. Raises Ambiguous if it cannot be read."""
        return [
            JudgedCommand(each.text, (each.command and self._why_denied(each.command)) or each.why, each.command)
            for each in self._each(read_line(line), places)
        ]

    def _each(self, lines: Lines, places: Places | None) -> Iterator[JudgedCommand]:
        """Every command, by `allow` if there is one, else by whether it can be read."""
        if not self._has_allow:
            return (JudgedCommand(each.text, why_unread(each), each) for each in simple_commands(lines))
        if places is None:
            raise Ambiguous("runs in a directory that is not known")
        return Walk(self, places).walk(lines)

    def _why_denied(self, command: Command) -> str | None:
        if not command.words or command.words[0].rpartition("/")[2].lower() not in self._may_be_denied:
            return None
        words = inner(command.words)
        return "the policy denies it" if any(each.matches(words) for each in self._denied) else None

    def why_not(self, command: Command, places: Places, directory: str) -> str | None:
        """Why a command may not run in this directory; None if it may."""
        for name, value in command.assignments:
            if name not in self._env:
                return f"it sets {name}"
            if not is_harmless_value(value):
                return f"it sets {name} to more than a plain word"
        words = unwrapped(command.words)
        if not words:
            return "it runs no program"
        why: str | None = None
        for entry, named in self._entries_for(words, places.root, directory):
            why = entry.why_not(named, command.redirections, places.root, directory)
            if why is None:
                return None
        return why or "no entry names it"

    def _entries_for(
        self, words: tuple[str, ...], root: str, directory: str
    ) -> Iterator[tuple["Entry", tuple[str, ...]]]:
        """Yield each entry that names the program, and the words from the program on."""
        name = words[0].rpartition("/")[2]
        for entry in self._allowed.get(name, ()):
            if entry.names(words[0], root, directory):
                yield entry, words
        for length in VIA_LENGTHS.get(name, ()):
            # A path before it is one below the root, and what it runs has a plain name.
            if len(words) > length and ("/" not in words[0] or directory == root):
                for entry in self._allowed.get(words[length], ()):
                    if entry.accepts_via(words[:length]) and entry.names(words[length], root, directory):
                        yield entry, words[length:]


class Walk:
    """Follows a line's directories: `cd` may fail, and then what is not joined by `&&` runs where it was."""

    def __init__(self, judge: CommandJudge, places: Places) -> None:
        self._judge, self._places = judge, places
        self._succeeded = self._failed = frozenset({places.start})
        self._again = 0

    def walk(self, lines: Lines) -> Iterator[JudgedCommand]:
        for joint, pipeline in lines:
            if joint == "&&":
                start = self._succeeded
            elif joint == "||":
                start = self._failed
            else:
                start = self._succeeded | self._failed
            succeeded, failed = self._succeeded, self._failed
            if len(pipeline) == 1 and isinstance(pipeline[0], Command):
                yield self._command(pipeline[0], start)
            else:
                yield from self._parts(pipeline, start)
            if joint == "&&":
                self._failed |= failed
            elif joint == "||":
                self._succeeded |= succeeded
            if len(self._succeeded | self._failed) > _MAX_DIRECTORIES:
                raise Ambiguous("can be in too many directories")

    def _parts(self, pipeline: list[Command | Group], start: frozenset[str]) -> Iterator[JudgedCommand]:
        """What runs in shells of its own; zsh runs the last part of a pipeline itself."""
        after = start
        for part in pipeline:
            self._succeeded = self._failed = start
            if isinstance(part, Group):
                why = _why_not_redirected(part)
                yield from self.walk(part.body)
                if why is not None:
                    yield JudgedCommand("( … )", why, None)
                after = start
            else:
                yield self._command(part, start)
                after = start | self._succeeded | self._failed
        self._succeeded = self._failed = after

    def _command(self, command: Command, start: frozenset[str]) -> JudgedCommand:
        self._succeeded = self._failed = start
        words = command.words
        if words and words[0] == "cd" and not command.assignments:
            return JudgedCommand(command.text, self._why_not_there(command, start), command)
        self._again += len(words) * (len(start) - 1)
        if self._again > _MAX_AGAIN:
            raise Ambiguous("has too many words that may run in several directories")
        for directory in start:
            why = self._judge.why_not(command, self._places, directory)
            if why is not None:
                return JudgedCommand(command.text, why, command)
        return JudgedCommand(command.text, None, command)

    def _why_not_there(self, command: Command, start: frozenset[str]) -> str | None:
        words = command.words
        if (why := _why_not_redirected(command)) is not None:
            return why
        if len(words) != len(("cd", "directory")) or not _IS_NO_CDPATH(words[1]):
            return "`cd` needs one directory that begins with ./ or /, so that CDPATH cannot lead it elsewhere"
        root = self._places.root
        for directory in start:
            why = outside(words[1], root, directory, READERS)
            if why is not None:
                return f"its directory {why}"
        self._succeeded = frozenset(joined(words[1], directory) for directory in start)
        self._failed = start
        return None


def _why_not_redirected(part: Command | Group) -> str | None:
    """Why a redirection of more than one program, or of `cd`, does not pass."""
    if all(operator == ERRORS_TOO or target == NULL for operator, target in part.redirections):
        return None
    return "only the output of one program can be redirected to a file"


class Denied:
    """One entry of `deny`, ready to judge."""

    def __init__(self, denied: DeniedCommand) -> None:
        self.runs = frozenset(map(str.lower, several(denied.run)))
        self._words = tuple(
            frozenset(map(str.lower, several(each))) for each in (denied.first, denied.second) if each is not UNSET
        )
        self._flags = tuple(several(denied.flags))

    def matches(self, words: tuple[str, ...]) -> bool:
        """True if a command with these words is one of those that are refused."""
        if not words or words[0].rpartition("/")[2].lower() not in self.runs:
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


_BEFORE_OTHERS = frozenset({"time", "timeout", "nice", *VIA_LENGTHS})
"""Programs behind which another one can be what really runs."""


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
