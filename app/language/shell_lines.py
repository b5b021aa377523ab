r"""One line for a shell, read as the commands that it runs, if bash, dash and zsh all read it alike.

The grammar is small on purpose: what is not in it makes the line ambiguous. Words are bare, in single quotes, or in
double quotes without anything that a shell expands there. Joints are `&&`, `||`, `;`, `|` and line ends, and `( … )`
runs in a shell of its own. Nothing is expanded, so the words read here are the words that the programs get.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from app.language.ambiguous import Ambiguous
from app.language.visible import first_hidden

MAX_COMMANDS = 64
MAX_BYTES = 16 * 1024
_MAX_DEPTH = 8

READ, WRITE, APPEND, ERRORS, ERRORS_TOO = "<", ">", ">>", "2>", "2>&1"


class Command(Struct, frozen=True):
    """One command of a line.

    text: as it stands in the line. assignments: the names and values before the program.
    words: the program and what it gets; () = it only assigns or redirects.
    redirections: each operator with its file; "" for `2>&1`.
    """

    text: str
    words: tuple[str, ...]
    assignments: tuple[tuple[str, str], ...] = ()
    redirections: tuple[tuple[str, str], ...] = ()


class Group(Struct, frozen=True):
    """Commands in parentheses, which a shell of its own runs, and the redirections of all of them."""

    body: "Lines"
    redirections: tuple[tuple[str, str], ...] = ()


Pipeline = list[Command | Group]
Lines = list[tuple[str, Pipeline]]
"""Pipelines in order, each after the joint before it: `;` (also for the first one and for a line end), `&&` or `||`."""

_BARE = r"A-Za-z0-9_./:,@%+=\-"
_QUOTED = r"""'[^']*+'|"[^"$`\\!]*+\""""
_FILE = r">>(?![>&|])|>(?![>&|(])|<(?![<>&(])"
_token_at = re.compile(
    rf"((?:[ \t{_BARE}]++|{_QUOTED}|{_FILE}|(?<=2)>&1(?![^ \t\n;&|()]))++)|(&&|\|\||\|(?!&)|;(?![;&|])|\n|\((?!\()|\))"
).match
_words_and_operators = re.compile(
    rf"[ \t]++|((?<![^ \t])2>&1|(?<![^ \t])2>(?![>&])|{_FILE})|(=|[0-9]++(?=[<>])|[<>])|((?:[{_BARE}]++|{_QUOTED})++)",
).findall
_pieces = re.compile(r"'([^']*)'|\"([^\"]*)\"|([^'\"]+)").findall
_assigned = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\+?)=").match
_RESERVED = frozenset(
    [
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
        "foreach",
        "end",
        "repeat",
        "nocorrect",
        "noglob",
        "always",
    ]
)
_AFTER_TIME = _RESERVED | {"time"}


def read_line(text: str) -> Lines:
    """The commands of a line. Raises Ambiguous for whatever is outside of the grammar, or empty.

    The cause says what stands there, after "it": it "contains `$`, which …".
    """
    if len(text) > MAX_BYTES or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES):
        raise Ambiguous(f"has more than {MAX_BYTES} bytes")
    if not (text.isascii() and text.isprintable()):
        hidden = first_hidden(text.replace("\n", "").replace("\t", ""))
        if hidden is not None:
            raise Ambiguous(f"contains the invisible character U+{ord(hidden):04X}")
    return _Reader(text).whole()


def commands_of(lines: Lines) -> Iterator[Command | Group]:
    """Yield every command, and every group before its commands, in the order of the line."""
    for _, pipeline in lines:
        for part in pipeline:
            yield part
            if isinstance(part, Group):
                yield from commands_of(part.body)


