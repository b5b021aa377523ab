"""A browser that is signed in, and that notices what no page of the console may do."""

import json
import time
from asyncio import _set_running_loop, get_running_loop
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium-headless-shell"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--js-flags=--expose-gc",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
PATIENCE_MS = 30_000
SETTLED_S = 10
AXE = (Path(__file__).parent / "vendor/axe.min.js").read_text()
RUN_AXE = """axe.run(document, {resultTypes: ["violations"], ...GIVEN}).then((found) => JSON.stringify(
  found.violations.map((each) => [each.id, each.nodes.map((node) => [node.html.slice(0, 200), node.failureSummary])]
)))"""
OF_THE_PAGE = {"Sec-Fetch-Site": "same-origin"}
SIDEWAYS = """[document.documentElement, document.getElementById("screen")]
  .some((each) => each && each.scrollWidth > each.clientWidth)"""
CLIPPED = """[...document.querySelectorAll("#screen .page > *")]
  .filter((each) => each.clientHeight && each.scrollHeight > each.clientHeight + 4)
  .filter((each) => getComputedStyle(each).overflowY !== "auto")
  .map((each) => each.className || each.tagName)"""
"""Parts of a screen of which something is cut off, or lies over what follows."""
CROWDED = """[...document.querySelectorAll("#screen :is(input, textarea)[placeholder]")]
  .filter((each) => !each.value && each.clientWidth && each.clientHeight < 60)
  .filter((each) => {
    const style = getComputedStyle(each);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const room = each.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return pen.measureText(each.placeholder).width > room;
  }).map((each) => each.placeholder)
  .concat([...document.querySelectorAll("#screen h1 ~ .lead")]
    .filter((each) => each.offsetTop < document.querySelector("#screen h1").offsetTop + 20)
    .map((each) => each.textContent))"""
"""Hints that do not fit into their fields, and introductions that are beside the title instead of under it."""
ANSWERS = [("status of 404", "/checkpoint"), ("status of 400", "/v1/policies/lint")]
"""What a browser calls a fault and is none: there is no checkpoint without a key to sign, and a draft is judged while
it is being written.
"""
LATE_EFFECTS = """{
  const {setTimeout: later, requestAnimationFrame: frame} = window;
  window.setTimeout = (act, ms, ...given) => later(act, ms === 35 ? 300 : ms, ...given);
  window.requestAnimationFrame = (act) => String(act).includes("clearTimeout") ? later(act, 300) : frame(act);
}"""
"""Makes effects run as late as in a browser that gets no core: they wait for a frame, or for 35 ms."""
COME_BACK = "document.dispatchEvent(new Event('visibilitychange'))"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 820}
LOOKS = [
    (DESKTOP, "light", {}),
    (DESKTOP, "dark", {"runOnly": ["color-contrast"]}),
    (PHONE, "dark", {"runOnly": ["scrollable-region-focusable", "target-size"]}),
]
"""All rules of axe, then the one that depends on the theme, then those that depend on the layout."""


def until(page, claim, patience_ms=PATIENCE_MS):
    """Wait until an expression is true. Playwright's own wait evaluates it inside the page, which forbids that."""
    deadline = time.monotonic() + patience_ms / 1000
    while not page.evaluate(claim):
        assert time.monotonic() < deadline, f"{claim} is not true, {page.inner_text('body')}"
        page.wait_for_timeout(30)


def left_of(page, expression):
    """What is wrong according to the expression, once the page has had time to follow a new width."""
    deadline = time.monotonic() + SETTLED_S
    while (found := page.evaluate(expression)) and time.monotonic() < deadline:
        page.wait_for_timeout(30)
    return found


def settle(page):
    """Wait until nothing is being loaded, or hidden until what is above it is."""
    until(page, "!document.querySelector('.skeleton, .waiting-rows, .unready, [aria-busy=true]')")


def press(control):
    """Use a control by a key, once it can be used. That Tab reaches it has a test of its own."""
    control.click(trial=True)
    control.press("Space" if control.get_attribute("type") in ("checkbox", "radio") else "Enter")


