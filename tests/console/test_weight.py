"""What a screen costs a browser, and that nothing moves while it comes."""

import pytest

from tests.console.browsing import DESKTOP, PHONE, settle, until
from tests.console.test_screens import SCREENS

pytestmark = pytest.mark.slow

LOOKED_AT_MS = 3_000
FILE_BYTES = 60_000
FILES = 27
SLOW = {"offline": False, "latency": 60, "downloadThroughput": -1, "uploadThroughput": -1}
MOVED = 0.05
PATIENT = """{
  const later = window.setTimeout;
  window.setTimeout = (act, ms, ...given) => later(act, ms === 1000 ? 30_000 : ms, ...given);
}"""
"""Waits for the stream of approvals as long as a busy machine may take to open it, instead of counting without it."""
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
    """All that a browser transfers in its first seconds, also what is loaded late; what waits is counted once."""
    visitor = visit("admin")
    visitor.page.add_init_script(PATIENT)
    transfers = Transfers(visitor)
    page = visitor.open("/console", "Overview")
    settle(page)
    page.locator(".chart .fill").first.wait_for()
    until(page, f"performance.now() > {LOOKED_AT_MS}")
    files = transfers.of("/console")
    assert len(files) <= FILES, files
    assert sum(files.values()) <= FILE_BYTES, files
    assert [path for path, _ in visitor.queries].count("/v1/approvals/summary") == 1


def test_where_no_card_is_shown_no_call_that_waits_is_read(visit, scene):
    """Neither at first nor when one comes, nor to search, to stop an agent, or after its card was left."""
    visitor = visit("admin")
    page = visitor.page
    badge = page.locator(".menu .badge")
    body = {"agent_id": "refund-bot", "tool_name": "refund.create"}
    asked = []

    def one_comes():
        waits = int(badge.inner_text())
        parameters = {"order": f"BRIEF{len(asked)}", "currency": "EUR", "amount": 180 + len(asked)}
        asked.append(scene.runtime.post("/v1/authorize", json={**body, "parameters": parameters}).json()["approval"])
        badge.get_by_text(str(waits + 1), exact=True).wait_for()

    visitor.open("/console", "Overview")
    page.get_by_text("the oldest for").wait_for()
    one_comes()
    page.get_by_role("button", name="Search everything").click()
    page.get_by_role("combobox", name="Search everything").fill(asked[0]["id"])
    page.get_by_role("option").filter(has_text="approval, pending").wait_for()
    page.keyboard.press("Escape")
    visitor.open("/console/agents/refund-bot", "Refund bot")
    page.get_by_role("button", name="Stop…").click()
    page.get_by_text("pending approvals end").wait_for()
    page.keyboard.press("Escape")
    about = {(path, query) for path, query in visitor.queries if path.startswith("/v1/approvals")}
    assert {path for path, _ in about} == {"/v1/approvals/summary", "/v1/approvals/stream"}
    assert {query for path, query in about if path.endswith("/stream")} == {"brief=true"}

    menu = page.get_by_role("navigation", name="Screens")
    menu.get_by_role("link", name="Approvals").click()
    page.get_by_role("article").filter(has_text="BRIEF0").wait_for()
    assert [query for path, query in visitor.queries if path == "/v1/approvals"] == ["status=pending&limit=1000"]
    menu.get_by_role("link", name="Policies").click()
    page.get_by_role("heading", name="Policies", level=1).wait_for()
    visitor.queries.clear()
    one_comes()
    assert {path for path, _ in visitor.queries if path.startswith("/v1/approvals")} == {"/v1/approvals/summary"}
    for each in asked:
        scene.tenant.admin.post(f"/v1/approvals/{each['id']}/deny", json={})


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
