"""Secrets that are named inside a string: embedded JSON, settings, options, headers."""

import json
import re
from collections.abc import Callable
from functools import partial
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

from app.redaction.commands import may_run_commands, without_option_values
from app.redaction.credentials import REDACTED
from app.redaction.redactor import Redactor

_QUOTED = r"""\"{3}(?:(?!"{3}).)*+"{0,3}|'{3}(?:(?!'{3}).)*+'{0,3}|"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?"""
_SCHEME = r"(?:(?i:bearer|basic|token|digest|negotiate|apikey)[ \t]++)?"
_word = re.compile(rf"""{_SCHEME}(?:\([^()\n]{{0,256}}+\)|(?:{_QUOTED}|[^\s&;"'|]++)++)""", re.DOTALL)
_quoted = re.compile(_QUOTED, re.DOTALL)
_rest_of_line = re.compile(r"\S[^\n]*+")
_block = re.compile(r"(?:[ \t]*+\r?+\n)*+(?P<margin>[ \t]++)[^\n]*+(?:\n(?:(?P=margin)[^\n]*+|[ \t\r]*+(?=\n)))*+")
"""Lines that are indented like the first of them."""

_until_quote = re.compile(r"""[^\s"'][^\n"']*+""")
_HEADER = r"(?P<name>(?i:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token))"
_json_value = re.compile(
    rf"""[{{\[](?!REDACTED\]).*|\\+["'].*?(?:\\+["']|$)|(?:{_QUOTED}|{re.escape(REDACTED)}|[^\s,;"'}}\])]++)++""",
    re.DOTALL,
)
"""The value of a JSON member that was cut off. In an object or array, everything that follows may belong to it."""

