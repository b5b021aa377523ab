"""POST /access/v1/search/…: AuthZEN's Search APIs, with their bodies and answers."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import msgspec
from litestar import Request, Response
from msgspec import UNSET, Raw, Struct, UnsetType

from app.errors import Invalid
from app.explain.access_search import MOST_JUDGED, AccessSearch, Candidate, reference_of
from app.http.authzen.entities import (
    TOOL,
    Action,
    EvaluationBody,
    Object,
    Resource,
    Subject,
    Word,
    call_of,
    named_agent,
    require_json,
)
from app.http.authzen.pages import Page, PageRequest, PageView, page_of
from app.http.batches import require_distinct_names
from app.http.bodies import read_body
from app.http.endpoint import JSON, endpoint
from app.http.tool_calls import Reading, not_a_call, reading_of
from app.model.api_keys import Caller, Scope
from app.model.resources import CatalogResource
from app.replica import Services


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


PATHS = {name: f"/access/v1/search/{name}" for name in ("subject", "resource", "action")}
_CALL = "call"
"""The action of a tool: whatever its name, its calls are judged alike."""

_ENDPOINT: dict[str, Any] = {"tag": "AuthZEN", "scopes": (Scope.READ, Scope.VIEW, Scope.AUTHORIZE), "reads_only": True}
_SEARCHED = {SubjectSearch: "subject", ResourceSearch: "resource", ActionSearch: "action"}
_Decoded = tuple[Any, Page, Reading]


@endpoint("POST", PATHS["subject"], **_ENDPOINT, body=SubjectSearch, answer=FoundEntities)
async def search_subjects(request: Request[Any, Any, Any], caller: Caller, services: Services) -> Response[bytes]:
    """Find the subjects that may do something, as AuthZEN asks for it.

    Active agents of the type, judged with the properties that the catalogue has of them. With `context.agent`, the
    catalogue's subjects of that type, judged by the policies of that agent.
    """
    body, page, reading = await _read(request, caller, services, SubjectSearch)
    known = (await services.records.resources.known(caller.workspace_id)).by_type
    search, kind = services.explanations.access_search, body.subject.type
    if not await _is_known(services, caller, body.resource):
        return _answer(page, [], [], is_last=True)
    entries, named, is_last = known.get(kind, {}), named_agent(body.context), True
    if named is None:
        agents, has_more = await search.agents_of(caller, kind, page.after)
        subjects, is_last = [(agent, reference_of(agent.agent)) for agent in agents], not has_more
    else:
        agent = await search.agent(caller, named, "")
        ids, is_last = _after(page, entries)
        subjects = [] if agent is None else [(agent, each) for each in ids]

    def call(subject_id: str) -> EvaluationBody:
        subject = Subject(type=kind, id=subject_id, properties=_properties(entries.get(subject_id)))
        return EvaluationBody(subject=subject, action=body.action, resource=body.resource, context=body.context)

    candidates = [(agent, _making(call, subject_id, reading)) for agent, subject_id in subjects]
    names = [subject_id for _, subject_id in subjects]
    return await _found(search, caller, page, candidates, names, is_last=is_last, kind=kind)


@endpoint("POST", PATHS["resource"], **_ENDPOINT, body=ResourceSearch, answer=FoundEntities)
async def search_resources(request: Request[Any, Any, Any], caller: Caller, services: Services) -> Response[bytes]:
    """Find the resources on which a subject may do something, as AuthZEN asks for it.

    Resources of the type that are in the catalogue, judged with their properties there; for the type `tool`, all known
    tools, judged as calls without parameters.
    """
    body, page, reading = await _read(request, caller, services, ResourceSearch)
    search, kind = services.explanations.access_search, body.resource.type
    entries = await _entries(services, caller, kind)
    agent = await _agent(search, caller, body.subject, body.context)
    ids, is_last = _after(page, entries)

    def call(resource_id: str) -> EvaluationBody:
        resource = Resource(type=kind, id=resource_id, properties=_properties(entries[resource_id]))
        return EvaluationBody(subject=body.subject, action=body.action, resource=resource, context=body.context)

    candidates = [] if agent is None else [(agent, _making(call, each, reading)) for each in ids]
    return await _found(search, caller, page, candidates, ids, is_last=is_last, kind=kind)


@endpoint("POST", PATHS["action"], **_ENDPOINT, body=ActionSearch, answer=FoundActions)
async def search_actions(request: Request[Any, Any, Any], caller: Caller, services: Services) -> Response[bytes]:
    """Find what a subject may do on a resource, as AuthZEN asks for it.

    The actions that the catalogue has for the resource, or for its type if the resource has none. A tool's is `call`.
    """
    body, page, reading = await _read(request, caller, services, ActionSearch)
    search = services.explanations.access_search
    entries = await _entries(services, caller, body.resource.type)
    agent = await _agent(search, caller, body.subject, body.context)
    actions: set[str] = set()
    if body.resource.id in entries:
        entry = entries[body.resource.id]
        own = set() if entry is None else set(entry.actions)
        of_type = {action for each in entries.values() if each is not None for action in each.actions}
        actions = {_CALL} if body.resource.type == TOOL else own or of_type
    names, is_last = _after(page, actions)

    def call(name: str) -> EvaluationBody:
        action = Action(name=name)
        return EvaluationBody(subject=body.subject, action=action, resource=body.resource, context=body.context)

    candidates = [] if agent is None else [(agent, _making(call, each, reading)) for each in names]
    return await _found(search, caller, page, candidates, names, is_last=is_last, kind=None)


async def _read(request: Request[Any, Any, Any], caller: Caller, services: Services, kind: type[Search]) -> _Decoded:
    """The search, its page, and what its calls are read with. Raises Invalid, PayloadTooLarge."""
    require_json(request.scope["headers"])
    raw = await read_body(request.receive)
    reading = reading_of(services.decisions, caller, ())
    given = require_distinct_names(raw, reading)
    try:
        body = msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_a_call(raw, error, kind, reading.settings.call_bytes_max) from None
    read = [name for name in ("subject", "action", "resource", "context") if name in kind.__struct_fields__]
    same: dict[str, Any] = {name: given[name] for name in read if name in given}
    _require_objects(same)
    searched = _SEARCHED[kind]
    if searched in same:
        same[searched] = {name: value for name, value in same[searched].items() if name != "id"}
    return body, page_of(body.page, same), reading


def _require_objects(entities: dict[str, Any]) -> None:
    """Raise Invalid unless the context and all properties are objects, also those that this search does not read."""
    for name, entity in entities.items():
        path, value = (name, entity) if name == "context" else (f"{name}.properties", entity.get("properties", {}))
        if not isinstance(value, dict):
            raise Invalid.at(f"$.{path}", "must be an object")


async def _agent(search: AccessSearch, caller: Caller, subject: Subject, context: Raw | UnsetType) -> Any:
    """The agent whose policies judge the subject's calls; None if there is none."""
    named = named_agent(context)
    return await search.agent(caller, *((subject.id, subject.type) if named is None else (named, "")))


