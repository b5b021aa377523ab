"""What screens show when something is missing or wrong, what the keyboard reaches, and how sessions end."""

import re

import pytest

from tests.console.browsing import settle, until

pytestmark = pytest.mark.slow

REFUSALS = [
    (403, "INSUFFICIENT_SCOPE", "The key has not the scope for this"),
    (429, "TOO_MANY_REQUESTS", "More requests than this key may make"),
    (500, "AUDIT_LOG_DAMAGED", "Segment 3 of the log is altered"),
    (503, "STORE_UNAVAILABLE", "The store does not answer"),
]


@pytest.mark.parametrize(("status", "code", "message"), REFUSALS, ids=[str(each[0]) for each in REFUSALS])
def test_every_screen_says_why_it_has_nothing(visit, status, code, message):
    """Never that there is nothing, and never only that it is loading."""
    visitor = visit("admin", locale="en-GB")
    page = visitor.page
    problem = {"error": {"code": code, "message": message, "details": []}}

    def answer(route):
        if "/v1/session" in route.request.url and "/v1/sessions" not in route.request.url:
            route.continue_()
        else:
            route.fulfill(status=status, json=problem, headers={"Retry-After": "61", "X-Request-ID": "req-9"})

    page.route("**/v1/**", answer)
    visitor.open("/console", "Overview")
    for link in page.get_by_role("navigation", name="Screens").get_by_role("listitem").get_by_role("link").all():
        link.click()
        page.locator("#screen").get_by_text(message).first.wait_for()
        assert page.locator("#screen .empty").count() == 0, page.url
        if status == 500:
            page.locator("#screen").get_by_text("The Log screen says where").first.wait_for()
    visitor.forgive(f"status of {status}")


CONTROLS = """(() => {
  window.reached = new Set();
  addEventListener("focusin", (event) => window.reached.add(event.target));
  window.wanted = () => [...document.querySelectorAll("#screen :is(a[href], button, input, select, textarea, summary)")]
    .filter((each) => !each.disabled && each.checkVisibility() && each.type !== "radio" && !each.closest(".cm-host"));
})()"""


def test_every_control_is_reached_by_keyboard(visit):
    """Each screen is opened with two keys, and Tab comes to all that can be used there."""
    page = visit("admin").open("/console", "Overview")
    page.evaluate(CONTROLS)
    for key in "odanpwtkhelc":
        page.keyboard.press("g")
        page.keyboard.press(key)
        until(page, "document.querySelector('#screen h1') !== null")
        settle(page)
        unreached = None
        for _ in range(3):  # data that arrives meanwhile adds controls before the one that has the focus
            page.evaluate("window.reached.clear(), document.getElementById('screen').focus()")
            for _ in range(page.evaluate("window.wanted().length") + 5):
                page.keyboard.press("Tab")
            unreached = page.evaluate("window.wanted().filter((e) => !window.reached.has(e)).map((e) => e.outerHTML)")
            if not unreached:
                break
            settle(page)
        assert unreached == [], page.url
        page.evaluate("document.activeElement.blur()")


def test_a_session_that_ends_while_a_dialog_is_open_sends_nothing_twice(visit, scene):
    """The sign-in comes over the dialog; what was typed stays, and the refused write is not repeated by itself."""
    key = scene.tenant.new_key(["policies"])
    visitor = visit(key=key["key"], locale="en-GB")
    page = visitor.open("/console/agents/deploy-bot", "Deploy bot")
    page.get_by_role("button", name="Stop…").click()
    asked = page.get_by_role("dialog", name="Stop Deploy bot")
    asked.get_by_label("Reason").fill("typed before")
    assert scene.tenant.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204
    asked.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("Your session has ended").wait_for()
    page.get_by_label("API key").fill(scene.key("policies"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("Your session has ended").wait_for(state="hidden")
    assert asked.get_by_label("Reason").input_value() == "typed before"
    assert scene.tenant.admin.get("/v1/agents/deploy-bot").json()["status"] == "active"
    assert len([path for method, path in visitor.requests if method == "PATCH"]) == 1
    visitor.forgive("status of 401")


def test_signing_out_in_one_tab_ends_all_of_them(visit, scene):
    """Also one with an open dialog; nothing of what it showed stays on the page."""
    visitor = visit(key=scene.tenant.new_key(["policies"])["key"], locale="en-GB")
    first = visitor.open("/console/agents", "Agents")
    first.get_by_role("button", name="New agent").click()
    first.evaluate("sessionStorage.setItem('remit.tests.x', 'what a decision quoted')")
    second = visitor.new_page()
    second.goto(f"{scene.url}/console/policies")
    second.locator("summary", has_text=re.compile("a key")).click()
    second.get_by_role("button", name="Sign out").click()
    for page in (first, second):
        page.get_by_role("heading", name="Sign in to Remit").wait_for()
        assert page.get_by_text("Deploy bot").count() == 0
        assert page.evaluate("sessionStorage.length") == 0
    visitor.forgive("status of 401")


def test_entries_are_found_by_a_text(visit, scene):
    """It is in the address, and matches are found in any value."""
    page = visit("view").open("/console/decisions", "Decisions")
    page.get_by_label("Text").fill("FUGWRD")
    page.get_by_label("Text").press("Enter")
    page.wait_for_url(lambda url: "q=FUGWRD" in url)
    until(page, "document.querySelectorAll('.tbody [role=row]').length === 1")
    page.get_by_role("row").nth(1).get_by_text("refund.create").wait_for()
    page.get_by_role("button", name="More filters").click()
    page.get_by_role("combobox", name="Rule").select_option("budget")
    page.get_by_role("heading", name="Nothing matches").wait_for()
    page.get_by_role("button", name="Remove the filter rule_type").click()
    page.get_by_role("row").nth(1).get_by_text("refund.create").wait_for()


def test_what_is_typed_into_a_filter_stays_while_entries_come(visit, scene):
    """New entries draw the list again, and nothing else."""
    page = visit("view").open("/console/decisions", "Decisions")
    page.get_by_text("live", exact=True).wait_for()
    page.get_by_label("Text").press_sequentially("half a w")
    scene.runtime.post("/v1/authorize", json={"agent_id": "refund-bot", "tool_name": "while.typing"})
    page.get_by_role("row").filter(has_text="while.typing").first.wait_for()
    assert page.get_by_label("Text").input_value() == "half a w"
