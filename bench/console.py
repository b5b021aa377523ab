"""How soon does the console show data in a browser that has nothing of it yet, and what does it transfer?"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from bench.harness.bench import Bench
from bench.harness.peer_programs import PeerMissing
from bench.harness.population import PATH, TOOL, PolicySketch, make_place
from bench.harness.table import Goal, Row, Sample, Table

CHROMIUM = "/usr/bin/chromium"
DECISIONS = 200
LOOKED_AT_MS = 3_000
SCREENS = {
    "Overview": ("", ".chart .fill"),
    "Decisions": ("decisions", ".tbody [role=row]"),
    "Policies": ("policies", ".words li"),
}
"""The path of each screen, and what its first data is drawn as."""
_WATCH = """{
  const look = () => {
    if (window.shown === undefined && document.querySelector(%r)) window.shown = performance.now();
  };
  new MutationObserver(look).observe(document, {childList: true, subtree: true});
}"""


def measure(bench: Bench) -> Table:
    """Each screen is opened once a round, signed in, with an empty cache. Raises PeerMissing without a browser."""
    if not Path(CHROMIUM).exists():
        raise PeerMissing(f"it needs {CHROMIUM}: apt-get install -y chromium")
    rows = [Row(label=name) for name in SCREENS]
    with bench.running_store("console") as store, bench.replica(store) as replica:
        url = f"http://127.0.0.1:{replica.port}"
        place = make_place(store.url, "default", [PolicySketch(rules=[{"type": "tool_grant", "tools": [TOOL]}])])
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {place.raw_key}"}) as client:
            for amount in range(DECISIONS):
                call = {"agent_id": place.agent_id, "tool_name": TOOL, "parameters": {"amount": amount}}
                client.post(PATH, json=call).raise_for_status()
        with _browser() as browser:
            for _ in range(bench.rounds):
                for row, (path, first) in zip(rows, SCREENS.values(), strict=True):
                    row.samples.append(_opened(browser, url, place.admin_key, path, first))
    return Table(
        name="console",
        question="how soon does the console show data in a browser that has none of its files, and what comes?",
        command=bench.command,
        columns={"first data ms": ".0f", "files": ".0f", "file kB": ".1f", "requests": ".0f", "data kB": ".1f"},
        rows=rows,
        baseline="Overview",
        compared="first data ms",
        first_column="Screen",
        goals=[
            Goal(wanted=f"{row.label}: first data, ms", bound=300, at_least=False, measured=row.median("first data ms"))
            for row in rows
        ],
        left_out=[
            (
                f"Headless Chromium on the other core, by loopback; {DECISIONS} decisions. First data: from the start "
                "of the navigation to the first bar, row or rule in the page. Files and requests: all of the first "
                f"{LOOKED_AT_MS} ms, with their headers, compressed. No network's latency, and no painting, is in it."
            )
        ],
    )


@contextmanager
def _browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def _opened(browser: Browser, url: str, key: str, path: str, first: str) -> Sample:
    """One screen in a context of its own."""
    context = browser.new_context(viewport={"width": 1280, "height": 820})
    signed = context.request.post(f"{url}/v1/session", data={"key": key}, headers={"Sec-Fetch-Site": "same-origin"})
    assert signed.ok, signed.text()
    page = context.new_page()
    page.add_init_script(_WATCH % first)
    sent = _transfers(page)
    page.goto(f"{url}/console/{path}")
    page.locator(first).first.wait_for()
    page.wait_for_timeout(max(0, LOOKED_AT_MS - page.evaluate("performance.now()")))
    shown = page.evaluate("window.shown")
    context.close()
    files = [each["bytes"] for each in sent.values() if "/console" in each["url"]]
    data = [each["bytes"] for each in sent.values() if "/console" not in each["url"]]
    return {
        "first data ms": shown,
        "files": len(files),
        "file kB": sum(files) / 1000,
        "requests": len(sent),
        "data kB": sum(data) / 1000,
    }


def _transfers(page: Page) -> dict[str, dict[str, Any]]:
    """Filled while the page loads: the address and the bytes of each request."""
    sent: dict[str, dict[str, Any]] = {}
    session = page.context.new_cdp_session(page)

    def begun(event: dict[str, Any]) -> None:
        sent[event["requestId"]] = {"url": event["request"]["url"], "bytes": 0}

    def ended(event: dict[str, Any]) -> None:
        sent[event["requestId"]]["bytes"] = event["encodedDataLength"]

    session.on("Network.requestWillBeSent", begun)
    session.on("Network.loadingFinished", ended)
    session.send("Network.enable")
    return sent
