"""The forms in which a string names a value: `--name value`, `name = value`, `<name>value</name>` and others."""

import re
from typing import NamedTuple

from app.redaction.credentials import REDACTED

_QUOTED = r"""\"{3}(?:(?!"{3}).)*+"{0,3}|'{3}(?:(?!'{3}).)*+'{0,3}|"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?"""
_SCHEME = r"(?:(?i:bearer|basic|token|digest|negotiate|apikey)[ \t]++)?"
_word = re.compile(rf"""{_SCHEME}(?:\([^()\n]{{0,256}}+\)|(?:{_QUOTED}|[^\s&;"'|]++)++)""", re.DOTALL)
QUOTED = re.compile(_QUOTED, re.DOTALL)
_rest_of_line = re.compile(r"\S[^\n]*+")
_block = re.compile(r"(?:[ \t]*+\r?+\n)*+(?P<margin>[ \t]++)[^\n]*+(?:\n(?:(?P=margin)[^\n]*+|[ \t\r]*+(?=\n)))*+")
"""Lines that are indented like the first of them."""

_until_quote = re.compile(r"""[^\s"'][^\n"']*+""")
_HEADER = r"(?P<name>(?i:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token))"
_json_value = re.compile(
    rf"""[{{\[](?!REDACTED\]).*|\\++["'](?:[^\\]++|\\++(?!["']))*+(?:\\++["'])?+"""
    rf"""|(?:{_QUOTED}|{re.escape(REDACTED)}|[^\s,;"'}}\])]++)++""",
    re.DOTALL,
)
"""The value of a JSON member that was cut off. In an object or array, everything that follows may belong to it."""


class _Named(NamedTuple):
    """One of the forms.

    needs: parts of every text that has it, in small letters and with double quotes only. name: found up to where the
    value begins; without a group `name`, what it finds is certainly secret. value: matched there.
    """

    needs: tuple[str, ...]
    name: re.Pattern[str]
    value: re.Pattern[str]


def _named(needs: str, name: re.Pattern[str], value: re.Pattern[str]) -> _Named:
    return _Named(tuple(needs.split(" ")), name, value)


may_name = re.compile(r"[\s=:\"'<(-]").search
"""None of the forms is in a text without one of these characters."""

ATTRIBUTE = re.compile(
    r"""\b(?:key|name|id)[ \t]*+=[ \t]*+["'](?P<name>[\w.:-]{1,64}+)["']|\b(?P<value>value)[ \t]*+=[ \t]*+|[<>]""",
    re.IGNORECASE,
)
"""A name or a value of `name="name" value="value"`, as in XML and HTML, or an end of the tag."""

ATTRIBUTES_APART = 256
"""The most characters between a name and its value."""

