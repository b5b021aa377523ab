"""How soon does the console show data, and what does an open console cost a replica?"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

from bench.harness.bench import Bench
from bench.harness.constant_rate import load_at_rate
from bench.harness.population import Place, hot_place
from bench.harness.processes import Replica
from bench.harness.table import Goal, Row, Sample, Table

SCREENS = {
    "Overview": ("/console", ".chart .fill"),
    "Decisions": ("/console/decisions", '.row[aria-rowindex="2"]'),
}
"""The address of each screen, and the element that is its first data."""
WATCH = """window.firstData = new Promise((shown) => new MutationObserver((_, observer) => {
  if (!document.querySelector(SELECTOR)) return;
  observer.disconnect();
  requestAnimationFrame(() => shown(performance.now()));
}).observe(document, {childList: true, subtree: true}));"""
FIRST, SPENT = "first data ms", "service ms"
COLD, WARM, CLOSED, SHARE = "empty cache", "files cached", "no console", "service CPU %"
RATE, GOAL_MS, PATIENCE_MS = 100.0, 300.0, 60_000
QUIET, BUSY = "no calls", f"{RATE:.0f} calls/s"
LOADED_MS, POLL_SECONDS = 2_000, 15.0
"""A page has loaded everything by then; the longest time between two requests of an open one for the same thing."""


def measure(bench: Bench) -> list[Table]:
    """Screens are opened in turns, in Chromium on the load's core; then the replica's CPU time beside open ones."""
    with bench.running_store("console") as store, bench.replica(store, REMIT_SECRET="0123456789abcdef" * 2) as replica:
        place = hot_place(store.url)
        load_at_rate(bench, replica, place, RATE)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            try:
                return [_first_data(bench, replica, browser, place), _open(bench, replica, browser, place)]
            finally:
                browser.close()


def _first_data(bench: Bench, replica: Replica, browser: Browser, place: Place) -> Table:
    rows = {(screen, label): Row(label=label, group=screen) for screen in SCREENS for label in (COLD, WARM)}
    for _ in range(bench.rounds):
        for screen in SCREENS:
            with _signed_in(replica, browser, place) as page:
                page.add_init_script(WATCH.replace("SELECTOR", repr(SCREENS[screen][1])))
                for label in (COLD, WARM):
                    before = replica.cpu_us()
                    _show(page, screen)
                    shown_ms = float(page.evaluate("window.firstData"))
                    rows[screen, label].samples.append({FIRST: shown_ms, SPENT: (replica.cpu_us() - before) / 1e3})
    return Table(
        name="console",
        question="how soon does a screen of the console show data?",
        command=bench.command,
        columns={FIRST: ",.0f", SPENT: ",.1f"},
        rows=list(rows.values()),
        baseline=COLD,
        compared=FIRST,
        first_column="Browser",
        group_column="Screen",
        goals=[
            Goal(wanted=f"{row.group}, {row.label}, ms", bound=GOAL_MS, at_least=False, measured=row.median(FIRST))
            for row in rows.values()
        ],
        left_out=[
            "The time runs from the navigation to the frame that draws the first data. An empty cache is a new context",
            "of a running browser. `service ms` is the replica's CPU time for everything that the page loads.",
        ],
    )


def _open(bench: Bench, replica: Replica, browser: Browser, place: Place) -> Table:
    groups, labels = (QUIET, BUSY), (CLOSED, *SCREENS)
    rows = {(group, label): Row(label=label, group=group) for group in groups for label in labels}
    for _ in range(bench.rounds):
        for label in labels:
            with _signed_in(replica, browser, place) as page:
                if label != CLOSED:
                    _show(page, label)
                for group in groups:
                    rows[group, label].samples.append(_share(bench, replica, place, group))
    return Table(
        name="console_open",
        question="what share of a core does a replica spend while a console is open?",
        command=bench.command,
        columns={SHARE: ".2f"},
        rows=[rows[group, label] for group in groups for label in labels],
        baseline=CLOSED,
        compared=SHARE,
        first_column="Screen that is open",
        group_column="Load",
        left_out=["The page is in view; one that has been hidden for 30 s closes its streams."],
    )


@contextmanager
def _signed_in(replica: Replica, browser: Browser, place: Place) -> Iterator[Page]:
    """A page of a new context, which has a session and no cached file."""
    context = browser.new_context(base_url=f"http://127.0.0.1:{replica.port}", viewport={"width": 1280, "height": 820})
    try:
        headers = {"Sec-Fetch-Site": "same-origin"}
        answer = context.request.post("/v1/session", data={"key": place.admin_key}, headers=headers)
        if not answer.ok:
            raise RuntimeError(f"nobody is signed in: {answer.text()}")
        yield context.new_page()
    finally:
        context.close()


def _show(page: Page, screen: str) -> None:
    path, selector = SCREENS[screen]
    page.goto(path)
    page.wait_for_selector(selector, state="attached", timeout=PATIENCE_MS)
    page.wait_for_timeout(LOADED_MS)


def _share(bench: Bench, replica: Replica, place: Place, group: str) -> Sample:
    before, began = replica.cpu_us(), time.perf_counter()
    if group == BUSY:
        load_at_rate(bench, replica, place, RATE)
    else:
        time.sleep(max(bench.seconds, POLL_SECONDS))
    return {SHARE: (replica.cpu_us() - before) / (time.perf_counter() - began) / 1e4}
