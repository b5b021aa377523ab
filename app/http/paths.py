"""Paths: every one has one spelling that is served, so that whoever checks it and whoever routes it read the same."""

from app.errors import AppError
from app.model.ids import canonical_uuid

_ENCODED_SLASHES = (b"%2f", b"%5c")


def is_served(path: str, raw_path: bytes) -> bool:
    """Whether the path may lead anywhere: it has no empty part, no dots to follow and no slash in disguise.

    The router would merge slashes, and a balancer resolve dots; after a check that saw neither, that is another path.
    path: as it reads, decoded once. raw_path: as it was sent.
    """
    if not path.startswith("/") or "//" in path or "\\" in path:
        return False
    if "/." in path and not {".", ".."}.isdisjoint(path.split("/")):
        return False
    return b"%" not in raw_path or not any(each in raw_path.lower() for each in _ENCODED_SLASHES)


def id_in_path(given: str, missing: AppError) -> str:
    """The id in its canonical form. Raises `missing` where it is no id at all, and so names nothing."""
    canonical = canonical_uuid(given)
    if canonical is None:
        raise missing
    return canonical