NAMED_VALUES = (
    # `name: |` and a block of indented lines, as in YAML
    _named(
        ": \n",
        re.compile(
            r"""^[ \t]*+(?:-[ \t]++)?+["']?+(?P<name>\d{0,2}+[A-Za-z][\w.-]{0,63}+)["']?+:"""
            r"""[ \t]*+[|>][-+0-9]{0,2}[ \t]*+\r?+\n""",
            re.MULTILINE,
        ),
        _block,
    ),
    # `name="name"` in a part of a form, its value after an empty line
    _named(
        "name= \n",
        re.compile(
            r"""\bname=["']?(?P<name>[\w.\[\]-]{1,64}+)["']?[^\n]{0,256}+\n(?:[^\r\n]++\r?+\n){0,8}+\r?+\n""",
            re.IGNORECASE,
        ),
        _rest_of_line,
    ),
    # `['name'] = value`, and `name: type = value`
    _named('[" =', re.compile(r"""\[["'](?P<name>[\w.-]{1,64}+)["']\][ \t]*+(?::=|=(?!=))[ \t]*+"""), _word),
    _named(
        ": =",
        re.compile(
            r"""(?<![\w.-])(?P<name>\d{0,2}+[A-Za-z_][\w.-]{0,63}+):[ \t]*+"""
            r"""[A-Za-z][\w.|<>\[\]]{0,40}+[ \t]*+=(?!=)[ \t]*+"""
        ),
        _word,
    ),
    # `setName('value')`
    _named(
        '( "',
        re.compile(r"""(?<![A-Za-z])(?P<name>(?i:set|with|use|change|reset|update)[\w]{1,60}+)\([ \t]*+(?=["'])"""),
        QUOTED,
    ),
    # `"name": value`, in JSON that is cut or embedded in other text, and in similar notations
    _named('"', re.compile(r"""["'](?P<name>[\w .-]{1,64})\\*+["'][ \t]*+(?::|=>)\s*+"""), _json_value),
    # `NAME=value`, `--name=value`, `?name=value&…`
    _named("=", re.compile(r"""(?<![\w.-])(?P<name>-{0,2}\d{0,2}+[A-Za-z_][\w.-]{0,63}+)="""), _word),
    # `--name value`, `-name value`
    _named("-", re.compile(r"""(?<![\w.-])(?P<name>-{1,2}\d{0,2}+[A-Za-z][\w.-]{0,63}+)[ \t]++(?!-)"""), _word),
    # `/name:value`, and `name:value` if the name certainly means a password
    _named("/ :", re.compile(r"""(?<![\w./-])(?:/(?P<name>\d{0,2}+[A-Za-z][\w-]{0,63}+):(?!/))"""), _word),
    _named(":", re.compile(r"""(?<![\w.-])(?P<name>(?i:password|passwd|pwd|passphrase)):(?!//)"""), _word),
    # `name = value`, `name := value` and `name => value`, as in settings and programs
    _named(
        "=",
        re.compile(
            r"^[ \t]*+(?:(?:export|const|let|var|set)[ \t]++)?(?:\$env)?[:$@]?"
            r"(?P<name>\d{0,2}+[A-Za-z_][\w.-]{0,63}+)[ \t]*+(?::=|=>|=(?!=))[ \t]++",
            re.MULTILINE,
        ),
        re.compile(rf"""(?:{_QUOTED}|[^\s"'][^\n"']*+)""", re.DOTALL),
    ),
    # The same within a line, and `name: 'value'`, and `PASSWORD 'value'` as SQL has it
    _named(
        '"',
        re.compile(
            r"""(?<![\w.-])(?P<name>\d{0,2}+[A-Za-z_][\w.-]{0,63}+)"""
            r"""(?:[ \t]*+(?::=|=>|=(?!=)|:)[ \t]*+|[ \t]++)(?=["'])"""
        ),
        QUOTED,
    ),
    # `config set name value`
    _named(
        "config set",
        re.compile(r"\bconfig(?:ure)?[ \t]++set[ \t]++(?P<name>[\w./:-]{1,64}+)[ \t]++", re.IGNORECASE),
        _word,
    ),
    # `<name>value</name>`
    _named(
        "< >",
        re.compile(r"<(?P<name>\d{0,2}+[A-Za-z_][\w.:-]{0,63}+)(?:\s[^<>]{0,256}+)?>"),
        re.compile(r"(?:<!\[CDATA\[(?:[^\]]|\](?!\]>))*+(?:\]\]>)?+|[^<])++", re.DOTALL),
    ),
    # `Name: value` on a separate line, in quotes like a header in a command, or within a line
    _named(
        ":",
        re.compile(r"""^[ \t]*+(?P<name>\d{0,2}+[A-Za-z][\w-]{0,63}+)[ \t]{0,8}+:(?!=)[ \t]*+""", re.MULTILINE),
        _rest_of_line,
    ),
    _named('" :', re.compile(r"""["'](?P<name>\d{0,2}+[A-Za-z][\w-]{0,63}+):[ \t]*+"""), _until_quote),
    _named(":", re.compile(rf"(?<![\w.-]){_HEADER}:[ \t]*+"), _until_quote),
    _named(":", re.compile(r"""(?<=[\s({\[,;])(?P<name>\d{0,2}+[A-Za-z][\w-]{0,63}+):[ \t]++"""), _word),
    # `name: NAME` and on the next line `value: value`
    _named(
        "name: value:",
        re.compile(r"""\bname:[ \t]*+["']?+(?P<name>[\w.-]{1,64}+)["']?+[ \t]*+\r?+\n[ \t]*+value:[ \t]*+"""),
        _rest_of_line,
    ),
    # `login ann password value`
    _named("login password", re.compile(r"\blogin\s++\S++\s++(?P<name>password)\s++"), _word),
    # Patterns that identify a secret by its position rather than by its name
    _named(
        "identified",
        re.compile(r"\bidentified\s++(?:with\s++\S++\s++)?(?:by|as)\s++(?:password\s++)?", re.IGNORECASE),
        _word,
    ),
    _named("password for =", re.compile(r"\bpassword\s++for\s++\S++\s*+=\s*+", re.IGNORECASE), _word),
    _named("pass:", re.compile(r"\bpass:"), _word),
    _named(
        "generic --from-literal",
        re.compile(r"\bsecret\s++generic\b[^\n]{0,256}?--from-literal[ =][\w.-]{1,64}+="),
        _word,
    ),
    _named(
        "echo --password-stdin",
        re.compile(r"\becho[ \t]++(?:-\w++[ \t]++)?(?=[^|\n]{1,256}+\|(?:(?!--password-stdin)[^|\n]){1,256}+--)"),
        _word,
    ),
    # `pass`, if a password follows and no count
    _named(
        "pass",
        re.compile(
            r"""(?<![\w.-])(?:-{0,2}pass=|-{1,2}pass[ \t]++(?!-)|<pass>|["']pass["'][ \t]*+:[ \t]*+"""
            r"""|(?:^|(?<=[{(\[,]))[ \t]*+pass[ \t]*+(?::=?+|=>?+)[ \t]*+)(?!(?:true|false|yes|no|ok|[0-9]{1,3})\b)""",
            re.IGNORECASE | re.MULTILINE,
        ),
        _word,
    ),
)