class _Reader:
    """The tokens of a line: words and operators up to the next joint or parenthesis, or one of these."""

    def __init__(self, text: str) -> None:
        # Of each token the joint, parenthesis or end; "" and the text for words.
        signs, texts, at = list[str](), list[str](), 0
        while at < len(text):
            found = _token_at(text, at)
            if found is None:
                raise Ambiguous(_unknown(text[at:]))
            words, sign = found.groups()
            at = found.end()
            if words is None:
                signs.append(sign)
                texts.append("")
            elif words := words.strip(" \t"):
                signs.append("")
                texts.append(words)
        signs.append(_END)
        self._signs, self._texts, self._at, self._count = signs, texts, 0, 0

    def whole(self) -> Lines:
        self._skip_line_ends()
        if self._signs[self._at] == _END:
            raise Ambiguous("contains no command")
        lines = self._list(0)
        if self._signs[self._at] != _END:
            raise Ambiguous("has a `)` without its `(`")
        return lines

    def _skip_line_ends(self) -> None:
        while self._signs[self._at] == "\n":
            self._at += 1

    def _list(self, depth: int) -> Lines:
        """Pipelines until the end of the text or of the group."""
        joint, lines = ";", Lines()
        while True:
            lines.append((joint, self._pipeline(depth)))
            if self._signs[self._at] not in _JOINTS:
                return lines
            joint = _JOINTS[self._signs[self._at]]
            self._at += 1
            self._skip_line_ends()
            if joint == ";" and self._signs[self._at] in (_END, ")"):
                return lines

    def _pipeline(self, depth: int) -> Pipeline:
        parts = [self._part(depth)]
        while self._signs[self._at] == "|":
            self._at += 1
            self._skip_line_ends()
            parts.append(self._part(depth))
        return parts

    def _part(self, depth: int) -> Command | Group:
        self._count += 1
        if self._count > MAX_COMMANDS:
            raise Ambiguous(f"has more than {MAX_COMMANDS} commands")
        sign = self._signs[self._at]
        if sign == "(":
            return self._group(depth)
        if sign:
            raise Ambiguous("has a joint or `)` where a command must stand")
        text = self._texts[self._at]
        self._at += 1
        if self._signs[self._at] == "(":
            raise Ambiguous("has a `(` where no command can begin")
        return _command(text)

    def _group(self, depth: int) -> Group:
        if depth >= _MAX_DEPTH:
            raise Ambiguous(f"has more than {_MAX_DEPTH} parentheses in one another")
        self._at += 1
        self._skip_line_ends()
        body = self._list(depth + 1)
        if self._signs[self._at] != ")":
            raise Ambiguous("has a `(` without its `)`")
        self._at += 1
        sign = self._signs[self._at]
        if sign == "(":
            raise Ambiguous("has a `(` where no command can begin")
        if sign:
            return Group(body)
        text = self._texts[self._at]
        self._at += 1
        words, redirections = _words_of(text)
        if words or self._signs[self._at] == "(":
            raise Ambiguous("goes on after a `)` without a joint")
        return Group(body, tuple(redirections))


_END = "end"
_JOINTS = {";": ";", "\n": ";", "&&": "&&", "||": "||"}


def _unknown(rest: str) -> str:
    if rest[0] in "'\"":
        return "has a quotation that does not end, or in which a shell expands something"
    sign = next((each for each in _SIGNS if rest.startswith(each)), rest[0])
    return f"contains `{sign}`, which is not read here: it can make other commands or words"


_OTHER_FILE = "redirects in a way that is not read here"
_ZSH_EXPANDS = "has a word that begins with `=`, which zsh expands"
_SIGNS = ("$(", "${", "<<<", "<<", "<(", ">(", ">|", ">&", "<&", "<>", "&>", "|&", ";;", "((")


def _command(text: str) -> Command:
    raw: list[str]
    redirections: list[tuple[str, str]] = []
    if "'" in text or '"' in text or "<" in text or ">" in text:
        raw, redirections = _words_of(text)
        words = [_value(each) for each in raw]
    else:
        raw = words = text.split()
    if (" =" in text or "\t=" in text or text[0] == "=") and any(each[0] == "=" for each in raw):
        raise Ambiguous(_ZSH_EXPANDS)
    assignments = []
    at = 0
    for each in raw:
        if "=" not in each or not (named := _assigned(each)):
            break
        if named[1]:
            raise Ambiguous("appends to a variable")
        name, _, value = words[at].partition("=")
        assignments.append((name, value))
        at += 1
    if at:
        raw, words = raw[at:], words[at:]
    if raw and (
        raw[0] in _RESERVED or (raw[0] == "time" and (len(raw) == 1 or raw[1][0] == "-" or raw[1] in _AFTER_TIME))
    ):
        raise Ambiguous("begins a compound command, or one that zsh reads in its own way")
    return Command(text, tuple(words), tuple(assignments), tuple(redirections))


def _words_of(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The words, in their quotes, and the redirections of a command."""
    words, redirections, after = list[str](), list[tuple[str, str]](), ""
    for operator, refused, word in _words_and_operators(text):
        if word:
            if after:
                redirections.append((after, _value(word)))
                after = ""
            else:
                words.append(word)
        elif refused:
            raise Ambiguous(_ZSH_EXPANDS if refused == "=" else _OTHER_FILE)
        elif operator:
            if after:
                raise Ambiguous(f"has a `{after}` without a file")
            if operator == ERRORS_TOO:
                redirections.append((operator, ""))
            else:
                after = operator
    if after:
        raise Ambiguous(f"has a `{after}` without a file")
    return words, redirections


def _value(raw: str) -> str:
    if "'" not in raw and '"' not in raw:
        return raw
    return "".join(one or two or bare for one, two, bare in _pieces(raw))
