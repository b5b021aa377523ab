"""Values that look like credentials of other issuers: the log records only that there was one.

These are the forms that issuers document and that repository scanners (gitleaks, detect-secrets) search for, except
forms that cannot be told from ordinary strings, such as 40 letters and digits.
"""

import string
from typing import Any

import re2

REDACTED = "[REDACTED]"
_SIGN, _WORD = "[A-Za-z0-9_-]", "[A-Za-z0-9]"
_KINDS = (
    rf"sk-{_SIGN}{{16,}}",  # OpenAI, Anthropic, and others in the same style
    rf"(?:gsk_|r8_|pplx-|xai-|hf_|api_org_){_WORD}{{30,}}",  # Groq, Replicate, Perplexity, xAI, Hugging Face
    rf"(?:sk|rk)_(?:live|test|prod)_{_WORD}{{10,}}",  # Stripe
    r"whsec_[A-Za-z0-9+/=]{16,}",
    rf"sq0[a-z]{{3}}-{_SIGN}{{22,}}",  # Square
    r"access-(?:sandbox|development|production)-[0-9a-f-]{36}",  # Plaid
    r"access_token\$(?:sandbox|production)\$[0-9a-z]{16}\$[0-9a-f]{32}",  # PayPal
    rf"gh[pousr]_{_WORD}{{20,}}",  # GitHub
    r"github_pat_\w{20,}",
    rf"gl[a-z]{{2,5}}-{_SIGN}{{20,}}",  # GitLab
    rf"GR1348941{_SIGN}{{20,}}",
    rf"AT(?:ATT|CTT|BB)3?{_SIGN}{{20,}}=?",  # Atlassian
    rf"(?:xox[a-z](?:\.xox[a-z])?|xapp-[0-9])-{_SIGN}{{10,}}",  # Slack
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}",
    rf"discord(?:app)?\.com/api/webhooks/[0-9]+/{_SIGN}{{30,}}",
    r"[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{40,}",
    r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b",  # AWS
    rf"AIza{_SIGN}{{35}}",  # Google
    rf"ya29\.{_SIGN}{{20,}}",
    rf"GOCSPX-{_SIGN}{{20,}}",
    rf"1//0{_SIGN}{{30,}}",
    r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}",  # Azure
    rf"LTAI{_WORD}{{16,}}",  # Alibaba
    rf"(?:npm|rubygems|dckr_pat|pscale_(?:tkn|pw|oauth)|sbp|nfp|napi|lin_api|ntn|shippo_(?:live|test))_{_SIGN}{{20,}}",
    rf"pypi-{_SIGN}{{50,}}",
    rf"CLOJARS_{_WORD}{{40,}}",
    r"do[opr]_v1_[a-f0-9]{64}",
    rf"SG\.{_SIGN}{{16,}}\.{_SIGN}{{16,}}",
    r"(?:key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2}|SK[0-9a-f]{32})\b",  # Mailgun, Mailchimp, Twilio
    r"xkeysib-[0-9a-f]{40,}",
    r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
    r"dapi[a-f0-9]{32}",
    rf"hv[sbr]\.{_SIGN}{{24,}}",
    rf"{_WORD}{{14}}\.atlasv1\.{_SIGN}{{60,}}",  # Terraform
    rf"dp\.(?:pt|st|ct|sa|scim|audit)\.{_SIGN}{{20,}}",  # Doppler
    rf"(?:glc|glsa|figd|sntry[su]|sq[pua]|tskey-[a-z]+|tfp|sgp|rdme|ops|squ)[_-]{_SIGN}{{30,}}=*",
    rf"(?:NRAK|PMAK|NRJS|CFPAT|FLWSECK(?:_TEST)?)-{_SIGN}{{19,}}",
    rf"(?:patch?|key){_WORD}{{14}}\.[0-9a-f]{{64}}",  # Airtable
    rf"sha256~{_SIGN}{{43}}",  # OpenShift
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    rf"[0-9]{{8,10}}:AA{_SIGN}{{33}}",
    rf"eyJ{_SIGN}{{8,}}\.eyJ{_SIGN}{{8,}}(?:\.{_SIGN}*)?",  # a JWT, signed or not
    rf"eyJ{_SIGN}{{8,}}\.{_SIGN}*\.{_SIGN}+\.{_SIGN}+\.{_SIGN}+",  # an encrypted JWT
)
# A PEM block up to its end, or to the end of the enclosing string. Line ends may be escaped, any number of times.
_PEM = r"-----BEGIN [A-Z0-9 ]+-----(?:(?:[^\"\\-]|-[^\"\\-]|\\[^\"])*-----END [A-Z0-9 ]+-----|(?:[^\"\\]|\\[^\"])*)"
_BEFORE = r"(?:\b|\\[bfnrt]|\\u[0-9a-f]{4})"
"""Where a credential can begin: at the start of a word, or after a JSON escape."""

