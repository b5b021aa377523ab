"""Entries of `allow`: which words of a program pass, which files it may read and write."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import UNSET, UnsetType

from app.language.ambiguous import Ambiguous
from app.language.file_kinds import FileKind, is_source, kinds_of, words_of
from app.language.paths import canonical_path
from app.language.shell_lines import ERRORS_TOO, READ
from app.language.shell_programs import PATTERN_FLAGS, USUAL, Flag, Program, flags_of
from app.model.command_constraint import AllowedCommand, several

READERS = frozenset({FileKind.SECRETS, FileKind.HIDDEN})
WRITERS = frozenset(FileKind)
"""The kinds of files that programs may not read, and may not write."""

NULL = "/dev/null"
_MOST_PARTS = 8
"""A program may read a path after each colon and each equals sign."""

_PLAIN = re.compile(r"(?:\./)?+(?:[A-Za-z0-9_][A-Za-z0-9_.+,-]*+/?+)++").fullmatch
_GLOB = re.compile(r"\*|\{[A-Za-z0-9_,-]*\}")
_HAS_GLOB = re.compile(r"[*?\[\]{}()!]").search


class Entry:
    """One entry of `allow`, ready to judge."""

    def __init__(self, allowed: AllowedCommand) -> None:
        self._runs = several(allowed.run)
        self._bare = frozenset(name for name in self._runs if "/" not in name)
        self._by_path = tuple(name for name in self._runs if "/" in name)
        self._starts = tuple(map(_starts, filter(None, (several(allowed.first), several(allowed.second)))))
        self._usual = allowed.flags == "usual"
        self._own = flags_of(" ".join(allowed.flags)) if isinstance(allowed.flags, list) else {}
        self.has_paths = allowed.paths is not UNSET
        self._paths = allowed.paths
        self.is_inside = allowed.paths == "inside"
        self.has_pattern = allowed.pattern is True
        self._via = frozenset(tuple(each.split()) for each in several(allowed.via))
        self._writes = allowed.writes is not UNSET
        self._script = allowed.script is not UNSET
        self._flags = dict[int, Mapping[str, Flag]]()

    def names(self, program: str, root: str, directory: str) -> bool:
        """True if the entry names this program."""
        if "/" not in program:
            return program in self._bare
        if not self._by_path:
            return False
        try:
            path = joined(program, directory)
        except Ambiguous:
            return False
        return any(path == joined(each, root) for each in self._by_path)

    def accepts_via(self, words: tuple[str, ...]) -> bool:
        return words in self._via

    def why_not(
        self, words: tuple[str, ...], redirections: tuple[tuple[str, str], ...], root: str, directory: str
    ) -> str | None:
        """Why these words of one of the entry's programs do not pass; None if they do."""
        for operator, target in redirections:
            why = self._why_not_redirected(operator, target, root, directory)
            if why is not None:
                return why
        name, at = words[0].rpartition("/")[2], 1
        if name in ("git", "make") and words[1:2] == ("-C",) and words[2:]:
            why = outside(words[2], root, directory, READERS)
            if why is not None:
                return f'"{words[2]}" {why}'
            directory, at = joined(words[2], directory), 3
        if name == "git" and directory != root:
            return "git is judged only in the root: what a folder's own config says, git runs"
        row, flags = self._table(name, words[at : at + 2])
        for wanted in self._starts:
            if not wanted(words[at] if at < len(words) else ""):
                return f'its word "{words[at]}" is not one of the entry\'s' if at < len(words) else "it lacks a word"
            at += 1
        if self._script:
            why = _why_no_script(words[at] if at < len(words) else "", root, directory)
            if why is not None:
                return why
            at += 1
        return _Words(self, row, flags, root, directory).why_not(words, at)

    def _table(self, name: str, following: tuple[str, ...]) -> tuple[Program, Mapping[str, Flag]]:
        """What is known of the program with these words, and the flags that the entry accepts."""
        row = _UNKNOWN
        for length in _LENGTHS.get(name, ()):
            if (found := _ROWS.get((name, *following[:length]))) is not None:
                row = found
                break
        if self._usual:
            return row, row.flags
        flags = self._flags.get(id(row))
        if flags is None:
            # What is known of a flag tells what follows it, unless the entry does.
            flags = self._flags[id(row)] = {
                flag: row.flags[flag] if flag in row.flags and own.value is None else own
                for flag, own in self._own.items()
            }
        return row, flags

    def _why_not_redirected(self, operator: str, target: str, root: str, directory: str) -> str | None:
        if operator == ERRORS_TOO or target == NULL:
            return None
        if operator == READ:
            if self._paths is UNSET:
                return f'it reads "{target}"'
            why = self.why_not_path(target, root, directory, READERS)
            return None if why is None else f'it reads "{target}", which {why}'
        if not self._writes:
            return f'it writes "{target}"'
        why = _odd(target) or outside(target, root, directory, WRITERS)
        return None if why is None else f'it writes "{target}", which {why}'

    def why_not_path(self, word: str, root: str, directory: str, kinds: frozenset[FileKind]) -> str | None:
        if not word:
            return "is empty"
        if isinstance(self._paths, str):
            return _odd(word) or outside(word, root, directory, kinds)
        if isinstance(self._paths, UnsetType):
            return "is a word that the entry does not have"
        why = _odd(word)
        for each in self._paths if why is None else ():
            base = joined(each, directory)
            if outside(base, root, root, frozenset()) is None:
                why = outside(word, base, directory, kinds)
                if why is None:
                    return None
        return why or "does not lie in a directory of the entry"


