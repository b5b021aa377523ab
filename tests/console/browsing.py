"""A browser that is signed in, and that notices what no page of the console may do."""

import json
import time
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--js-flags=--expose-gc",
]
PATIENCE_MS = 30_000
AXE = (Path(__file__).parent / "vendor/axe.min.js").read_text()
RUN_AXE = """axe.run(document, {resultTypes: ["violations"]}).then((found) => JSON.stringify(
  found.violations.map((each) => [each.id, each.nodes.map((node) => [node.html.slice(0, 200), node.failureSummary])]
)))"""


def until(page, claim, patience_ms=PATIENCE_MS):
    """Wait until an expression is true. Playwright's own wait evaluates it inside the page, which forbids that."""
    deadline = time.monotonic() + patience_ms / 1000
    while not page.evaluate(claim):
        assert time.monotonic() < deadline, f"{claim} is not true, {page.inner_text('body')}"
        page.wait_for_timeout(30)


def settle(page):
    """Wait until nothing is being loaded."""
    until(page, "!document.querySelector('.skeleton, .waiting-rows, [aria-busy=true]')")


class Visitor:
    """A page of one signed-in person.

    faults: console messages, errors, refused loads and requests to other origins; a test expects none.
    """

    def __init__(self, context, base_url):
        self.context, self.base_url = context, base_url
        self.faults, self.requests = [], []
        self.page = self.new_page()

    def new_page(self):
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: self.faults.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error.stack}"))
        page.on("request", lambda request: self.requests.append((request.method, urlsplit(request.url).path)))
        page.route(lambda url: not url.startswith((self.base_url, "data:")), self._refuse)
        return page

    def _refuse(self, route):
        self.faults.append(f"a request to {route.request.url}")
        route.abort()

    def open(self, path, heading=None):
        """Open an address of the console and wait for its heading."""
        self.page.goto(self.base_url + path)
        if heading is not None:
            self.page.get_by_role("heading", name=heading, level=1).wait_for()
        return self.page

    def violations(self):
        """What axe finds. It runs in a world of its own, since the page forbids `eval`."""
        session = self.context.new_cdp_session(self.page)
        frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = session.send("Page.createIsolatedWorld", {"frameId": frame})["executionContextId"]
        session.send("Runtime.evaluate", {"expression": AXE, "contextId": world})
        asked = {"expression": RUN_AXE, "contextId": world, "awaitPromise": True, "returnByValue": True}
        found = session.send("Runtime.evaluate", asked)["result"]["value"]
        session.detach()
        return json.loads(found)

    def is_sideways(self):
        """True if the page must be scrolled sideways."""
        return self.page.evaluate("document.documentElement.scrollWidth > innerWidth")

    def close(self):
        self.context.close()


class Browsing:
    """A browser process, and the sessions of keys that have signed in with it."""

    def __init__(self):
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        self._states = {}

    def visit(self, base_url, key=None, **options):
        """A visitor who is signed in with this key, or not at all."""
        options = {"viewport": {"width": 1280, "height": 820}, "reduced_motion": "reduce", **options}
        if key is not None and (base_url, key) not in self._states:
            context = self._browser.new_context()
            page = context.new_page()
            page.goto(f"{base_url}/console")
            page.get_by_label("API key").fill(key)
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("navigation", name="Screens").wait_for(timeout=PATIENCE_MS)
            self._states[base_url, key] = context.storage_state()
            context.close()
        state = None if key is None else self._states[base_url, key]
        return Visitor(self._browser.new_context(storage_state=state, **options), base_url)

    def close(self):
        self._browser.close()
        self._playwright.stop()
