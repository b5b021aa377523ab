"""What a server's annotations and a tool's name suggest of its calls, for a person to confirm; it never counts."""

import re

from msgspec import Struct

from app.model.catalog import CatalogTool, Consequence, ToolAnnotations

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BY_WORD = {
    Consequence.IRREVERSIBLE: "buy cancel charge delete deploy drop exec execute invite kill pay post publish purchase "
    "purge refund remove reply run send submit transfer wipe credential credentials password passwords secret secrets",
    Consequence.REVERSIBLE: "add append archive assign change create disable edit enable insert label move put rename "
    "reschedule save schedule set tag update upload write",
    Consequence.DISCLOSES: "browse browser crawl download fetch http navigate scrape url visit web webpage website",
    Consequence.NONE: "calculate check count describe find get list load look lookup query read search show view",
}
"""Words of names, the gravest first: of `get_and_delete`, the deletion counts."""

_FOREIGN_WORDS = (
    "bill bills browse browser channel comment comments crawl document documents email emails feed fetch file files "
    "inbox invoice invoices issue issues mail mails message messages navigate news page pages post posts review "
    "reviews scrape search ticket tickets url visit web webpage website"
)
_FOREIGN = frozenset(_FOREIGN_WORDS.split())
_CONSEQUENCES = [(each, frozenset(words.split())) for each, words in _BY_WORD.items()]
_UNHINTED = ToolAnnotations()


class Suggestion(Struct, frozen=True):
    """What a tool's annotations and name suggest of it; no suggestion counts before a person has confirmed it.

    consequence: What its calls may do to the world; null if nothing suggests it.
    foreign: Whether its results may hold text that strangers wrote; null if nothing suggests it.
    """

    consequence: Consequence | None
    foreign: bool | None


def suggested(tool: CatalogTool) -> Suggestion:
    """What to ask a person to confirm of the tool: the graver of what its annotations and its name suggest."""
    words = {word.lower() for word in _WORDS.findall(tool.name)}
    hints = tool.annotations or _UNHINTED
    named = next((each for each, known in _CONSEQUENCES if words & known), None)
    hinted = _hinted(hints)
    foreign = True if words & _FOREIGN else hints.open_world_hint
    if hinted is None or named is None:
        return Suggestion(hinted or named, foreign)
    gravest = next(each for each, _ in _CONSEQUENCES if each in (hinted, named))
    return Suggestion(gravest, foreign)


def _hinted(hints: ToolAnnotations) -> Consequence | None:
    """What the annotations say, as the Model Context Protocol defines them."""
    if hints.read_only_hint:
        return Consequence.DISCLOSES if hints.open_world_hint else Consequence.NONE
    if hints.destructive_hint is None:
        return None
    return Consequence.IRREVERSIBLE if hints.destructive_hint else Consequence.REVERSIBLE
