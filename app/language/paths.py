"""Absolute POSIX paths in one spelling, judged by their names alone.

Nothing here touches a disk. `..` removes the name before it, as in RFC 3986 and `normpath`; the tool that follows a
symbolic link must judge its target.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable

from app.language.ambiguous import Ambiguous
from app.language.spellings import folded
from app.language.visible import first_hidden

MAX_PATH = 4096
"""In characters; the longest path a Linux kernel accepts."""

_LIKE_SLASHES = frozenset("\u2044\u2215\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9\u2216\u3033")
"""Characters drawn like a slash or backslash, and converted to one by encodings with fewer characters."""

_NOT_AFTER_FOLDING = frozenset("/\\.%~ ")
_climbs_elsewhere = re.compile(r"\.\.+[^\w.-]").match
_is_one_name = re.compile(r"\.*[\w@+~(\[-][^?#{$]*").fullmatch
_only_dots = re.compile(r"[. ]+").fullmatch


def canonical_path(text: str) -> str:
    """The path without `//`, `.`, `..` and a trailing slash. Raises Ambiguous.

    Refused: relative paths, `~`, URLs, backslashes, percent signs (a program that decodes them sees another path,
    however often they were encoded), control and other hidden characters, letters that look like or are folded into
    a slash or a dot, names of dots and spaces, names such as `..;`, `..` after a name such as `.;` or `a?`, names that
    begin or end with a space, `//` at the beginning (POSIX leaves its meaning open), and paths that climb above the
    root.
    """
    _require_plain(text)
    names: list[str] = []
    for name in text.split("/"):
        if name in ("", "."):
            continue
        if name == "..":
            if not names:
                raise Ambiguous("climbs above the root with `..`")
            if not _is_one_name(names.pop()):
                raise Ambiguous("has a `..` after a name that some programs drop, expand, or end the path at")
            continue
        if _climbs_elsewhere(name):
            raise Ambiguous("has a name that begins with `..` and a separator, which some programs take for `..`")
        if _only_dots(name) or name[0] == " " or name[-1] == " ":
            raise Ambiguous("has a name made of dots, or with a space at its edge, which some systems drop")
        names.append(name)
    return "/" + "/".join(names)


def under(directories: Iterable[str]) -> Callable[[str], bool]:
    """Return a test that is True for canonical paths that are, or lie below, one of these canonical directories."""
    roots = tuple(directories)
    exact = frozenset(roots)
    prefixes = tuple(root if root == "/" else f"{root}/" for root in roots)
    return lambda path: path in exact or path.startswith(prefixes)


def under_in_any_case(directories: Iterable[str]) -> Callable[[str], bool]:
    """Return the same test, for file systems that do not tell letter cases apart.

    It raises Ambiguous for paths that lie there only if letters beyond ASCII are taken for others, as some do.
    """
    roots = tuple(directories)
    lies_there, may_lie_there = under(map(_lowered, roots)), under(map(folded, roots))

    def test(path: str) -> bool:
        if lies_there(_lowered(path)):
            return True
        if may_lie_there(folded(path)):
            raise Ambiguous("has letters that some systems take for those of the directory's name")
        return False

    return test


def _lowered(path: str) -> str:
    """Only ASCII, whose cases are the same everywhere."""
    return path.lower() if path.isascii() else path.translate(_SMALL)


_SMALL = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}


def _require_plain(text: str) -> None:
    if len(text) > MAX_PATH:
        raise Ambiguous(f"has more than {MAX_PATH} characters")
    if not text.startswith("/"):
        raise Ambiguous("is not an absolute path: it does not begin with a slash")
    if text.startswith("//"):
        raise Ambiguous("begins with two slashes, which may name another machine")
    if "\\" in text:
        raise Ambiguous("contains a backslash, which some systems take for a slash")
    if "%" in text:
        raise Ambiguous("contains a percent sign, which could encode anything")
    if text.isascii() and text.isprintable():
        return
    if (hidden := first_hidden(text)) is not None:
        raise Ambiguous(f"contains the invisible character U+{ord(hidden):04X}")
    for character in text:
        if not character.isascii() and (character in _LIKE_SLASHES or _folds(character)):
            raise Ambiguous(f"contains U+{ord(character):04X}, which can be taken for a slash, a dot or a space")


def _folds(character: str) -> bool:
    return not _NOT_AFTER_FOLDING.isdisjoint(unicodedata.normalize("NFKC", character))
