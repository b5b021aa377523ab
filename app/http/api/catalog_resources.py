"""/v1/catalog/{type}/{id}: resources of any type but tools."""

from typing import Any

from litestar import Response
from msgspec import field

from app.errors import Invalid, LimitReached, ResourceNotFound, VersionConflict
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.headers import version_header
from app.http.openapi.described_headers import ETAG
from app.http.references import name_in_path
from app.http.views.catalog import ResourceView
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.resources import (
    MAX_RESOURCE_ID,
    MAX_TYPE,
    ActionName,
    CatalogResource,
    ResourceEntry,
    require_storable,
)
from app.replica import Records
from app.store.optimistic import Versions
from app.validation_messages import refusing_fields

_PATH = "/v1/catalog/{resource_type}/{resource_name}"
_WRITE: dict[str, Any] = {"tag": "Catalogue", "scopes": (Scope.ADMIN, Scope.POLICIES)}
_READ: dict[str, Any] = {"tag": "Catalogue", "scopes": (Scope.READ, Scope.VIEW, Scope.POLICIES)}


class PutResource(Body, frozen=True):
    """A resource, or a subject, that AuthZEN's searches shall know.

    title: Its name for people.
    description: What it is.
    actions: The actions that there are on it.
    properties: Its attributes, which searches judge it by.
    input_schema: The JSON Schema of an action's properties.
    """

    title: str | None = None
    description: str | None = None
    actions: list[ActionName] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)
    input_schema: dict[str, Any] | None = field(default=None, name="inputSchema")


@endpoint("GET", _PATH, **_READ, errors=(ResourceNotFound,), headers=ETAG)
async def get_resource(
    resource_type: str, resource_name: str, caller: Caller, records: Records
) -> Response[ResourceView]:
    """Read a resource of the catalogue."""
    named = _entry(resource_type, resource_name, PutResource())
    return _answer(await records.resources.get(caller.workspace_id, named.type, named.id))


@endpoint("PUT", _PATH, **_WRITE, errors=(LimitReached, VersionConflict), headers=ETAG)
async def put_resource(
    resource_type: str,
    resource_name: str,
    data: PutResource,
    caller: Caller,
    records: Records,
    if_match: Versions,
    by: ChangedBy,
) -> Response[ResourceView]:
    """Put one resource into the catalogue.

    Of any type but `tool`. AuthZEN's searches find resources that are in it, and judge them by their `properties`; an
    entry with an agent's type and alias has the properties of that subject. It allows nothing and denies nothing.
    """
    entry = _entry(resource_type, resource_name, data)
    return _answer(await records.resources.put(caller.workspace_id, entry, if_match=if_match, by=by))


@endpoint("DELETE", _PATH, **_WRITE, errors=(ResourceNotFound, VersionConflict))
async def delete_resource(
    resource_type: str, resource_name: str, caller: Caller, records: Records, if_match: Versions, by: ChangedBy
) -> None:
    """Remove a resource from the catalogue."""
    named = _entry(resource_type, resource_name, PutResource())
    await records.resources.delete(caller.workspace_id, named.type, named.id, if_match=if_match, by=by)


def _entry(resource_type: str, resource_name: str, data: PutResource) -> ResourceEntry:
    """The resource that path and body describe. Raises Invalid."""
    kind, name = name_in_path(resource_type), name_in_path(resource_name)
    if not 0 < len(kind) <= MAX_TYPE or "/" in kind:
        raise Invalid.at("resource_type", f"must have 1 to {MAX_TYPE} characters, and no slash")
    if not 0 < len(name) <= MAX_RESOURCE_ID:
        raise Invalid.at("resource_name", f"must have 1 to {MAX_RESOURCE_ID} characters")
    entry = ResourceEntry(
        type=kind,
        id=name,
        title=data.title,
        description=data.description,
        actions=data.actions,
        properties=data.properties,
        input_schema=data.input_schema,
    )
    with refusing_fields():
        require_storable(entry)
    return entry


def _answer(resource: CatalogResource) -> Response[ResourceView]:
    return Response(ResourceView.of(resource), headers=version_header(resource.version))
