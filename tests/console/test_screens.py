"""Every screen, with the least scope that opens it: no message in the console, nothing for axe, readable on a phone."""

import re

import pytest

from tests.console.browsing import settle

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
    ("/console/agents/refund-bot?tab=policies", "Refund bot", ["policies"]),
    ("/console/agents/refund-bot?tab=decisions", "Refund bot", ["view"]),
    ("/console/policies", "Policies", ["view"]),
    ("/console/policies/{policy}", "Small refunds", ["policies"]),
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


def test_an_empty_workspace_says_what_to_do(browsing, console_replica, store):
    """The first three steps, each with its command; and empty screens in words."""
    from tenants import Tenant  # noqa: PLC0415 - this test alone needs another workspace

    tenant = Tenant(store.url, console_replica)
    visitor = browsing.visit(console_replica.base_url, tenant.admin_key)
    try:
        page = visitor.open("/console", "Overview")
        page.get_by_text("Three steps to the first decision").wait_for()
        page.get_by_text("export REMIT_API_KEY=").wait_for()
        assert page.get_by_role("button", name="Copy").count() == 3
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
        assert visitor.faults == []
    finally:
        visitor.close()
        tenant.close()
