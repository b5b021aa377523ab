"""Values that look like credentials of other issuers: the log records only that there was one.

The forms are those that issuers document and that repository scanners (gitleaks, detect-secrets) search for. Forms that
cannot be told from ordinary strings, such as 40 letters and digits, are not among them.
"""

import string
from typing import Any

import re2

REDACTED = "[REDACTED]"
_SIGN = "[A-Za-z0-9_-]"
_KINDS = (
    rf"sk-{_SIGN}{{16,}}",  # OpenAI, Anthropic, and others in the same style
    r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}",  # Stripe
    r"whsec_[A-Za-z0-9+/=]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{20,}",  # GitHub
    r"github_pat_\w{20,}",
    rf"gl[a-z]{{2,5}}-{_SIGN}{{20,}}",  # GitLab
    r"xox[a-z]-[A-Za-z0-9-]{10,}",  # Slack
    r"xapp-[0-9]-[A-Za-z0-9-]{10,}",
    r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b",  # AWS
    rf"AIza{_SIGN}{{35}}",  # Google
    rf"ya29\.{_SIGN}{{20,}}",
    rf"GOCSPX-{_SIGN}{{20,}}",
    r"npm_[A-Za-z0-9]{36}",
    rf"pypi-{_SIGN}{{50,}}",
    r"hf_[A-Za-z0-9]{30,}",
    r"do[opr]_v1_[a-f0-9]{64}",
    rf"SG\.{_SIGN}{{16,}}\.{_SIGN}{{16,}}",
    r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
    r"dapi[a-f0-9]{32}",
    rf"hv[sbr]\.{_SIGN}{{24,}}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    rf"[0-9]{{8,10}}:AA{_SIGN}{{33}}",
    rf"eyJ{_SIGN}{{8,}}\.eyJ{_SIGN}{{8,}}(?:\.{_SIGN}*)?",  # a JWT, signed or not
    rf"eyJ{_SIGN}{{8,}}\.{_SIGN}*\.{_SIGN}+\.{_SIGN}+\.{_SIGN}+",  # an encrypted JWT
)
# To its end, or to the end of the enclosing string; a line's end may be escaped, any number of times.
_PEM = r"-----BEGIN [A-Z0-9 ]+-----(?:(?:[^\"\\-]|-[^\"\\-]|\\[^\"])*-----END [A-Z0-9 ]+-----|(?:[^\"\\]|\\[^\"])*)"
_BEFORE = r"(?:\b|\\[bfnrt]|\\u[0-9a-f]{4})"
"""Where a credential can begin: at the start of a word, or after a JSON escape."""

_WITH_CONTEXT = (
    rf"(?i)({_BEFORE}bearer[ \t]+|authorization[\"'\\]*[ \t]*[:=][ \t]*[\"'\\]*[a-z]+[ \t]+)[A-Za-z0-9._~+/-]{{16,}}=*",
    r"(?i)(\b[a-z][a-z0-9+.-]*://[^/\s:@\"\\]*:)[^/\s@\"\\]+@",
)


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


_known = _compiled(rf"({_BEFORE})(?:{'|'.join(_KINDS)})")
_pem, _token, _userinfo = map(_compiled, (_PEM, *_WITH_CONTEXT))
_any_of_them = _compiled("|".join((_known.pattern, _PEM, *_WITH_CONTEXT))).search

RUN = 16
"""Substrings one of which occurs in every credential except the password of a URL."""

SIGNS = frozenset(string.ascii_letters + string.digits + "+/.-_")


def holds_credentials(text: bytes) -> bool:
    """Whether the string, JSON or not, holds a credential."""
    return _any_of_them(text) is not None


def without_credentials(text: str) -> str:
    """`text` with every credential in it replaced; if it is JSON, it stays JSON."""
    text = _known.sub(rf"\1{REDACTED}", _pem.sub(REDACTED, text))
    text = _token.sub(rf"\1{REDACTED}", text)
    return str(_userinfo.sub(rf"\1{REDACTED}@", text))
