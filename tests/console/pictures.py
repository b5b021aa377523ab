"""The pictures of docs/console.md: `make pictures` takes them anew."""

import tempfile
from pathlib import Path

from servers import ADMIN_KEY, Replica, Store, store_binaries
from tenants import in_store

from app.model.api_keys import Scope
from app.model.ids import Ids
from app.store.workspaces import workspace_ids
from tests.console.browsing import Browsing, settle
from tests.console.scene import build
from tests.support import parts
from tests.support.actors import BY

FOLDER = Path(__file__).parents[2] / "docs/console"
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2}
MARKED = "article:has-text('looks like')"
PICTURES = [
    ("overview-light", "/console", ["text=Latest changes", ".tops", ".big"], {}),
    ("decisions-light", "/console/decisions", ["text=Refund bot"], {}),
    ("why-light", "/console/decisions?result=escalated&tool_name=refund.create", [], {"open": True}),
    ("approvals-phone", "/console/approvals", ["text=looks like"], {"color_scheme": "light", "to": MARKED, **PHONE}),
    ("agent-dark", "/console/agents/refund-bot", [".meter"], {"color_scheme": "dark"}),
    ("review-light", "/console/reviews/{review}", ["text=No longer asked"], {}),
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
        ids["review"] = ask_review(store, admin, ids["policy"])
        with browsing.in_turn():
            take_each(browsing, replica.base_url, ids, folder)
    finally:
        browsing.close()
        replica.stop()


def ask_review(store, admin, policy):
    """A change of the policy that waits for a second person, asked for by one who is not the admin."""
    made = in_store(store.url, new_key)
    asking = Replica(store.url, REMIT_SECRET="pictures " * 4, REMIT_COMPACT="false", REMIT_REVIEW="policies")
    try:
        rules = admin.get(f"/v1/policies/{policy}").json()["rules"]
        rules[2]["parameters"]["amount"]["max"] = 250
        reason = {"Change-Reason": "support may refund up to 250 by itself, as agreed with finance"}
        answer = asking.client(made).patch(f"/v1/policies/{policy}", json={"rules": rules}, headers=reason)
        assert answer.status_code == 202, answer.text
        return answer.json()["id"]
    finally:
        asking.stop()


async def new_key(store):
    """A key of a second person, in the store's only workspace."""
    workspace = (await workspace_ids(store))[0]
    return (await parts.api_keys(store, Ids()).create(workspace, "team of support", (Scope.POLICIES,), by=BY))[1]


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
