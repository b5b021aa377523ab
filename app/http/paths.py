"""Paths: each has exactly one accepted spelling, so a proxy that checks a path and the router that serves it agree."""

from app.errors import AppError
from app.model.ids import canonical_uuid

_ENCODED_SLASHES = (b"%2f", b"%5c")
_CALLED_BY_NAME = (b"/v1/agents/", b"/v1/groups/", b"/v1/catalog/tool/")
"""The segment after these may be an agent's alias, a group or a tool, which may contain a slash, written `%2F`, so that
it stays one segment.
"""
_SLASH = "%2F"


def served_path(path: str, raw_path: bytes) -> str | None:
    """The path for the router, or None if no path may be written this way: an empty or dot segment, a hidden slash.

    The router would merge slashes and a proxy resolve dots, so a check made before either would see another path. A
    slash in the name of an agent, a group or a tool stays `%2F`, and nothing else decodes to that.
    path: decoded once. raw_path: as it was sent.
    """
    if not path.startswith("/") or "//" in path or "\\" in path:
        return None
    if "/." in path and not {".", ".."}.isdisjoint(path.split("/")):
        return None
    if b"%" not in raw_path:
        return path
    if _SLASH in path:  # sent as %252F, which would be a second spelling of the name kept below
        return None
    if not any(each in raw_path.lower() for each in _ENCODED_SLASHES):
        return path
    return _with_slash_kept(path, raw_path)


def _with_slash_kept(path: str, raw_path: bytes) -> str | None:
    """The path with the name as one segment; None if an encoded slash occurs anywhere else."""
    before = next((each for each in _CALLED_BY_NAME if raw_path.startswith(each)), None)
    if before is None:
        return None
    name, slash, rest = raw_path.removeprefix(before).partition(b"/")
    if any(each in rest.lower() for each in _ENCODED_SLASHES) or b"%5c" in name.lower():
        return None
    start = len(before)
    # Any other percent-encoding is decoded in `path`, which has as many slashes after the name as `raw_path`.
    called = path[start:] if not slash else path[start:].rsplit("/", rest.count(b"/") + 1)[0]
    return f"{path[:start]}{called.replace('/', _SLASH)}{path[start + len(called) :]}"


def id_in_path(given: str, missing: AppError) -> str:
    """The id in its canonical form. Raises `missing` if it is not an id."""
    canonical = canonical_uuid(given)
    if canonical is None:
        raise missing
    return canonical


def name_in_path(given: str) -> str:
    """An alias or other name, with `%2F` decoded."""
    return given.replace(_SLASH, "/")