_NAMED_VALUES = (
    # `name: |` and a block of indented lines, as in YAML
    (
        re.compile(
            r"""^[ \t]*+(?:-[ \t]++)?+["']?+(?P<name>[A-Za-z][\w.-]{0,63}+)["']?+:"""
            r"""[ \t]*+[|>][-+0-9]{0,2}[ \t]*+\r?+\n""",
            re.MULTILINE,
        ),
        _block,
    ),
    # `name="name"` in a part of a form, its value after an empty line
    (
        re.compile(
            r"""\bname=["']?(?P<name>[\w.\[\]-]{1,64}+)["']?[^\n]{0,256}+\n(?:[^\r\n]++\r?+\n){0,8}+\r?+\n""",
            re.IGNORECASE,
        ),
        _rest_of_line,
    ),
    # `key="name" value="value"`, as in XML and HTML
    (
        re.compile(
            r"""\b(?:key|name|id)[ \t]*+=[ \t]*+["'](?P<name>[\w.:-]{1,64}+)["']"""
            r"""[^<>]{0,256}?\bvalue[ \t]*+=[ \t]*+""",
            re.IGNORECASE,
        ),
        _quoted,
    ),
    # `['name'] = value`, and `name: type = value`
    (re.compile(r"""\[["'](?P<name>[\w.-]{1,64}+)["']\][ \t]*+(?::=|=(?!=))[ \t]*+"""), _word),
    (
        re.compile(
            r"""(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,63}+):[ \t]*+[A-Za-z][\w.|<>\[\]]{0,40}+[ \t]*+=(?!=)[ \t]*+"""
        ),
        _word,
    ),
    # `setName('value')`
    (
        re.compile(r"""(?<![A-Za-z])(?P<name>(?i:set|with|use|change|reset|update)[\w]{1,60}+)\([ \t]*+(?=["'])"""),
        _quoted,
    ),
    # `"name": value`, in JSON that is cut or embedded in other text, and in similar notations
    (re.compile(r"""["'](?P<name>[\w .-]{1,64})\\*+["'][ \t]*(?::|=>)\s*+"""), _json_value),
    # `NAME=value`, `--name=value`, `?name=value&…`
    (re.compile(r"""(?<![\w.-])(?P<name>-{0,2}[A-Za-z_][\w.-]{0,63}+)="""), _word),
    # `--name value`, `-name value`
    (re.compile(r"""(?<![\w.-])(?P<name>-{1,2}[A-Za-z][\w.-]{0,63}+)[ \t]++(?!-)"""), _word),
    # `/name:value`, and `name:value` if the name certainly means a password
    (re.compile(r"""(?<![\w./-])(?:/(?P<name>[A-Za-z][\w-]{0,63}+):(?!/))"""), _word),
    (re.compile(r"""(?<![\w.-])(?P<name>(?i:password|passwd|pwd|passphrase)):(?!//)"""), _word),
    # `name = value`, `name := value` and `name => value`, as in settings and programs
    (
        re.compile(
            r"^[ \t]*+(?:(?:export|const|let|var|set)[ \t]++)?(?:\$env)?[:$@]?(?P<name>[A-Za-z_][\w.-]{0,63}+)[ \t]*+"
            r"(?::=|=>|=(?!=))[ \t]++",
            re.MULTILINE,
        ),
        re.compile(rf"""(?:{_QUOTED}|[^\s"'][^\n"']*+)""", re.DOTALL),
    ),
    # The same within a line, and `name: 'value'`, and `PASSWORD 'value'` as SQL has it
    (
        re.compile(
            r"""(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,63}+)(?:[ \t]*+(?::=|=>|=(?!=)|:)[ \t]*+|[ \t]++)(?=["'])"""
        ),
        _quoted,
    ),
    # `config set name value`
    (re.compile(r"\bconfig(?:ure)?[ \t]++set[ \t]++(?P<name>[\w./:-]{1,64}+)[ \t]++", re.IGNORECASE), _word),
    # `<name>value</name>`
    (
        re.compile(r"<(?P<name>[A-Za-z_][\w.:-]{0,63}+)(?:\s[^<>]{0,256}+)?>"),
        re.compile(r"(?:<!\[CDATA\[.*?(?:\]\]>|$)|[^<])++", re.DOTALL),
    ),
    # `Name: value` on a separate line, in quotes like a header in a command, or within a line
    (re.compile(r"""^[ \t]*+(?P<name>[A-Za-z][\w-]{0,63}+)[ \t]{0,8}+:(?!=)[ \t]*+""", re.MULTILINE), _rest_of_line),
    (re.compile(r"""["'](?P<name>[A-Za-z][\w-]{0,63}+):[ \t]*+"""), _until_quote),
    (re.compile(rf"(?<![\w.-]){_HEADER}:[ \t]*+"), _until_quote),
    (re.compile(r"""(?<=[\s({\[,;])(?P<name>[A-Za-z][\w-]{0,63}+):[ \t]++"""), _word),
    # `name: NAME` and on the next line `value: value`
    (
        re.compile(r"""\bname:[ \t]*+["']?+(?P<name>[\w.-]{1,64}+)["']?+[ \t]*+\r?+\n[ \t]*+value:[ \t]*+"""),
        _rest_of_line,
    ),
    # `login ann password value`
    (re.compile(r"\blogin\s++\S++\s++(?P<name>password)\s++"), _word),
)
_ALWAYS = (
    (re.compile(r"\bidentified\s++(?:with\s++\S++\s++)?(?:by|as)\s++(?:password\s++)?", re.IGNORECASE), _word),
    (re.compile(r"\bpassword\s++for\s++\S++\s*+=\s*+", re.IGNORECASE), _word),
    (re.compile(r"\bpass:"), _word),
    (re.compile(r"\bsecret\s++generic\b[^\n]{0,256}?--from-literal[ =][\w.-]{1,64}+="), _word),
    (re.compile(r"\becho[ \t]++(?:-\w++[ \t]++)?(?=[^|\n]{1,256}\|[^|\n]{1,256}--password-stdin)"), _word),
    (re.compile(r"""(?<![\w.-])-{0,2}pass=(?!(?:true|false|yes|no|[0-9]+)\b)""", re.IGNORECASE), _word),
)
"""Patterns that identify a secret by its position rather than by its name."""

_lowered = bytes.maketrans(ascii_uppercase.encode(), ascii_lowercase.encode())
_between_words = bytes(set(range(128)) - set((ascii_letters + digits).encode()))


def may_name_secrets(made: bytes, redactor: Redactor) -> bool:
    """True if a string in this JSON may name a secret."""
    if b"\\\\u" in made or not made.isascii():
        return True
    return redactor.letters(made.translate(_lowered, _between_words)) is not None or may_run_commands(made)


def redacted_text(redactor: Redactor, text: str) -> str:
    """`text` with the values of the secrets it names replaced; a string that is JSON stays JSON."""
    if text.lstrip()[:1] in {"{", "[", '"'}:
        try:
            value = json.loads(text)
            redacted = redactor.walk(value, partial(redacted_text, redactor))
        except ValueError:
            pass
        except RecursionError:
            return REDACTED
        else:
            return text if redacted is value else json.dumps(redacted, ensure_ascii=False, separators=(",", ":"))
    return without_named_values(redactor.is_secret, text)


def without_named_values(is_secret: Callable[[str], bool], text: str) -> str:
    """`text` without the values that follow the names of secrets, whether it is JSON or not."""
    if is_secret("password"):
        text = without_option_values(text)
    for named, value in (*_NAMED_VALUES, *_ALWAYS):
        pieces: list[str] = []
        at = 0
        for match in named.finditer(text):
            name = match["name"] if named.groups else "password"
            if match.start() >= at and is_secret(name) and (secret := value.match(text, match.end())):
                pieces += text[at : match.end()], REDACTED
                at = secret.end()
        text = "".join(pieces) + text[at:]
    return text
