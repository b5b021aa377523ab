"""Every screen, with the least scope that opens it: no message in the console, nothing for axe, readable on a phone."""

import re

import pytest

from tests.console.browsing import press, settle, until
from tests.console.scene import HOSTILE, MARKUP

pytestmark = pytest.mark.slow

UNSAFE = r"""[...document.querySelectorAll("*")].flatMap((each) => [
  ...(each.tagName === "IMG" ? ["an element made of text"] : []),
  ...[...each.attributes].filter((one) => /[\u202e\u200b]/.test(one.value)).map((one) => `${each.tagName} ${one.name}`),
  ...[...each.childNodes].filter((one) => one.nodeType === 3 && /[\u202e\u200b]/.test(one.data)).map((one) => one.data),
])"""
"""What the page has made of hostile texts: elements, or invisible characters that are not shown as codes."""
SCREENS = [
    ("/console", "Overview", ["view"]),
    ("/console/decisions", "Decisions", ["audit"]),
    ("/console/approvals", "Approvals", ["approve"]),
    ("/console/agents", "Agents", ["view"]),
    ("/console/agents/refund-bot", "Refund bot", ["view"]),
    ("/console/agents/hostile", "<img src=x", ["view"]),
    ("/console/agents/research-bot?tab=limits", "Research bot", ["policies"]),
    ("/console/agents/refund-bot?tab=bounds", "Refund bot", ["view"]),
    ("/console/agents/refund-bot?tab=propose", "Refund bot", ["audit", "view"]),
    ("/console/agents/refund-bot?tab=policies", "Refund bot", ["policies"]),
    ("/console/agents/refund-bot?tab=decisions", "Refund bot", ["view"]),
    ("/console/agents/refund-bot?tab=changes", "Refund bot", ["view", "audit"]),
    ("/console/policies", "Policies", ["view"]),
    ("/console/policies/{policy}", "Small refunds", ["policies"]),
    ("/console/policies/new", "New policy", ["policies"]),
    ("/console/policies/{policy}?as=json", "Small refunds", ["view"]),
    ("/console/policies/{policy}?tab=versions", "Small refunds", ["view"]),
    ("/console/policies/{policy}?tab=tests", "Small refunds", ["policies"]),
    ("/console/what-if?agent=refund-bot&tool=refund.create", "What if", ["view"]),
    ("/console/catalog", "Catalogue", ["view"]),
    ("/console/keys", "Keys", ["admin"]),
    ("/console/webhooks", "Webhooks", ["admin"]),
    ("/console/people", "People", ["admin"]),
    ("/console/log", "Log", ["audit"]),
    ("/console/changes", "Changes", ["audit"]),
    ("/console/approvals/{exact}", "Approval", ["approve"]),
]


@pytest.mark.parametrize(("path", "heading", "scopes"), SCREENS, ids=[path for path, _, _ in SCREENS])
def test_a_screen_opens_with_the_least_scope(visit, scene, path, heading, scopes):
    """In both themes, on a desktop and on a phone, axe finds nothing; hostile texts are texts."""
    visitor = visit(*scopes)
    page = visitor.open(path.format(**scene.ids), heading)
    settle(page)
    assert page.get_by_role("alert").count() == 0, page.get_by_role("alert").all_inner_texts()
    assert visitor.violations() == []
    assert page.evaluate(UNSAFE) == []


def test_texts_of_webhooks_are_texts(visit):
    """What receivers answer, however hostile."""
    hook = {
        "id": "w",
        "url": "https://hooks.example.com/\u202egnp.exe",
        "format": "standard",
        "enabled": True,
        "lost": 1,
    }
    counts = {
        "delivered": 9,
        "waiting": 1,
        "parked": 1,
        "version": 1,
        "events": ["policy.changed"],
        "lastError": MARKUP,
    }
    event = {"id": "e", "type": "policy.changed", "status": "parked", "attempts": 9, "error": HOSTILE}
    at = "2026-11-20T12:00:00.000Z"
    tried = {"eventId": "e", "at": at, "type": "policy.changed", "attempt": 9, "milliseconds": 5, "error": HOSTILE}
    visitor = visit("admin")
    visitor.page.route("**/v1/webhooks**", lambda route: route.fulfill(json=[hook | counts]))
    visitor.page.route("**/v1/webhooks/w/events", lambda route: route.fulfill(json=[event]))
    visitor.page.route(
        "**/deliveries", lambda route: route.fulfill(json=[tried | {"delivered": False, "status": None}])
    )
    page = visitor.open("/console/webhooks", "Webhooks")
    press(page.get_by_role("button", name="Show undelivered events"))
    press(page.get_by_role("button", name="Show attempts"))
    page.get_by_text("attempt 9 in 5 ms").wait_for()
    assert page.get_by_text("U+202E").count() == 3
    assert visitor.violations() == []
    assert page.evaluate(UNSAFE) == []


def test_a_limit_for_each_value_shows_the_fullest(visit, scene):
    """With the values, for those who may read the log."""
    call = {"agent_id": "research-bot", "tool_name": "file.read", "parameters": {"path": "/srv/papers/b.pdf"}}
    for user in ("eve", "eve", "mallory"):
        answer = scene.runtime.post("/v1/authorize", json=call | {"context": {"user": user}})
        assert answer.json()["result"] == "allowed"
    page = visit("view").open("/console/agents/research-bot?tab=limits", "Research bot")
    for user, count in (("eve", 2), ("mallory", 1)):
        bucket = page.get_by_role("listitem").filter(has_text=f'context.user = "{user}"')
        bucket.get_by_text(f"{count} of 100 in 1 h").wait_for()


