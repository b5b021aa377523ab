"""Paths: every one has one spelling that is served, so that whoever checks it and whoever routes it read the same."""

from app.errors import AppError
from app.model.ids import canonical_uuid

_ENCODED_SLASHES = (b"%2f", b"%5c")
_CALLED_BY_NAME = (b"/v1/agents/", b"/v1/groups/", b"/v1/catalog/tool/")
"""What comes next is an agent's alias, perhaps, a group or a tool, in which a slash may stand: as `%2F`, so that it
stays one part."""
_SLASH = "%2F"


def served_path(path: str, raw_path: bytes) -> str | None:
    """The path for the router, or None if it leads nowhere: one with an empty part, dots to follow, a hidden slash.

    The router would merge slashes, and a balancer resolve dots; after a check that saw neither, that is another path.
    A slash in the name of an agent, a group or a tool stays `%2F`, and nothing else reads so.
    path: as it reads, decoded once. raw_path: as it was sent.
    """
    if not path.startswith("/") or "//" in path or "\\" in path:
        return None
    if "/." in path and not {".", ".."}.isdisjoint(path.split("/")):
        return None
    if b"%" not in raw_path:
        return path
    if _SLASH in path:  # written as %252F, which would be a second spelling of what is kept below
        return None
    if not any(each in raw_path.lower() for each in _ENCODED_SLASHES):
        return path
    return _with_slash_kept(path, raw_path)


def _with_slash_kept(path: str, raw_path: bytes) -> str | None:
    """The path in which the name is one part; None if a hidden slash stands elsewhere."""
    before = next((each for each in _CALLED_BY_NAME if raw_path.startswith(each)), None)
    if before is None:
        return None
    name, slash, rest = raw_path.removeprefix(before).partition(b"/")
    if any(each in rest.lower() for each in _ENCODED_SLASHES) or b"%5c" in name.lower():
        return None
    start = len(before)
    # Whatever else is written as a code comes decoded in `path`, and holds as many slashes there as behind the name.
    called = path[start:] if not slash else path[start:].rsplit("/", rest.count(b"/") + 1)[0]
    return f"{path[:start]}{called.replace('/', _SLASH)}{path[start + len(called) :]}"


def id_in_path(given: str, missing: AppError) -> str:
    """The id in its canonical form. Raises `missing` where it is no id at all, and so names nothing."""
    canonical = canonical_uuid(given)
    if canonical is None:
        raise missing
    return canonical


def name_in_path(given: str) -> str:
    """An alias, or whatever else may stand there, as it was meant."""
    return given.replace(_SLASH, "/")