async def _entries(services: Services, caller: Caller, kind: str) -> dict[str, CatalogResource | None]:
    """The known resources of this type."""
    if kind == TOOL:
        return dict.fromkeys((await services.records.catalog.listing(caller.workspace_id)).names)
    return dict((await services.records.resources.known(caller.workspace_id)).by_type.get(kind, {}))


async def _is_known(services: Services, caller: Caller, resource: Resource) -> bool:
    return resource.id in await _entries(services, caller, resource.type)


def _after(page: Page, names: Iterable[str]) -> tuple[list[str], bool]:
    """The names that come after the page before, at most as many as are judged at once; and whether these are all."""
    left = sorted(name for name in names if name > page.after)
    return left[:MOST_JUDGED], len(left) <= MOST_JUDGED


def _properties(entry: CatalogResource | None) -> Raw | UnsetType:
    return UNSET if entry is None or not entry.properties else Raw(msgspec.json.encode(entry.properties))


def _making(call: Callable[[str], EvaluationBody], name: str, reading: Reading) -> Callable[[], Any]:
    return lambda: call_of(call(name), reading)[0]


async def _found(
    search: AccessSearch,
    caller: Caller,
    page: Page,
    candidates: Sequence[Candidate],
    names: Sequence[str],
    *,
    is_last: bool,
    kind: str | None,
) -> Response[bytes]:
    """The answer with those of the candidates that are allowed. kind: the type of entities; None = actions."""
    places = await search.permitted(caller, candidates, page.limit + 1)
    shown = [names[place] for place in places[: page.limit]]
    results: list[Any] = [FoundAction(name=each) if kind is None else FoundEntity(type=kind, id=each) for each in shown]
    if len(places) > page.limit:
        return _answer(page, results, shown or [page.after], is_last=False)
    return _answer(page, results, names, is_last=is_last)


def _answer(page: Page, results: list[Any], judged: Sequence[str], *, is_last: bool) -> Response[bytes]:
    token = "" if is_last or not judged else page.token(judged[-1])
    view = {"page": PageView(next_token=token, count=len(results)), "results": results}
    return Response(msgspec.json.encode(view), media_type=JSON)
