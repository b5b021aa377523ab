"""Secrets passed to a command by a short option, whose name does not show it: `curl -u ann:…`, `mysql -p…`."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from app.redaction.credentials import REDACTED


class _Command(NamedTuple):
    """Commands that take a secret in the same way.

    names, option: patterns. attached, apart: True if the secret can be in the option's own word, or in the next. after:
    a word that must precede the option, as in `docker login -p`.
    """

    names: str
    option: str
    attached: bool = True
    apart: bool = True
    after: str = ""


_COMMANDS = (
    # Other flags of curl may precede the letter.
    _Command("curl", r"-[#0346afgGiIjJklLnNOpqRsSvZ]*+[uUb]|--(?:proxy-)?user"),
    _Command(r"mysql\w*+|mariadb[\w-]*+|7z[ar]?|rar|unrar", "-h?p", apart=False),
    _Command(r"sshpass|mongo\w*+|psexec\w*+", "-p"),
    _Command(r"docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|cf", "-p", after="login"),
    _Command(r"redis-cli|valkey-cli|https?|xh", "-a"),
    _Command(r"zip|unzip|sqlcmd|bcp|osql|ipmitool|mosquitto_\w++", "-P"),
    _Command(r"lftp", "-u"),
    _Command(r"ldap\w++", "-w"),
    _Command(r"smbclient|rpcclient", "-U"),
    _Command("openssl", "-(?:pass(?:in|out)?|[kK])", attached=False),
)
_NAME = "|".join(f"(?P<c{at}>{command.names})" for at, command in enumerate(_COMMANDS))
_name = re.compile(rf"(?<![\w.-])(?:{_NAME})(?:\.exe)?+(?![\w.:-])")
_FIRST_WORDS = 64
"""The command's name is searched for in this many words: `sudo`, `env` and the like may precede it."""

_VALUE = r"""(?P<value>(?:"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?|[^\s;&|"']++)++)"""
_command = re.compile(r"""(?:[\\^`]\r?+\n|[^;&|\n"']|"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?)++""", re.DOTALL)
passes_options = re.compile(r"\s-").search
_may_pass = re.compile(rb"(?: |\\[tnr])-").search
_may_name = re.compile("|".join(command.names for command in _COMMANDS).encode()).search


def _gap(command: _Command) -> str:
    apart, attached = r"(?:[ \t=]|[\\^`]\r?+\n)++", r"(?=[^\s=\\^`])"
    return "|".join(gap for gap, is_possible in ((apart, command.apart), (attached, command.attached)) if is_possible)


_options = tuple(
    re.compile(rf"(?<=\s)(?:{command.option})(?:{_gap(command)}){_VALUE}", re.DOTALL) for command in _COMMANDS
)
_words = tuple(re.compile(rf"({command.option})(.*)", re.DOTALL).fullmatch for command in _COMMANDS)


def may_run_commands(made: bytes) -> bool:
    """True if a string in this JSON may be a command that receives a secret."""
    return _may_pass(made) is not None and _may_name(made) is not None


def without_option_values(text: str) -> str:
    """`text` without the values of short options that pass a secret to a known command."""
    pieces: list[str] = []
    at = 0
    for command in _command.finditer(text):
        name = _name.search(text, command.start(), command.end())
        if name is None or name.lastgroup is None:
            continue
        kind = int(name.lastgroup[1:])
        begin = text.find(_COMMANDS[kind].after, name.end(), command.end())
        if begin < 0:
            continue
        for option in _options[kind].finditer(text, begin, command.end()):
            pieces += text[at : option.start("value")], REDACTED
            at = option.end()
    return "".join(pieces) + text[at:]


def hidden_words(words: Sequence[str], options: Sequence[int]) -> dict[int, str]:
    """Replacements for a command's words that contain a secret, by their index in the list.

    options: the indexes of the words that begin with a hyphen, in order; at least one.
    """
    hidden: dict[int, str] = {}
    before = words[: min(_FIRST_WORDS, options[-1])]  # an option follows its command
    named = ((at, kind) for at, word in enumerate(before) if (kind := _kind_of(word)) is not None)
    name_at, kind = next(named, (0, None))
    if kind is None:
        return hidden
    command, option_in = _COMMANDS[kind], _words[kind]
    begins_at = words.index(command.after, name_at) if command.after in words[name_at:] else name_at
    if command.after and begins_at == name_at:
        return hidden
    for at in options:
        option = option_in(words[at]) if at > begins_at and at not in hidden else None
        if option is not None and option[2] and command.attached:
            hidden[at] = option[1] + REDACTED
        elif option is not None and not option[2] and command.apart and at + 1 < len(words):
            hidden[at + 1] = REDACTED
    return hidden


def _kind_of(word: str) -> int | None:
    if word[:1] == "-" and "/" not in word:  # a list can have thousands of options, and none is a command
        return None
    match = _name.fullmatch(word.rpartition("/")[2])
    return None if match is None or match.lastgroup is None else int(match.lastgroup[1:])
