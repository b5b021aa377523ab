"""Constraints on what a string means: a file, host, mailbox or network within a given set. Every instance is valid."""

from collections.abc import Callable, Iterable
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from app.language.addresses import canonical_network
from app.language.ambiguous import Ambiguous
from app.language.email_domains import is_mail_domain
from app.language.file_kinds import FileKind
from app.language.hosts import canonical_domain, canonical_pattern
from app.language.paths import canonical_path
from app.model.text import FieldError

_Text = Annotated[str, Meta(min_length=1, max_length=4096)]
_Several = Meta(min_length=1, max_length=100)


class PathConstraint(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A POSIX path that is, or lies below, one of these directories, and is of none of these kinds.

    under: Absolute paths of the directories, in their canonical form; anywhere if left out.
    not_among: Kinds of files that it must not be, by the names below those directories: `secrets` = keys and
    credentials, `runs` = what tools run or obey unasked, `hidden` = names that begin with a dot.
    """

    under: Annotated[list[Annotated[_Text, Meta(extra_json_schema={"format": "posix-path"})]], _Several] | UnsetType = (
        UNSET
    )
    not_among: Annotated[list[FileKind], Meta(min_length=1, max_length=len(FileKind))] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.under is UNSET and self.not_among is UNSET:
            raise FieldError("under", "give under, notAmong or both")
        if isinstance(self.under, UnsetType):
            return
        _require_each("under", self.under, canonical_path)
        for index, text in enumerate(self.under):
            if canonical_path(text) != (text.rstrip("/") or "/"):
                raise FieldError(f"under[{index}]", f"write it as {canonical_path(text)}, the way it is read")


class HostConstraint(Struct, frozen=True, forbid_unknown_fields=True, rename={"among": "in"}):
    """A URL or host on one of these hosts; refused unless every URL parser finds the same host in it.

    among: Hosts; `*.corp.com` is every name below corp.com.
    """

    among: Annotated[list[Annotated[_Text, Meta(extra_json_schema={"format": "host-pattern"})]], _Several]

    def __post_init__(self) -> None:
        _require_each("in", self.among, canonical_pattern)


class EmailDomainConstraint(Struct, frozen=True, forbid_unknown_fields=True, rename={"among": "in"}):
    """One plain mail address in one of these domains.

    among: Domains; `*.corp.com` is every domain below corp.com.
    """

    among: Annotated[list[Annotated[_Text, Meta(extra_json_schema={"format": "domain-pattern"})]], _Several]

    def __post_init__(self) -> None:
        _require_each("in", self.among, lambda text: canonical_domain(text.removeprefix("*.")))

    def require_mailboxes(self) -> None:
        """Raise FieldError at the first domain that cannot have mailboxes.

        Policies stored by older releases may name some.
        """
        for index, text in enumerate(self.among):
            below, domain = text.startswith("*."), canonical_domain(text.removeprefix("*."))
            if not is_mail_domain(f"any.{domain}" if below else domain):
                message = f'"{text[:80]}" has no mailboxes; write a domain such as corp.com or *.corp.com'
                raise FieldError(f"in[{index}]", message)


class CidrConstraint(Struct, frozen=True, forbid_unknown_fields=True, rename={"among": "in"}):
    """An IP address or network that lies wholly in one of these networks.

    among: Networks such as 10.0.0.0/8.
    """

    among: Annotated[list[Annotated[_Text, Meta(extra_json_schema={"format": "cidr"})]], _Several]

    def __post_init__(self) -> None:
        _require_each("in", self.among, canonical_network)


def _require_each(field: str, values: Iterable[str], read: Callable[[str], object]) -> None:
    for index, text in enumerate(values):
        try:
            read(text)
        except Ambiguous as error:
            raise FieldError(f"{field}[{index}]", f'"{text[:80]}" {error}') from None