class _Words:
    """The words of one command after its program and what the entry demands of the first ones."""

    def __init__(
        self,
        entry: Entry,
        row: Program,
        flags: Mapping[str, Flag],
        root: str,
        directory: str,
    ) -> None:
        self._entry, self._row, self._flags = entry, row, flags
        self._root, self._directory = root, directory
        self._kinds = WRITERS if row.writes else READERS
        self._given = set[str]()

    def why_not(self, words: tuple[str, ...], at: int) -> str | None:
        row = self._row
        if row.words == "text":
            return None
        others, ended = list[str](), False
        while at < len(words):
            word = words[at]
            at += 1
            if word[:1] != "-" or word == "-":
                others.append(word)
            elif ended:
                return f'it has "{word}" after --'
            elif word == "--":
                ended = True
            else:
                taken = self._flag(word, words[at] if at < len(words) else None)
                if isinstance(taken, str):
                    return taken
                at += taken
        either, needed = row.needs
        if either and (either == _ANYTHING or not either.isdisjoint(self._given)) and needed.isdisjoint(self._given):
            return f"it would read whole folders without {' or '.join(sorted(needed))}"
        return self._why_not_others(others)

    def _flag(self, word: str, following: str | None) -> int | str:
        """How many of the following words belong to a flag, or why it does not pass."""
        flags = self._flags
        flag = flags.get(word)
        if flag is not None and (flag.value is None or flag.optional or not flag.attached):
            self._given.add(word)
            if flag.value is None or flag.optional:
                return 0
            return self._value(word, flag, following, attached=False)
        name, equals, value = word.partition("=")
        if equals and (name.startswith("--") or not self._row.by_letter):
            flag = flags.get(name)
            if flag is not None and flag.value is not None:
                self._given.add(name)
                return self._value(name, flag, value, attached=True)
        elif word.startswith("--"):
            pass
        elif self._row.count and word[1:].isdigit():
            return 0
        elif self._row.by_letter:
            return self._letters(word, following)
        elif self._row.words == "git" or word[2:].isdigit():
            flag = flags.get(word[:2])
            if flag is not None and flag.value is not None:
                self._given.add(word[:2])
                return self._value(word[:2], flag, word[2:], attached=True)
        return f'the flag "{name}" is not one of the entry\'s'

    def _letters(self, word: str, following: str | None) -> int | str:
        for at in range(1, len(word)):
            name = "-" + word[at]
            flag = self._flags.get(name)
            if flag is None:
                return f'the flag "{name}" is not one of the entry\'s'
            self._given.add(name)
            if flag.value is not None and not flag.optional:
                rest = word[at + 1 :]
                return self._value(name, flag, rest or following, attached=bool(rest))
        return 0

    def _value(self, name: str, flag: Flag, value: str | None, *, attached: bool) -> int | str:
        if flag.value is None or value is None:
            return f'the flag "{name}" lacks its value'
        if (value[:1] == "-" and not value[1:].isdigit()) or not flag.value(value):
            return f'the value of "{name}" is not what the entry accepts'
        if flag.is_path:
            why = self._entry.why_not_path(value, self._root, self._directory, READERS)
            if why is not None:
                return f'"{value}" {why}'
        return 0 if attached else 1

    def _why_not_others(self, words: list[str]) -> str | None:
        """Why a word that is no flag does not pass."""
        row = self._row
        if self._entry.has_pattern and words and self._given.isdisjoint(PATTERN_FLAGS):
            words = words[1:]
        elif row.first is not None and words:
            if not row.first(words[0]):
                return f'"{words[0]}" is more than is known to be harmless'
            words = words[1:]
        if not words:
            return None
        plain = _PLAIN_WORDS.get(row.words)
        if plain is not None:
            odd = next((word for word in words if not plain(word)), None)
        elif self._entry.has_paths:
            odd = words[row.most] if len(words) > row.most else None
        else:
            odd = words[0]
        if odd is not None:
            return f'it has the word "{odd}"'
        is_inside = self._entry.is_inside and row.words != "files" and _is_within(self._directory, self._root)
        for word in words if plain is None else ():
            # All that is asked of a plain word is of which kind it is.
            is_plain = is_inside and _PLAIN(word)
            why = _why_of_kind(word, self._kinds) if is_plain else self._why_not_word(word)
            if why is not None:
                return f'"{word}" {why}'
        return None

    def _why_not_word(self, word: str) -> str | None:
        row, why = self._row, None
        if word.count(":") > _MOST_PARTS or word.count("=") > _MOST_PARTS:
            return _odd(word)
        if word == "-" and row.words == "paths" and not (row.writes or row.globs):
            return None
        if row.words == "git":
            # REV:PATH and :STAGE:PATH name a path after each colon.
            for rest in _after_each(":", word):
                why = why or self._path(rest)
        elif row.words == "tests":
            return self._path(word.partition("::")[0]) or (_odd(word) if "://" in word else None)
        elif row.words == "packages":
            return self._path(word.removesuffix("/...") if word != "./..." else ".")
        elif row.words == "files" and not is_source(word):
            return "may be a folder, all of whose files would be read"
        elif ":" in word:
            return "has a colon, which some programs take for a host or another file"
        if row.globs and _HAS_GLOB(word):
            word = _GLOB.sub("x", word.removeprefix("**/"))
        return why or self._path(word)

    def _path(self, word: str) -> str | None:
        if "=" in word:
            for rest in _after_each("=", word):
                why = self._entry.why_not_path(rest, self._root, self._directory, self._kinds)
                if why is not None:
                    return why
        return self._entry.why_not_path(word, self._root, self._directory, self._kinds)