def test_a_drawer_and_a_dialog_please_axe(visit, scene):
    """The explanation of a decision, the list of shortcuts, a form and a confirmation."""
    visitor = visit("admin")
    page = visitor.open("/console/decisions?result=escalated", "Decisions")
    page.get_by_role("row").nth(1).click()
    page.get_by_text("Rule by rule").wait_for()
    settle(page)
    assert visitor.violations() == []
    visitor.open("/console/keys", "Keys")
    page.get_by_role("button", name="New key").click()
    assert visitor.violations() == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("Revoke")).first.click()
    assert visitor.violations() == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("heading", name="Shortcuts").wait_for()
    assert visitor.violations() == []


def test_the_door_asks_for_a_key_and_says_what_was_wrong(visit):
    """Nothing else is shown, and a wrong key does not stay in the field."""
    visitor = visit()
    page = visitor.open("/console/decisions")
    page.get_by_role("heading", name="Sign in to Remit").wait_for()
    assert visitor.violations() == []
    page.get_by_label("API key").fill("svc_" + "0" * 32)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").get_by_text("key").wait_for()
    assert page.get_by_label("API key").input_value() == ""
    visitor.forgive("status of 40")


@pytest.mark.parametrize(
    ("scopes", "shown"),
    [
        (["approve"], ["Approvals"]),
        (["policies"], ["Overview", "Agents", "Policies", "What if", "Catalogue"]),
        (["audit"], ["Overview", "Decisions", "Log", "Changes"]),
        (["view"], ["Overview", "Decisions", "Approvals", "Agents", "Policies", "What if", "Catalogue", "Log"]),
    ],
    ids=str,
)
def test_the_menu_has_what_the_session_may_read(visit, scopes, shown):
    """Other screens are absent; the first one is opened."""
    page = visit(*scopes).open("/console")
    page.get_by_role("navigation", name="Screens").wait_for()
    names = page.get_by_role("navigation", name="Screens").get_by_role("listitem").all_inner_texts()
    assert [name.split("\n")[0].strip() for name in names] == shown
    page.get_by_role("heading", name=shown[0], level=1).wait_for()


def walk_the_first_steps(page, tenant, url):
    """To the first decision, with the keyboard alone and what the page says; each step ticks itself off."""

    def back(done):
        press(page.get_by_role("link", name="Overview"))
        until(page, f"document.querySelectorAll('.steps .done').length === {done}")

    press(page.get_by_role("link", name="or do it here"))
    press(page.get_by_role("button", name="New agent"))
    page.get_by_label("Name", exact=True).fill("Refund bot")
    press(page.get_by_role("button", name="Create"))
    page.get_by_role("heading", name="Refund bot", level=1).wait_for()
    page.get_by_role("link", name="Write its first policy").wait_for()
    back(1)
    press(page.get_by_role("link", name="or write it here"))
    page.get_by_label("Name", exact=True).fill("Read orders")
    page.get_by_label("Tools", exact=True).fill("order.read")
    press(page.get_by_role("button", name="Save…"))
    press(page.get_by_role("dialog").get_by_role("button", name="Save"))
    page.get_by_role("heading", name="Read orders", level=1).wait_for()
    back(2)
    shown = page.locator(".steps code", has_text="curl")
    shown.wait_for()  # until what comes after it is read, it is there and hidden
    command = shown.inner_text()
    given = re.fullmatch(r"""curl -s (\S+) -H "Authorization: Bearer \$REMIT_API_KEY" -d '(.+)'""", command)
    assert given is not None, command
    assert given[1] == f"{url}/v1/authorize"
    answer = tenant.admin.post("/v1/authorize", content=given[2])
    assert (answer.status_code, answer.json()["result"]) == (200, "allowed"), answer.text
    page.get_by_text("Three steps to the first decision").wait_for(state="hidden")
    press(page.get_by_role("link", name="Decisions", exact=True).first)
    press(page.locator(".tbody [role=row]"))
    page.get_by_role("dialog").get_by_text("Rule by rule").wait_for()


def test_an_empty_workspace_says_what_to_do(browsing, console_replica, store):
    """Empty screens in words, and the three steps to the first decision, walked to their end."""
    from tenants import Tenant  # noqa: PLC0415 - this test alone needs another workspace

    tenant = Tenant(store.url, console_replica)
    visitor = browsing.visit(console_replica.base_url, tenant.admin_key)
    try:
        unanswered = []  # until it is known whether a decision was asked for, that step is not done either

        def hold(route):
            unanswered.append(route)

        visitor.page.route("**/v1/audit-logs?limit=1", hold)
        page = visitor.open("/console", "Overview")
        page.get_by_text("export REMIT_API_KEY=").wait_for()
        assert page.get_by_role("button", name="Copy").count() == 3
        assert unanswered
        page.unroute_all()
        for path, words in (
            ("/console/decisions", "No decision yet"),
            ("/console/approvals", "Nothing waits for you"),
            ("/console/agents", "No agent yet"),
            ("/console/policies", "No policy yet"),
            ("/console/catalog", "No tool is known yet"),
            ("/console/webhooks", "No webhook yet"),
        ):
            visitor.open(path)
            page.get_by_role("heading", name=words).wait_for()
        visitor.open("/console/decisions?result=denied&tool_name=x")
        page.get_by_role("heading", name="Nothing matches").wait_for()
        page.get_by_role("button", name="Remove all filters").click()
        page.get_by_role("heading", name="No decision yet").wait_for()
        visitor.open("/console", "Overview")
        walk_the_first_steps(page, tenant, console_replica.base_url)
        assert visitor.faults == []
    finally:
        visitor.close()
        tenant.close()
