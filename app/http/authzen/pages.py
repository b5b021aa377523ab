"""Pages of search results, and the tokens that lead from one to the next."""

import base64
import hashlib
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from app.errors import Invalid

MOST_RESULTS = 1_000


class PageRequest(Struct, frozen=True, kw_only=True):
    """Which part of the results to answer with.

    token: The `next_token` of the page before; everything else must be as it was there.
    limit: The most results; 1,000 if left out.
    """

    token: str | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=0)] | UnsetType = UNSET


class PageView(Struct, frozen=True, kw_only=True):
    """Where a page is.

    next_token: For the next page; empty if this is the last.
    count: How many results this page has.
    """

    next_token: str
    count: Annotated[int, Meta(extra_json_schema={"minimum": 0})]


class Page(Struct, frozen=True):
    """A part of the results: the most of them, and the place after which they come. asked: a digest of the search."""

    asked: str
    limit: int
    after: str = ""

    def token(self, after: str) -> str:
        """The token of the page that begins after this place."""
        return base64.urlsafe_b64encode(msgspec.json.encode([self.asked, self.limit, after])).decode()


def page_of(requested: PageRequest | UnsetType, search: object) -> Page:
    """The page of this search that is requested. Raises Invalid if the token is not of this search.

    search: everything that must stay the same from page to page, as JSON values.
    """
    asked = hashlib.sha256(msgspec.json.encode(search, order="deterministic")).hexdigest()[:32]
    given = PageRequest() if requested is UNSET else requested
    limit = MOST_RESULTS if given.limit is UNSET else min(given.limit, MOST_RESULTS)
    if given.token is UNSET or given.token == "":
        return Page(asked, limit)
    try:
        parts = msgspec.json.decode(base64.b64decode(given.token, b"-_", validate=True), type=tuple[str, int, str])
    except (ValueError, msgspec.MsgspecError):
        raise Invalid.at("$.page.token", "is not the next_token of any page") from None
    page = Page(*parts)
    if page.asked != asked or not 0 <= page.limit <= MOST_RESULTS or (given.limit is not UNSET and limit != page.limit):
        raise Invalid.at("$.page.token", "is of another search: entities, context or limit have changed")
    return page
