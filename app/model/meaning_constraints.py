"""Constraints on what a string means: a file, host, mailbox or network within a given set. Every instance is valid."""

from collections.abc import Callable, Iterable
from typing import Annotated, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from app.language.addresses import canonical_network, networks_of
from app.language.ambiguous import Ambiguous
from app.language.email_domains import is_mail_domain
from app.language.file_kinds import FileKind
from app.language.hosts import canonical_domain, canonical_pattern
from app.language.paths import canonical_path
from app.model.context_roots import ContextRoot
from app.model.text import FieldError

_Read = TypeVar("_Read")
_Text = Annotated[str, Meta(min_length=1, max_length=4096)]
_Several = Meta(min_length=1, max_length=100)
_Networks = Annotated[list[Annotated[_Text, Meta(extra_json_schema={"format": "network"})]], _Several]


class PathConstraint(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A POSIX path that is, or lies below, one of these directories, and is of none of these kinds.

    under: Absolute paths of the directories, in their canonical form, or values of `context`; anywhere if left out.
    not_among: Kinds of files that it must not be, by the names below those directories: `secrets` = keys and
    credentials, `runs` = what tools run or obey unasked, `hidden` = names that begin with a dot.
    ignore_case: true = directories are the same in any letter case, as where macOS and Windows keep files.
    """

    under: (
        Annotated[list[Annotated[_Text, Meta(extra_json_schema={"format": "posix-path"})] | ContextRoot], _Several]
        | UnsetType
    ) = UNSET
    not_among: Annotated[list[FileKind], Meta(min_length=1, max_length=len(FileKind))] | UnsetType = UNSET
    ignore_case: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.under is UNSET and self.not_among is UNSET:
            raise FieldError("under", "give under, notAmong or both")
        if isinstance(self.under, UnsetType):
            if self.ignore_case is not UNSET:
                message = "is about the directories of `under`, which is missing; `notAmong` ignores case anyway"
                raise FieldError("ignoreCase", message)
            return
        for index, text in enumerate(self.under):
            if isinstance(text, str):
                canonical = _read("under", index, text, canonical_path)
                if canonical != (text.rstrip("/") or "/"):
                    raise FieldError(f"under[{index}]", f"write it as {canonical}, the way it is read")

    @property
    def constant_roots(self) -> list[str]:
        """The directories that no call names."""
        return [each for each in self._roots if isinstance(each, str)]

    @property
    def root_names(self) -> list[str]:
        """The names in `context` of the others."""
        return [each.context for each in self._roots if isinstance(each, ContextRoot)]

    @property
    def roots_in_words(self) -> list[str]:
        """Each directory, for people."""
        return [each if isinstance(each, str) else f'context "{each.context}"' for each in self._roots]

    @property
    def _roots(self) -> list[str | ContextRoot]:
        return [] if isinstance(self.under, UnsetType) else self.under


class HostConstraint(
    Struct, frozen=True, forbid_unknown_fields=True, rename={"among": "in", "not_networks": "notNetworks"}
):
    """A URL or host on one of these hosts or in one of these networks; refused unless every URL parser finds the same
    host in it.

    among: Hosts; `*.corp.com` is every name below corp.com.
    networks: Networks such as 10.0.0.0/8 in which an address may lie instead; `private` = all that are not the public
    Internet's. A name may lead to any address, so it cannot be judged unless `in` has it.
    not_networks: Networks in which an address must not lie, even if it is one of the others. Here, too, a name cannot
    be judged unless `in` has it.
    """

    among: (
        Annotated[list[Annotated[_Text, Meta(extra_json_schema={"format": "host-pattern"})]], _Several] | UnsetType
    ) = UNSET
    networks: _Networks | UnsetType = UNSET
    not_networks: _Networks | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.among is UNSET and self.networks is UNSET and self.not_networks is UNSET:
            raise FieldError("in", "give in, networks or notNetworks")
        _require_each("in", self.hosts, canonical_pattern)
        for field, networks in (("networks", self.networks), ("notNetworks", self.not_networks)):
            _require_each(field, () if isinstance(networks, UnsetType) else networks, networks_of)

    @property
    def hosts(self) -> list[str]:
        """The hosts that it names."""
        return [] if isinstance(self.among, UnsetType) else self.among

    @property
    def in_words(self) -> list[str]:
        """Each host and network that it accepts or refuses, for people."""
        accepted = [*self.hosts, *(() if isinstance(self.networks, UnsetType) else self.networks)]
        refused = () if isinstance(self.not_networks, UnsetType) else self.not_networks
        return [*accepted, *(f"not in {each}" for each in refused)]


class EmailDomainConstraint(Struct, frozen=True, forbid_unknown_fields=True, rename={"among": "in"}):
    """One plain mail address in one of these domains.

    among: Domains; `*.corp.com` is every domain below corp.com.
    """

    among: Annotated[list[Annotated[_Text, Meta(extra_json_schema={"format": "domain-pattern"})]], _Several]

    def __post_init__(self) -> None:
        _require_each("in", self.among, lambda text: canonical_domain(text.removeprefix("*.")))
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
        _read(field, index, text, read)


def _read(field: str, index: int, text: str, read: Callable[[str], _Read]) -> _Read:
    try:
        return read(text)
    except Ambiguous as error:
        raise FieldError(f"{field}[{index}]", f'"{text[:80]}" {error}') from None
