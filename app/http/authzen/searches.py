"""The bodies of AuthZEN's searches, and their answers."""

from typing import ClassVar

from msgspec import UNSET, Struct, UnsetType

from app.http.authzen.entities import Action, Object, Resource, Subject, Word
from app.http.authzen.pages import PageRequest, PageView


class OfType(Struct, frozen=True, kw_only=True):
    """The entities that are searched for. An id is ignored.

    type: Their type.
    """

    type: Word


class Search(Struct, frozen=True, kw_only=True):
    """What every search may have.

    context: What the caller vouches for besides the entities.
    page: Which part of the results to answer with.
    """

    aliases: ClassVar[dict[str, str]] = {}
    required_fields: ClassVar[tuple[str, ...]] = ()

    context: Object | UnsetType = UNSET
    page: PageRequest | UnsetType = UNSET


class SubjectSearch(Search, frozen=True, kw_only=True):
    """Which subjects may do this?

    subject: The type of subjects to find.
    action: What they may do.
    resource: On what; a resource that the catalogue does not have is unknown.
    """

    required_fields: ClassVar[tuple[str, ...]] = ("subject", "action", "resource")

    subject: OfType
    action: Action
    resource: Resource


class ResourceSearch(Search, frozen=True, kw_only=True):
    """On which resources may the subject do this?

    subject: Who.
    action: What.
    resource: The type of resources to find, in the catalogue.
    """

    required_fields: ClassVar[tuple[str, ...]] = ("subject", "action", "resource")

    subject: Subject
    action: Action
    resource: OfType


class ActionSearch(Search, frozen=True, kw_only=True):
    """What may the subject do on the resource?

    subject: Who.
    resource: On what. Its actions, or those of its type, are in the catalogue.
    """

    required_fields: ClassVar[tuple[str, ...]] = ("subject", "resource")

    subject: Subject
    resource: Resource


class FoundEntity(Struct, frozen=True, kw_only=True):
    """A subject or a resource.

    type: Its type.
    id: Its id; an agent's is its alias, if it has one.
    """

    type: str
    id: str


class FoundEntities(Struct, frozen=True, kw_only=True):
    """What a search has found.

    page: Where this page is.
    results: In the order of their ids.
    """

    page: PageView
    results: list[FoundEntity]


class FoundAction(Struct, frozen=True, kw_only=True):
    """An action.

    name: Its name.
    """

    name: str


class FoundActions(Struct, frozen=True, kw_only=True):
    """What a search for actions has found.

    page: Where this page is.
    results: In the order of their names.
    """

    page: PageView
    results: list[FoundAction]