_IN_BASE_64 = r"[A-Za-z0-9+/]*(?:[a-z][A-Z]|[0-9])[A-Za-z0-9+/]+={0,2}"
_WITH_CONTEXT = (
    rf"(?i)({_BEFORE}bearer[ \t]+|authorization[\"'\\]*[ \t]*[:=][ \t]*[\"'\\]*[a-z]+[ \t]+)[A-Za-z0-9._~+/-]{{16,}}=*",
    rf"({_BEFORE}(?i:basic)[ \t]+){_IN_BASE_64}",
    # The signature of a URL is what grants access.
    r"(?i)([?&](?:sig|signature|x-(?:amz|goog)-signature)=)[^&\s\"'\\<>]{8,}",
)
_DATABASES = "(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|oracle)"
_USERINFO = (
    r"(?i)(\b[a-z][a-z0-9+.-]*://[^/\s:@\"\\]*:)[^/\s\"\\]+@",
    # A database URL. Its many parsers differ, and some accept an unquoted slash in the password.
    rf"(?i)({_BEFORE}{_DATABASES}(?:\+[a-z0-9]+)?://[^/\s:@\"\\]*:)[^\s\"\\]+@",
    r"(?i)(\b[a-z][a-z0-9+.-]*://)[A-Za-z0-9_~.-]{20,}@",
    r"(\b[A-Za-z0-9_.-]+:)[^\s@\"\\]+@(?:tcp|unix)\b",
    rf"(?i)({_BEFORE}jdbc:oracle:[a-z]+:[^/\s@\"\\]+/)[^\s@\"\\]+@",
)


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


_known = _compiled(rf"({_BEFORE})(?:{'|'.join(_KINDS)})")
_pem = _compiled(_PEM)
_after = [_compiled(pattern) for pattern in _WITH_CONTEXT]
_before_host = [_compiled(pattern) for pattern in _USERINFO]
_REPLACED = (
    *((pattern, REDACTED.encode()) for pattern in (_pem, _known, *_after)),
    *((pattern, f"{REDACTED}@".encode()) for pattern in _before_host),
)
_any_of_them = _compiled("|".join((_known.pattern, _PEM, *_WITH_CONTEXT, *_USERINFO))).search

RUN = 16
"""Nearly every credential, except the password of a URL, has this many characters of SIGNS in a row."""

SIGNS = frozenset(string.ascii_letters + string.digits + "+/.-_")


def holds_credentials(text: bytes) -> bool:
    """True if the string, JSON or not, contains a credential."""
    return _any_of_them(text) is not None


def without_credentials(text: str) -> str:
    """`text` with every credential in it replaced; if it is JSON, it stays JSON."""
    # Matches are replaced in bytes, by hand: the engine's `sub` takes five times as long for a match.
    raw = text.encode()
    for pattern, after in _REPLACED:
        pieces: list[bytes] = []
        at = 0
        for match in pattern.finditer(raw):
            kept = match.end(1) if pattern.groups else match.start()
            pieces += raw[at:kept], after
            at = match.end()
        if pieces:
            raw = b"".join(pieces) + raw[at:]
    return raw.decode()
