"""Pages of search results, and the tokens that lead from one to the next."""

import base64
import hashlib
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from app.errors import Invalid

MOST_RESULTS = 1_000


class PageRequest(Struct, frozen=True, kw_only=True):
    """Which part of the results to answer with.

    token: The `next_token` of the page before; everything else must be as it was there.
    limit: The most results, a whole number; 1,000 if left out.
    properties: Not used here.
    """

    token: str | UnsetType = UNSET
    limit: Annotated[float | UnsetType, Meta(extra_json_schema={"minimum": 0})] = UNSET
    properties: dict[str, Any] | UnsetType = UNSET


class PageView(Struct, frozen=True, kw_only=True):
    """Where a page is.

    next_token: For the next page; empty if this is the last.
    count: How many results this page has.
    """

    next_token: str
    count: Annotated[int, Meta(extra_json_schema={"minimum": 0})]


class Page(Struct, frozen=True):
    """A part of the results: the most of them, and the place after which they come.

    asked, properties: digests of the search, and of the page's properties.
    """

    asked: str
    limit: int
    properties: str
    after: str = ""

    def token(self, after: str) -> str:
        """The token of the page that begins after this place."""
        parts = [self.asked, self.limit, self.properties, after]
        return base64.urlsafe_b64encode(msgspec.json.encode(parts)).decode()


def page_of(requested: PageRequest | UnsetType, search: object) -> Page:
    """The page of this search that is requested. Raises Invalid if the token is not of this search.

    search: everything that must stay the same from page to page, as JSON values.
    """
    given = PageRequest() if requested is UNSET else requested
    if given.limit is not UNSET and (given.limit < 0 or given.limit % 1):  # in JSON, 1.0 is a whole number
        raise Invalid.at("$.page.limit", f"must be a whole number of at least 0, not {given.limit:.16g}")
    limit = MOST_RESULTS if given.limit is UNSET else min(int(given.limit), MOST_RESULTS)
    first = Page(_digest(search), limit, _digest({} if given.properties is UNSET else given.properties))
    if given.token is UNSET or given.token == "":
        return first
    try:
        parts = msgspec.json.decode(base64.b64decode(given.token, b"-_", validate=True), type=tuple[str, int, str, str])
    except (ValueError, msgspec.MsgspecError):
        raise Invalid.at("$.page.token", "is not the next_token of any page") from None
    page = Page(*parts)
    is_same = (
        page.asked == first.asked
        and 0 <= page.limit <= MOST_RESULTS
        and (given.limit is UNSET or page.limit == limit)
        and (given.properties is UNSET or page.properties == first.properties)
    )
    if not is_same:
        raise Invalid.at("$.page.token", "is of another search: entities, context, limit or properties have changed")
    return page


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:32]
