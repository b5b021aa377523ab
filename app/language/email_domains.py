"""The domain of one plain mail address. Anything that mail programs could read in several ways is refused."""

import re
import unicodedata

from app.language.ambiguous import Ambiguous
from app.language.hosts import canonical_domain

MAX_ADDRESS = 254
_atoms = re.compile(r"[\w+'=~&#-]+(?:\.[\w+'=~&#-]+)*").fullmatch


def canonical_email_domain(text: str) -> str:
    """The domain of the address `local@domain`, lower case and ASCII. Raises Ambiguous.

    Refused: quoted local parts, comments, display names, several addresses, routes (`@a:b@c`, `a%b@c`, `a!b@c`),
    address literals in brackets, `mailto:` and every space.
    """
    if len(text) > MAX_ADDRESS:
        raise Ambiguous(f"has more than {MAX_ADDRESS} characters")
    local, at, domain = text.partition("@")
    if not at or "@" in domain:
        raise Ambiguous("is not one address with one @")
    if not _atoms(local) or unicodedata.normalize("NFKC", local) != local:
        raise Ambiguous("has more before its @ than letters, digits, single dots and + - _ ' = ~ & #")
    if domain.endswith("."):
        raise Ambiguous("ends with a dot")
    name = canonical_domain(domain)
    if not is_mail_domain(name):
        raise Ambiguous("has no domain name after its @")
    return name


def is_mail_domain(canonical: str) -> bool:
    """True if a canonical domain can follow an @ here: it has a dot, and is not an IP address."""
    return "." in canonical and not canonical.rpartition(".")[2].isdigit()
