"""What a screen costs a browser, and that nothing moves while it comes."""

import pytest

from tests.console.browsing import DESKTOP, PHONE, settle, until
from tests.console.test_screens import SCREENS

pytestmark = pytest.mark.slow

LOOKED_AT_MS = 3_000
FILE_BYTES = 60_000
FILES = 30
SLOW = {"offline": False, "latency": 60, "downloadThroughput": -1, "uploadThroughput": -1}
MOVED = 0.05
WATCH = """{
  window.moved = [];
  const words = ({node}) => (node?.outerHTML ?? node?.data ?? "").slice(0, 80);
  const note = (list) => {
    for (const each of list.getEntries())
      if (!each.hadRecentInput) window.moved.push([each.value, ...each.sources.map(words)]);
  };
  new PerformanceObserver(note).observe({type: "layout-shift", buffered: true});
}"""
"""Notes how much of the page moved, and what: the score of Cumulative Layout Shift, without what a person did."""


@pytest.mark.parametrize(("path", "heading", "scopes"), SCREENS, ids=[path for path, _, _ in SCREENS])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_moves_while_a_screen_comes(visit, scene, path, heading, scopes, size):
    """Over a network on which each answer takes its time, so that they come apart."""
    visitor = visit(*scopes)
    session = visitor.context.new_cdp_session(visitor.page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", SLOW)
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    visitor.page.set_viewport_size(size)
    visitor.page.add_init_script(WATCH)
    page = visitor.open(path.format(**scene.ids), heading)
    settle(page)
    until(page, f"performance.now() > {LOOKED_AT_MS}")
    moved = page.evaluate("window.moved")
    assert sum(each[0] for each in moved) <= MOVED, moved
    session.detach()


class Transfers:
    """What a page of this visitor transfers, by address: bytes with their headers, as they were on the wire."""

    def __init__(self, visitor):
        self.session = visitor.context.new_cdp_session(visitor.page)
        self.bytes, self._paths = {}, {}
        self.session.on("Network.requestWillBeSent", self._sent)
        self.session.on("Network.loadingFinished", self._came)
        self.session.send("Network.enable")
        self.session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        self._start = len(visitor.base_url)

    def _sent(self, event):
        self._paths[event["requestId"]] = event["request"]["url"][self._start :]

    def _came(self, event):
        self.bytes[event["requestId"]] = event["encodedDataLength"]

    def of(self, begins):
        """The bytes of each request whose path begins so, also if it has not ended yet."""
        return {path: self.bytes.get(each, 0) for each, path in self._paths.items() if path.startswith(begins)}


def test_the_overview_is_light(visit):
    """All that a browser transfers in its first seconds, also what is loaded late; what waits is read once."""
    visitor = visit("admin")
    transfers = Transfers(visitor)
    page = visitor.open("/console", "Overview")
    settle(page)
    page.locator(".chart .fill").first.wait_for()
    until(page, f"performance.now() > {LOOKED_AT_MS}")
    files = transfers.of("/console")
    assert len(files) <= FILES, files
    assert sum(files.values()) <= FILE_BYTES, files
    asked = [each for _, each in visitor.queries if "status=pending" in each]
    assert len(asked) == 1


def test_the_schema_of_policies_is_read_when_one_is_written(visit, scene):
    """Not to look at its versions, nor to ask about a call."""
    visitor = visit("policies")
    page = visitor.open(f"/console/policies/{scene.ids['policy']}?tab=versions", "Small refunds")
    page.get_by_text("in force", exact=True).wait_for()
    asked = ("GET", "/v1/policies/schema.json")
    assert asked not in visitor.requests
    page.get_by_role("link", name="Policy", exact=True).click()
    page.get_by_label("Name", exact=True).wait_for()
    assert visitor.requests.count(asked) == 1
    visitor.requests.clear()
    visitor.open("/console/what-if?agent=refund-bot&tool=refund.create", "What if")
    page.get_by_label("Amount").fill("7")
    settle(page)
    assert asked not in visitor.requests
    page.get_by_label("Also with a draft policy").check()
    page.locator(".cm-line").first.wait_for()
    assert page.get_by_label("Amount").input_value() == "7"
    assert visitor.requests.count(asked) == 1