def _after_each(sign: str, word: str) -> Iterator[str]:
    """Yield what follows each sign, if anything does."""
    at = word.find(sign)
    while at >= 0:
        if word[at + 1 :]:
            yield word[at + 1 :]
        at = word.find(sign, at + 1)


def _odd(word: str) -> str | None:
    """Why a word may be no path at all."""
    if word[:1] in ("@", "~", "-"):
        return "begins with a character that some programs expand"
    if "://" in word:
        return "is a URL"
    if word.count(":") > _MOST_PARTS or word.count("=") > _MOST_PARTS:
        return f"has more than {_MOST_PARTS} colons or equals signs"
    return "has a pattern that the program may expand" if _HAS_GLOB(word) else None


def joined(word: str, directory: str) -> str:
    """The path that a word names there. Raises Ambiguous."""
    return canonical_path(word if word.startswith("/") else f"{directory}/{word}")


def outside(word: str, root: str, directory: str, kinds: frozenset[FileKind]) -> str | None:
    """Why the path that a word names in a directory is not below the root, or is of one of these kinds; else None.

    The directory itself lies below the root, or below where an entry's paths lie.
    """
    if not (_PLAIN(word) and _is_within(directory, root)):
        try:
            path = joined(word, directory)
        except Ambiguous as error:
            return f"is no path that can be judged: it {error}"
        if path != root and not path.startswith(f"{root}/"):
            return f"does not lie in {root}"
        word = path[len(root) :]
    return _why_of_kind(word, kinds)


def _is_within(directory: str, root: str) -> bool:
    return directory == root or directory.startswith(f"{root}/")


def _why_of_kind(word: str, kinds: frozenset[FileKind]) -> str | None:
    found = kinds_of(word)
    if found and not kinds.isdisjoint(found):
        return f"has {words_of(found & kinds)}"
    return None


_PLAIN_WORDS: dict[str, Callable[[str], object]] = {
    "none": lambda _: False,
    "any": re.compile(r"(?!@).*", re.DOTALL).fullmatch,
    "numbers": re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,3})?[smhd]?").fullmatch,
}


def _why_no_script(word: str, root: str, directory: str) -> str | None:
    if word[:1] in ("-", ""):
        return "it lacks a script"
    why = _odd(word) or outside(word, root, directory, WRITERS)
    return None if why is None else f'"{word}" {why}'


def _starts(words: Sequence[str]) -> Callable[[str], bool]:
    """A test whether a word is one of these, or begins as one of these that end with a star."""
    exact = frozenset(word for word in words if not word.endswith("*"))
    prefixes = tuple(word[:-1] for word in words if word.endswith("*"))
    if not prefixes:
        return exact.__contains__
    return lambda word: word in exact or word.startswith(prefixes)


_ANYTHING = frozenset({""})
_UNKNOWN = Program({}, writes=True)
_ROWS: dict[tuple[str, ...], Program] = {tuple(name.split()): row for name, row in USUAL.items()}
_LENGTHS: dict[str, list[int]] = {
    program: sorted({len(each) - 1 for each in _ROWS if each[0] == program}, reverse=True) for program, *_ in _ROWS
}
"""By program, after how many words a row can begin to hold, the most first."""