class Visitor:
    """Pages of one signed-in person.

    faults: console messages, errors, refused loads and requests to other origins; a test expects none.
    """

    def __init__(self, context, base_url, shared):
        self.context, self.base_url, self._shared = context, base_url, shared
        self.faults, self.requests, self.queries, self._pages = [], [], [], []
        self.page = self.new_page()

    def new_page(self):
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error.stack}"))
        page.on("request", self._requested)
        self._pages.append(page)
        return page

    def _said(self, message):
        if not any(code in message.text and message.location["url"].endswith(path) for code, path in ANSWERS):
            self.faults.append(f"{message.type}: {message.text} {message.location['url']}")

    def _requested(self, request):
        asked = urlsplit(request.url)
        self.requests.append((request.method, asked.path))
        self.queries.append((asked.path, asked.query))
        if not request.url.startswith((self.base_url, "data:")):
            self.faults.append(f"a request to {request.url}")

    def open(self, path, heading=None):
        """Open an address of the console and wait for its heading."""
        self.page.goto(self.base_url + path)
        if heading is not None:
            self.page.get_by_role("heading", name=heading, level=1).wait_for()
        return self.page

    def forgive(self, *words):
        """Drop what the browser itself says about refusals that a test provokes."""
        self.faults[:] = [fault for fault in self.faults if not any(word in fault for word in words)]

    def violations(self):
        """What axe finds, with LOOKS; whether a phone must scroll sideways; and what it cuts off.

        It runs in a world of its own, since the page forbids `eval`.
        """
        session = self.context.new_cdp_session(self.page)
        frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = session.send("Page.createIsolatedWorld", {"frameId": frame})["executionContextId"]
        session.send("Runtime.evaluate", {"expression": AXE, "contextId": world})
        found = []
        for size, theme, rules in LOOKS:
            self.page.set_viewport_size(size)
            self.page.emulate_media(color_scheme=theme)
            expression = RUN_AXE.replace("GIVEN", json.dumps(rules))
            asked = {"contextId": world, "awaitPromise": True, "returnByValue": True, "expression": expression}
            told = json.loads(session.send("Runtime.evaluate", asked)["result"]["value"])
            found += [(size["width"], theme, *each) for each in told]
            found += [(size["width"], "crowded", each) for each in left_of(self.page, CROWDED)]
        session.detach()
        if left_of(self.page, SIDEWAYS):
            found.append((PHONE["width"], "wider than the screen"))
        found += [(PHONE["width"], "cut off", each) for each in left_of(self.page, CLIPPED)]
        self.page.set_viewport_size(DESKTOP)
        self.page.emulate_media(color_scheme="light")
        return found

    def seen(self):
        """The address, the focus and the text of each open page."""
        focus = "document.activeElement.outerHTML.slice(0, 300)"
        pages = [page for page in self._pages if not page.is_closed()]
        return "\n\n".join(f"{page.url}\n{page.evaluate(focus)}\n{page.inner_text('body')}" for page in pages)

    def close(self):
        for page in self._pages:
            if not page.is_closed():
                page.unroute_all(behavior="ignoreErrors")
            page.close()
        if not self._shared:
            self.context.close()


class Browsing:
    """A browser process, and the sessions of keys that have signed in with it."""

    def __init__(self):
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        self._contexts = {}
        self._loop = get_running_loop()
        _set_running_loop(None)

    def visit(self, base_url, key=None, **options):
        """A visitor who is signed in with this key, or not at all.

        Visitors with the same key and no options share what a browser keeps: the session, and the files.
        """
        shared = key is not None and not options
        context = self._contexts.get((base_url, key)) if shared else None
        if context is None:
            context = self._browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **options})
            if key is not None:
                session = context.request.post(f"{base_url}/v1/session", data={"key": key}, headers=OF_THE_PAGE)
                assert session.ok, session.text()
            if shared:
                self._contexts[base_url, key] = context
        return Visitor(context, base_url, shared)

    @contextmanager
    def in_turn(self):
        """Use it. Its loop is this thread's only meanwhile, so that other files' tests can have their own."""
        _set_running_loop(self._loop)
        try:
            yield self
        finally:
            contexts, self._contexts = self._contexts, {}
            try:
                for context in contexts.values():
                    context.close()
            finally:
                _set_running_loop(None)

    def close(self):
        with self.in_turn():
            self._browser.close()
            self._playwright.stop()
