"""ETag and If-Match, so that no admin unknowingly overwrites another's change."""

import re
from typing import Any

from litestar import Request

from app.errors import Invalid
from app.store.optimistic import Versions

Tags = frozenset[str] | None
"""The contents of the tags in If-Match, without quotes; None = any."""

_tag = re.compile(r'(W/)?"([\x21\x23-\x7e]*)"').fullmatch
_number = re.compile(r"[1-9][0-9]{0,14}").fullmatch


def version_header(version: int | str) -> dict[str, str]:
    """The header that shows the version."""
    return {"ETag": f'"{version}"'}


def provide_if_match(request: Request[Any, Any, Any]) -> Versions:
    """The versions in If-Match; None if it is missing or `*`. Raises Invalid."""
    tags = provide_if_match_tags(request)
    return None if tags is None else frozenset(int(tag) for tag in tags if _number(tag))


def provide_if_match_tags(request: Request[Any, Any, Any]) -> Tags:
    """The same for versions that are not numbers.

    A tag in another form is allowed but matches nothing (RFC 9110 §13.1.1); neither does a weak one.
    """
    given = [value.decode("latin-1") for name, value in request.scope["headers"] if name == b"if-match"]
    if not given:
        return None
    tags = [each.strip(" \t") for each in ",".join(given).split(",")]
    if tags == ["*"]:
        return None
    found = [_tag(each) for each in tags if each]
    if not found or None in found:
        raise Invalid.at("If-Match", 'must be the ETag of an answer, with its quotes, such as "3"; or *')
    return frozenset(tag[2] for tag in found if tag is not None and tag[1] is None)
