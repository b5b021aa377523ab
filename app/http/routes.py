"""Every route: those of the modules in `api`, and those that describe them all."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from pkgutil import iter_modules
from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.handlers import BaseRouteHandler

from app.http import api
from app.http.console.files import HOME, console_files
from app.http.docs_site import API_PAGE, docs_site
from app.http.doors import DOORS, route_of
from app.http.endpoint import JSON, Endpoint, endpoint, endpoint_of
from app.http.openapi.document import document_of
from app.http.openapi.page import PAGE_POLICY, page_of
from app.policy_tools.files.schema import schema

_PUBLIC: dict[str, Any] = {"tag": "Service", "scopes": ()}
_HTML, _SCHEMA = "text/html; charset=utf-8", "application/schema+json"
_TAGS = (
    "Decisions",
    "Policies",
    "Agents",
    "Catalogue",
    "Audit log",
    "Approvals",
    "Changes",
    "API keys",
    "Sessions",
    "Webhooks",
    "Service",
)
"""The order of the document. Tags that are not named here come last."""


@endpoint("GET", "/openapi.json", **_PUBLIC, answer=dict[str, Any])
async def openapi_document() -> Response[bytes]:
    """This document."""
    return Response(encoded_document(), media_type=JSON)


@endpoint("GET", "/v1/policies/schema.json", **_PUBLIC, answer=dict[str, Any], media=(_SCHEMA,))
async def policy_schema() -> Response[bytes]:
    """Read the JSON Schema of policy files.

    For editors: it completes and checks the files that `remit policy apply` takes.
    """
    return Response(_encoded_schema(), media_type=_SCHEMA)


@endpoint("GET", API_PAGE, **_PUBLIC, media=(_HTML,), litestar={"media_type": MediaType.HTML})
async def docs_page() -> Response[str]:
    """Read this document as a page."""
    headers = {"Content-Security-Policy": PAGE_POLICY, "X-Content-Type-Options": "nosniff"}
    return Response(page(), media_type=MediaType.HTML, headers=headers)


@endpoint(
    "GET", "/", **_PUBLIC, status=302, answer=None, headers={"Location": "`/console`; without a console `/docs`."}
)
async def root(request: Request[Any, Any, Any]) -> Response[None]:
    """Redirect to the console."""
    return Response(None, headers={"Location": HOME if request.app.has_console else "/docs"})  # type: ignore[attr-defined]


def _declared() -> Iterator[tuple[Endpoint, BaseRouteHandler]]:
    modules = [import_module(f"{api.__name__}.{module.name}") for module in iter_modules(api.__path__)]
    named = (*(vars(module).values() for module in modules), globals().values())
    for value in chain(*named, map(route_of, DOORS.values())):
        if (declared := endpoint_of(value)) is not None:
            yield declared, value


def _order(endpoint: Endpoint) -> tuple[int, int]:
    return _TAGS.index(endpoint.tag) if endpoint.tag in _TAGS else len(_TAGS), endpoint.path.count("/")


_ALL = sorted(_declared(), key=lambda pair: _order(pair[0]))
"""By tag, then short paths first."""

ENDPOINTS = tuple(declared for declared, _ in _ALL)
ROUTES = tuple(handler for _, handler in _ALL)


def prepare_pages() -> None:
    """Generate the pages and the document now, because that takes a tenth of a second and would delay decisions."""
    page()
    encoded_document()
    console_files()
    docs_site()


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document as plain values."""
    return document_of(ENDPOINTS)


@cache
def page() -> str:
    """The page at /docs/api."""
    return page_of(document())


@cache
def encoded_document() -> bytes:
    """The document as it is served."""
    return msgspec.json.encode(document())


@cache
def _encoded_schema() -> bytes:
    return msgspec.json.encode(schema())
