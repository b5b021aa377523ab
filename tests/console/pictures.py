"""The pictures of docs/console.md: `make pictures` takes them anew."""

import tempfile
from pathlib import Path

from servers import ADMIN_KEY, Replica, Store, store_binaries

from tests.console.browsing import Browsing, settle
from tests.console.scene import build

FOLDER = Path(__file__).parents[2] / "docs/console"
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2}
MARKED = "article:has-text('looks like')"
PICTURES = [
    ("overview-light", "/console", ["text=Latest changes", ".tops", ".big"], {}),
    ("decisions-light", "/console/decisions", ["text=Refund bot"], {}),
    ("why-light", "/console/decisions?result=escalated&tool_name=refund.create", [], {"open": True}),
    ("approvals-phone", "/console/approvals", ["text=looks like"], {"color_scheme": "light", "to": MARKED, **PHONE}),
    ("agent-dark", "/console/agents/refund-bot", [".meter"], {"color_scheme": "dark"}),
    ("policy-light", "/console/policies/{policy}?as=json", [".cm-line", "text=accepts it", "text=Refund bot"], {}),
]
"""The name of each, its address, what is waited for, and how it is taken; `open` opens the first row, and
`to` is what begins the picture.
"""


def take(store, folder):
    """Take every picture of a workspace that is filled for it."""
    replica = Replica(store.url, REMIT_SECRET="pictures " * 4, REMIT_COMPACT="false")
    browsing = Browsing()
    try:
        admin = replica.client()
        key = admin.post("/v1/api-keys", json={"name": "agents of production", "scopes": ["authorize"]}).json()["key"]
        ids = build(admin, replica.client(key), calls=400, hostile=False)
        with browsing.in_turn():
            take_each(browsing, replica.base_url, ids, folder)
    finally:
        browsing.close()
        replica.stop()


def take_each(browsing, base_url, ids, folder):
    """Take the pictures of a workspace that has these ids."""
    for name, path, wanted, given in PICTURES:
        options = {name: value for name, value in given.items() if name not in {"open", "to"}}
        visitor = browsing.visit(base_url, ADMIN_KEY, **options)
        page = visitor.open(path.format(**ids))
        page.get_by_role("heading", level=1).first.wait_for()
        settle(page)
        if "open" in given:
            page.get_by_role("row").nth(1).click()
            page.get_by_text("Rule by rule").wait_for()
            settle(page)
        for each in [*wanted, ".badge"]:
            page.locator(each).first.wait_for(state="attached")
        page.wait_for_timeout(1200)  # what comes after the page, such as the colours of the editor
        settle(page)
        if "to" in given:
            page.locator(given["to"]).first.evaluate("each => each.scrollIntoView()")
        page.screenshot(path=folder / f"{name}.png")
        visitor.close()


def main():
    """Start a store for a moment, and take the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(store_binaries()["valkey"], Path(folder))
        try:
            take(store, FOLDER)
        finally:
            store.stop()


if __name__ == "__main__":
    main()
