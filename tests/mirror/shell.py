"""Shell lines, read and judged once more from docs/shell-lines.md, its lists included; no code of the service is used.

Where a line has a `cd`, every way in which its commands can succeed and fail is run through.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[2] / "docs" / "shell-lines.md").read_text()
OK, FAILS, UNREAD = "ok", "fails", "unread"
BARE = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:,@%+=-")
RESERVED = {
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "for",
    "while",
    "until",
    "do",
    "done",
    "case",
    "esac",
    "in",
    "function",
    "select",
    "coproc",
    "{",
    "}",
    "!",
    "[[",
    "]]",
}
RESERVED |= {"foreach", "end", "repeat", "nocorrect", "noglob", "always"}


class UnreadError(Exception):
    """The line is not in the grammar."""


class Simple:
    """A simple command: words, what is assigned, what is redirected."""

    def __init__(self):
        self.words, self.raw, self.assigned, self.redirected = [], [], [], []


def between(name: str) -> str:
    return re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", PAGE, re.DOTALL)[1]


def listed() -> Iterator[tuple[str, str]]:
    for line in between("names").splitlines()[1:-1]:
        title, _, rest = line.partition(": ")
        yield title, rest


NAMES = dict(listed())
SETS = {title: set(rest.split()) for title, rest in NAMES.items()}
LISTS = {row.split(" | ")[0][2:]: set(re.findall("`([^`]+)`", row)) for row in between("lists").splitlines()}


def table() -> dict[str, Any]:
    rows = {}
    for row in between("flags").splitlines()[2:]:
        name, flags, words, notes = (each.strip().replace("\\|", "|") for each in re.split(r"(?<!\\)\|", row)[1:5])
        rows[name.strip("`")] = (flags_in(flags.strip("`")), words, notes)
    return rows


def flags_in(text: str) -> dict[str, set[tuple[str, str]]]:
    """For each flag the ways in which it can stand: alone, with a value behind it, with one in the word."""
    found, tokens = {}, text.split()
    for at, token in enumerate(tokens):
        if not token.startswith("-"):
            continue
        following = tokens[at + 1] if at + 1 < len(tokens) and not tokens[at + 1].startswith("-") else None
        name, equals, kind = token.partition("=")
        if equals and (kind.isupper() or "|" in kind):
            found.setdefault(name, set()).add(("within", kind))
        elif following is not None:
            found.setdefault(token, set()).update({("behind", following), ("within", following)})
        else:
            found.setdefault(token, set()).add(("alone", ""))
    return found


ROWS = table()


def tokens_of(line: str) -> list[tuple[str, str, str]]:  # noqa: C901, PLR0912
    """(kind, text, raw) of each token."""
    if len(line.encode("utf-8", "surrogatepass")) > 16384 or any(hidden(each) for each in line if each not in "\n\t"):
        raise UnreadError
    found, at = [], 0
    while at < len(line):
        letter, rest = line[at], line[at:]
        if letter in " \t":
            at += 1
            continue
        joint = next((each for each in ("&&", "||", ";", "|", "\n", "(", ")") if rest.startswith(each)), None)
        if joint is not None:
            if (joint in ";|" and rest[1:2] in ("&", ";")) or (joint == "(" and rest[1:2] == "("):
                raise UnreadError
            found.append(("sign", joint, joint))
            at += len(joint)
            continue
        fresh = at == 0 or line[at - 1] in " \t\n;|&()"
        if rest.startswith("2>&1") and fresh and rest[4:5] in ("", " ", "\t", "\n", ";", "&", "|", "(", ")"):
            found.append(("file", "2>&1", ""))
            at += 4
            continue
        arrow = next((each for each in ("2>", ">>", ">", "<") if rest.startswith(each)), None)
        if arrow is not None and (arrow != "2>" or fresh):
            after = rest[len(arrow) : len(arrow) + 1]
            if after in ("&", "|", ">", "<", "("):
                raise UnreadError
            found.append(("file", arrow, arrow))
            at += len(arrow)
            continue
        start, text = at, ""
        while at < len(line):
            letter = line[at]
            if letter in BARE:
                text += letter
                at += 1
            elif letter in "'\"":
                end = line.find(letter, at + 1)
                inside = line[at + 1 : end]
                if end < 0 or (letter == '"' and set(inside) & set("$`\\!")):
                    raise UnreadError
                text += inside
                at = end + 1
            else:
                break
        raw = line[start:at]
        if not raw or raw[0] == "=" or (raw.isdigit() and line[at : at + 1] in ("<", ">")):
            raise UnreadError
        found.append(("word", text, raw))
    return [*found, ("end", "", "")]


def hidden(letter: str) -> bool:
    category = unicodedata.category(letter)
    return category in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


class Reader:
    """Groups are lists of (joint, pipeline); pipelines are lists of commands and of (group, redirected)."""

    def __init__(self, line: str):
        self.tokens, self.count = tokens_of(line), 0

    def is_at(self, *signs: str) -> bool:
        return self.tokens[0][0] == "sign" and self.tokens[0][1] in signs

    def newlines(self) -> None:
        while self.is_at("\n"):
            self.tokens.pop(0)

    def whole(self) -> list[Any]:
        self.newlines()
        found = self.group(0)
        if self.tokens[0][0] != "end":
            raise UnreadError
        return found

    def group(self, depth: int) -> list[Any]:
        joint, found = ";", []
        while True:
            pipeline = [self.part(depth)]
            while self.is_at("|"):
                self.tokens.pop(0)
                self.newlines()
                pipeline.append(self.part(depth))
            found.append((joint, pipeline))
            if not self.is_at(";", "\n", "&&", "||"):
                return found
            joint = self.tokens.pop(0)[1].replace("\n", ";")
            self.newlines()
            if joint == ";" and (self.tokens[0][0] == "end" or self.is_at(")")):
                return found

    def part(self, depth: int) -> Any:
        self.count += 1
        if self.count > 64 or depth > 8:
            raise UnreadError
        if not self.is_at("("):
            return self.simple()
        self.tokens.pop(0)
        self.newlines()
        inner = self.group(depth + 1)
        if depth >= 8 or not self.is_at(")"):
            raise UnreadError
        self.tokens.pop(0)
        after = Simple()
        self.fill(after)
        if after.words or after.assigned:
            raise UnreadError
        return inner, after.redirected

    def simple(self) -> Simple:
        command = Simple()
        self.fill(command)
        if not (command.words or command.assigned or command.redirected):
            raise UnreadError
        raw = command.raw
        if raw and (
            raw[0] in RESERVED
            or (raw[0] == "time" and (len(raw) == 1 or raw[1][:1] == "-" or raw[1] in RESERVED | {"time"}))
        ):
            raise UnreadError
        return command

    def fill(self, command: Simple) -> None:
        while self.tokens[0][0] in ("word", "file"):
            kind, text, raw = self.tokens.pop(0)
            if kind == "file":
                if text == "2>&1":
                    continue
                if self.tokens[0][0] != "word":
                    raise UnreadError
                command.redirected.append((text, self.tokens.pop(0)[1]))
            elif not command.words and re.match(r"[A-Za-z_][A-Za-z0-9_]*\+?=", raw):
                name, _, value = text.partition("=")
                if name.endswith("+"):
                    raise UnreadError
                command.assigned.append((name, value))
            else:
                command.words.append(text)
                command.raw.append(raw)
        if self.is_at("("):
            raise UnreadError


def simple_in(group: list[Any]) -> Iterator[Simple]:
    for _, pipeline in group:
        for part in pipeline:
            if isinstance(part, Simple):
                yield part
            else:
                yield from simple_in(part[0])


def judge(line: str, wanted: Any, root: str | None, start: str | None) -> str:
    """OK, FAILS or UNREAD. root, start: None if only `deny` judges."""
    try:
        group = Reader(line).whole()
    except UnreadError:
        return UNREAD
    commands = list(simple_in(group))
    if any(is_denied(entry, command.words) for entry in wanted.get("deny", ()) for command in commands):
        return FAILS
    if "allow" not in wanted:
        return UNREAD if any(map(runs_others, commands)) else OK
    refused = []
    groups = [redirected for redirected in redirected_in(group) if any(file != "/dev/null" for _, file in redirected)]
    for command, directory in places(group, commands, root, start):
        if not may_run(command, directory, root, wanted):
            refused.append(command)
    if groups or any(not runs_others(each) for each in refused):
        return FAILS
    return UNREAD if refused else OK


def redirected_in(group: list[Any]) -> Iterator[list[tuple[str, str]]]:
    for _, pipeline in group:
        for part in pipeline:
            if not isinstance(part, Simple):
                yield part[1]
                yield from redirected_in(part[0])


def places(group: list[Any], commands: list[Simple], root: str, start: str) -> set[tuple[Simple, str]]:
    """Each command with each directory in which it can run: all ways to succeed and fail, in bash and in zsh."""
    found = set()
    for results in product((True, False), repeat=len(commands)):
        ended = dict(zip(commands, results, strict=True))
        for zsh in (False, True):
            Walk(ended, root, found, zsh=zsh).run(group, start)
    return found


class Walk:
    """One run of the line. ended: whether each command succeeds."""

    def __init__(self, ended: dict[Simple, bool], root: str, found: set[tuple[Simple, str]], *, zsh: bool):
        self.ended, self.root, self.found, self.zsh = ended, root, found, zsh

    def run(self, group: list[Any], where: str) -> tuple[bool, str]:
        is_well = True
        for joint, pipeline in group:
            if (joint == "&&" and not is_well) or (joint == "||" and is_well):
                continue
            is_well, where = self.pipeline(pipeline, where)
        return is_well, where

    def pipeline(self, pipeline: list[Any], where: str) -> tuple[bool, str]:
        after, is_well = where, True
        for at, part in enumerate(pipeline):
            if isinstance(part, Simple):
                self.found.add((part, where))
                is_well = self.ended[part]
                moves = len(pipeline) == 1 or (self.zsh and at == len(pipeline) - 1)
                if moves and is_well and not part.assigned and part.words[:1] == ["cd"] and len(part.words) == 2:
                    after = resolved(part.words[1], where) or where
            else:
                is_well, _ = self.run(part[0], where)
        return is_well, after


def resolved(word: str, where: str) -> str | None:
    """The path that a word names; None if that cannot be told."""
    path = word if word.startswith("/") else f"{where}/{word}"
    if not re.fullmatch(r"(/[\w.@+:,=' \n\"^;|#<>()&*?!$~-]*)+", path) or path.startswith("//") or "\n" in path:
        return None
    names = []
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == "..":
            if not names or re.search(r"[?#{$;*<>|&!()'\"^ ,=:]", names[-1]):
                return None
            names.pop()
        elif re.fullmatch("[. ]+", name) or re.match(r"\.\.+[^\w.-]", name) or name.strip(" ") != name:
            return None
        else:
            names.append(name)
    return "/" + "/".join(names)


def kinds(path: str) -> set[str]:
    found = set()
    names = [name.lower() for name in path.split("/") if name]
    for at, name in enumerate(names):
        if name.startswith("."):
            found.add("hidden")
        folder = at < len(names) - 1
        if re.search(NAMES["secret words"], name) or (name.startswith(".") and name in SETS["secret names"]):
            found.add("secrets")
        if name in SETS["running folders"]:
            found.add("runs")
        for spelled in () if folder else (name, re.sub(NAMES["endings of copies"], "", name) or name):
            found |= kinds_of_file(spelled)
    return found


def kinds_of_file(name: str) -> set[str]:
    found, ending = set(), name.rpartition(".")[2] if "." in name else ""
    if not re.fullmatch(NAMES["no secret"], name) and (
        name in SETS["secret names"]
        or ending in SETS["secret endings"]
        or re.fullmatch(NAMES["secret shapes"], name)
        or re.search(NAMES["secret words"], name)
        or (ending not in SETS["endings of sources"] and re.search(NAMES["secret words, but in sources"], name))
    ):
        found.add("secrets")
    stem = name.rpartition(".")[0]
    if (
        name in SETS["running names"]
        or (stem and ending in SETS["running endings"])
        or re.fullmatch(NAMES["running shapes"], name)
    ):
        found.add("runs")
    return found


def is_inside(word: str, where: str, root: str, without: set[str]) -> bool:
    path = resolved(word, where)
    return path is not None and (path == root or path.startswith(root + "/")) and not kinds(path[len(root) :]) & without


def strings(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


WRAPPERS = ((r"time", 1), (r"timeout [0-9]+(\.[0-9]+)?[smhd]?", 2), (r"nice -n -?[0-9]{1,2}", 3))


def unwrapped(words: list[str]) -> list[str]:
    for pattern, count in WRAPPERS:
        if re.fullmatch(pattern, " ".join(words[:count])) and words[count:] and " " not in "".join(words[:count]):
            if count == 1 and words[1].startswith("-"):
                continue
            return unwrapped(words[count:])
    return words


def may_run(command: Simple, where: str, root: str, wanted: Any) -> bool:
    words = command.words
    if words[:1] == ["cd"] and not command.assigned:
        return (
            all(file == "/dev/null" for _, file in command.redirected)
            and len(words) == 2
            and (words[1] in (".", "..") or words[1].startswith(("./", "../", "/")))
            and is_inside(words[1], where, root, {"secrets", "hidden"})
        )
    for name, value in command.assigned:
        if name not in strings(wanted.get("env")) or not re.fullmatch(r"[A-Za-z0-9_.,:*@+ -]{0,100}", value):
            return False
    words = unwrapped(words)
    return bool(words) and any(
        fits(entry, words[len(before) :], command.redirected, where, root)
        for entry in wanted["allow"]
        for before in ([], *(via.split() for via in entry.get("via", ())))
        if words[: len(before)] == before and words[len(before) :] and not (before and "/" in words[len(before)])
    )


def fits(entry: Any, words: list[str], redirected: list[tuple[str, str]], where: str, root: str) -> bool:  # noqa: C901, PLR0912
    runs = strings(entry["run"])
    program = words[0]
    if "/" in program:
        place = resolved(program, where)
        if place is None or not any("/" in run and resolved(run, root) == place for run in runs):
            return False
    elif program not in runs:
        return False
    name, words = program.rpartition("/")[2], words[1:]
    if not all(redirection_passes(entry, *each, where, root) for each in redirected):
        return False
    if name in ("git", "make") and words[:1] == ["-C"] and words[1:]:
        if not is_inside(words[1], where, root, {"secrets", "hidden"}):
            return False
        where, words = resolved(words[1], where), words[2:]
    if name == "git" and where != root:
        return False
    key = next((each for at in (2, 1, 0) if (each := " ".join([name, *words[:at]])) in ROWS and len(words) >= at), None)
    known, kind, notes = ROWS.get(key, ({}, "unknown", ""))
    for field in ("first", "second"):
        if field in entry:
            if not words or not any(is_like(words[0], each) for each in strings(entry[field])):
                return False
            words = words[1:]
    if "script" in entry:
        if (
            not words
            or words[0][:1] in ("-", "")
            or not path_passes(words[0], where, root, {"secrets", "hidden", "runs"})
        ):
            return False
        words = words[1:]
    if kind == "text":
        return True
    if entry.get("flags") == "usual":
        flags = known
    else:
        flags = flags_in(" ".join(entry.get("flags", ())))
        flags = {flag: known.get(flag, ways) if ways == {("alone", "")} else ways for flag, ways in flags.items()}
    return Words(entry, flags, kind, notes, where, root).pass_(words)


def is_like(word: str, pattern: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern


def redirection_passes(entry: Any, operator: str, file: str, where: str, root: str) -> bool:
    if file == "/dev/null":
        return True
    if operator == "<":
        return "paths" in entry and entry_path(entry, file, where, root, {"secrets", "hidden"})
    return "writes" in entry and path_passes(file, where, root, {"secrets", "hidden", "runs"})


def path_passes(word: str, where: str, root: str, without: set[str]) -> bool:
    odd = (
        max(word.count(":"), word.count("=")) > 8
        or word[:1] in ("@", "~", "-")
        or "://" in word
        or set(word) & set("*?[]{}()!")
    )
    return not odd and is_inside(word, where, root, without)


def entry_path(entry: Any, word: str, where: str, root: str, without: set[str]) -> bool:
    if not word:
        return False
    if entry["paths"] == "inside":
        return path_passes(word, where, root, without)
    bases = [resolved(each, where) for each in entry["paths"]]
    return any(path_passes(word, where, base, without) for base in bases if base and is_inside(base, root, root, set()))


VALUES = {
    "TEXT": r"(?s).*",
    "PATH": r"(?s).*",
    "NUMBER": r"[+-]?[0-9]{1,9}[kKMG]?",
    "WORD": r"[A-Za-z0-9_][A-Za-z0-9_.,:=+-]*",
    "NAMES": r"(?is)(?!.*(secret|credential|password|[.]env|[.]pem|[.]key|id_[a-z*])).*",
    "SOURCES": rf"(\*\*/)?\*\.({'|'.join(SETS['endings of sources'])})",
}


class Words:
    """The words of a command, from what `first`, `second` and `script` leave."""

    def __init__(self, entry: Any, flags: Any, kind: str, notes: str, where: str, root: str):
        self.entry, self.flags, self.kind, self.notes, self.where, self.root = entry, flags, kind, notes, where, root
        self.given: set[str] = set()
        self.apart = "apart" in notes.split("; ")
        writes = "writes" in notes.split("; ") or kind == "unknown"
        self.without = {"secrets", "hidden"} | ({"runs"} if writes else set())

    def pass_(self, words: list[str]) -> bool:
        others, ended = [], False
        while words:
            word, words = words[0], words[1:]
            if not word.startswith("-") or word == "-":
                others.append(word)
            elif ended:
                return False
            elif word == "--":
                ended = True
            else:
                count = self.flag(word, words)
                if count is None:
                    return False
                words = words[count:]
        needed = re.search(r"(?:^|; )((?:-\S+ )*)only with (.*?)(?:$|; )", self.notes)
        if (
            needed
            and (not needed[1] or set(needed[1].split()) & self.given)
            and not set(needed[2].split()) & self.given
        ):
            return False
        return self.others(others)

    def flag(self, word: str, following: list[str]) -> int | None:  # noqa: C901
        ways = self.flags.get(word, set())
        if ("alone", "") in ways:
            self.given.add(word)
            return 0
        behind = [kind for how, kind in ways if how == "behind"]
        if behind:
            self.given.add(word)
            return 1 if following and self.value(behind[0], following[0]) else None
        name, equals, value = word.partition("=")
        if equals and (name.startswith("--") or self.apart):
            within = [kind for how, kind in self.flags.get(name, ()) if how == "within"]
            self.given.add(name)
            return 0 if within and self.value(within[0], value) else None
        if word.startswith("--"):
            return None
        if "-N" in self.notes.split("; ") and word[1:].isdigit():
            return 0
        if self.apart:
            within = [kind for how, kind in self.flags.get(word[:2], ()) if how == "behind"]
            if (self.kind == "git" or word[2:].isdigit()) and within and self.value(within[0], word[2:]):
                self.given.add(word[:2])
                return 0
            return None
        for at, letter in enumerate(word[1:], 1):
            ways = self.flags.get("-" + letter, set())
            if not ways:
                return None
            self.given.add("-" + letter)
            if ("alone", "") in ways:
                continue
            [kind] = [kind for how, kind in ways if how == "behind"] or [None]
            rest = word[at + 1 :]
            if kind is None or not (rest or following) or not self.value(kind, rest or following[0]):
                return None
            return 0 if rest else 1
        return 0

    def value(self, kind: str, value: str) -> bool:
        if value.startswith("-") and not value[1:].isdigit():
            return False
        if "|" in kind:
            return value in kind.split("|")
        if kind == "PATH" and not self.path(value, {"secrets", "hidden"}):
            return False
        return re.fullmatch(VALUES[kind], value) is not None

    def path(self, word: str, without: set[str]) -> bool:
        return "paths" in self.entry and entry_path(self.entry, word, self.where, self.root, without)

    def others(self, words: list[str]) -> bool:
        first = re.search(r"first `(.*)`", self.notes)
        if self.entry.get("pattern") and words and not self.given & {"-e", "--regexp"}:
            words = words[1:]
        elif first and words:
            if not re.fullmatch(first[1], words[0], re.DOTALL):
                return False
            words = words[1:]
        if not words or self.kind == "any":
            return not any(word.startswith("@") for word in words)
        if self.kind == "none":
            return False
        if self.kind == "numbers":
            return all(re.fullmatch(r"[0-9]+(\.[0-9]+)?[smhd]?", word) for word in words)
        most = re.search(r"at most ([0-9]+)", self.notes)
        if "paths" not in self.entry or (most and len(words) > int(most[1])):
            return False
        return all(map(self.other, words))

    def other(self, word: str) -> bool:
        if word == "-" and self.kind == "paths" and "runs" not in self.without and "globs" not in self.notes:
            return True
        parts = [word]
        if self.kind == "git":
            parts += [word[at + 1 :] for at in range(len(word)) if word[at] == ":" and word[at + 1 :]]
        elif self.kind == "tests":
            if "://" in word:
                return False
            parts = [word.partition("::")[0]]
        elif self.kind == "packages":
            parts = ["." if word == "./..." else word.removesuffix("/...")]
        elif ":" in word or (
            self.kind == "files" and word.rpartition(".")[2].lower() not in SETS["endings of sources"]
        ):
            return False
        if "globs" in self.notes and set(word) & set("*?[]{}()!"):
            parts = [re.sub(r"\*|\{[A-Za-z0-9_,-]*\}", "x", word.removeprefix("**/"))]
        for part in list(parts):
            parts += [part[at + 1 :] for at in range(len(part)) if part[at] == "=" and part[at + 1 :]]
        return all(self.path(part, self.without) for part in parts)


def innermost(words: list[str]) -> list[str]:
    """What really runs, behind wrappers and the programs of `via`."""
    vias = [
        via.split() for via in ("npx", "uv run", "poetry run", "pipenv run", "pnpm exec", "yarn exec", "bundle exec")
    ]
    vias += [["python", "-m"], ["python3", "-m"]]
    words = unwrapped(words)
    for via in vias:
        plain = [word.rpartition("/")[2] if at == 0 else word for at, word in enumerate(words)]
        if plain[: len(via)] == via and words[len(via) :] and not words[len(via)].startswith("-"):
            return innermost(words[len(via) :])
    return words


def is_denied(entry: Any, words: list[str]) -> bool:
    words = innermost(words)
    if not words or words[0].rpartition("/")[2].lower() not in [run.lower() for run in strings(entry["run"])]:
        return False
    rest = [word.lower() for word in words[1:]]
    for field in ("first", "second"):
        wanted = {each.lower() for each in strings(entry.get(field))}
        if not wanted:
            continue
        if rest and rest[0] in wanted:
            rest.pop(0)
        elif not rest or not rest[0].startswith("-") or not wanted & set(rest):
            return False
    return "flags" not in entry or any(stands(flag, word) for flag in entry["flags"] for word in words[1:])


def stands(flag: str, word: str) -> bool:
    """Whether a word may be this flag: a letter of it, an abbreviation, in any letter case."""
    word, flag = word.partition("=")[0].lower(), flag.lower()
    if not word.startswith("-"):
        return False
    if word.startswith("--"):
        return len(word) > 2 and (flag.startswith(word) if flag.startswith("--") else word[2] == flag[1])
    return not flag.startswith("--") and flag[1:] in word


def runs_others(command: Simple) -> bool:
    if any(name not in LISTS["variables of `env`"] for name, _ in command.assigned):
        return True
    words = innermost(command.words)
    if not words:
        return False
    program = words[0].rpartition("/")[2].lower()
    changes = LISTS["change the shell"] - {
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
    if program in LISTS["run others"] or ("/" not in words[0] and program in changes):
        return True
    given = {word.partition("=")[0] for word in words[1:]}
    flags = LISTS.get(f"{program} with these flags", set())
    if re.fullmatch(r"python[0-9.]*|node", program):
        flags = LISTS["interpreters with these flags"]
    return bool(given & flags) or " ".join([program, *words[1:2]]) in LISTS["run others with these words"]
