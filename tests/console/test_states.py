"""What screens show when something is missing or wrong, what the keyboard reaches, and how sessions end."""

import itertools
import re

import pytest
from tenants import Tenant

from app.model.checkpoints import SignedTree
from tests.console.browsing import COME_BACK, DESKTOP, OF_THE_PAGE, PHONE, press, settle, until

pytestmark = pytest.mark.slow

REFUSALS = [
    (403, "INSUFFICIENT_SCOPE", "The key has not the scope for this"),
    (429, "TOO_MANY_REQUESTS", "More requests than this key may make"),
    (500, "AUDIT_LOG_DAMAGED", "Segment 3 of the log is altered"),
    (503, "STORE_UNAVAILABLE", "The store does not answer"),
]


def menu(page):
    return page.get_by_role("navigation", name="Screens").get_by_role("listitem").get_by_role("link").all()


def test_every_screen_says_why_it_has_nothing(visit):
    """Never that there is nothing, and never only that it is loading. Some meet each refusal; all show it alike."""
    visitor = visit("admin", locale="en-GB")
    page = visitor.page
    refusals = itertools.cycle(REFUSALS)
    why = re.compile("|".join(message for *_, message in REFUSALS))

    def answer(route):
        if "/v1/session" in route.request.url and "/v1/sessions" not in route.request.url:
            route.continue_()
        else:
            headers = {"Retry-After": "61", "X-Request-ID": "req-9"}
            problem = {"error": {"code": refused[1], "message": refused[2], "details": []}}
            route.fulfill(status=refused[0], json=problem, headers=headers)

    refused = next(refusals)
    page.route("**/v1/**", answer)
    visitor.open("/console", "Overview")
    for link in menu(page):
        refused = next(refusals)
        link.click()
        page.locator("#screen .page").get_by_text(why).first.wait_for()  # some read what was refused before
        assert page.locator("#screen .empty").count() == 0, page.url
    refused = REFUSALS[2]
    page.get_by_role("link", name="People").click()
    page.get_by_text("The Log screen says where").wait_for()
    page.get_by_text("req-9").first.wait_for()  # so that whoever runs the service finds it
    visitor.forgive("status of ")


SHOWN = {
    "Overview": "Decisions", "Decisions": "refund.create", "Approvals": "mail.send", "Agents": "Deploy bot",
    "Policies": "Never delete", "What if": "Deploy bot", "Catalogue": "Read an order", "Keys": "view",
    "Webhooks": "hooks.example.com", "People": "admin", "Log": "Not sealed yet", "Changes": "Small refunds",
}  # fmt: skip
"""A part of what each screen shows of the workspace."""
TOLD_BY_ANOTHER_TAB = "new BroadcastChannel('remit.session').postMessage('in')"


def y_of(shown):
    return (shown.bounding_box() or {}).get("y")


UNDER_THE_BAR = """(() => {
  const bar = document.querySelector(".bar").getBoundingClientRect();
  const lists = [...document.querySelectorAll(".table.tall")];
  for (const each of lists) each.scrollTop = 9999;
  const stage = document.getElementById("screen");
  stage.scrollTop = 9999;
  const under = lists.map((each) => each.getBoundingClientRect().bottom - bar.top).filter((each) => each > 0);
  for (const each of [...lists, stage]) each.scrollTop = 0;
  return under;
})()"""


def test_every_screen_keeps_what_it_has(visit, scene):
    """If a refresh fails, or nothing answers, it says that this may be old, and moves and covers nothing; if the
    session ended, it asks for another over it.
    """
    url = "https://hooks.example.com/%3Cimg%20src=x%3E/" + "z" * 200
    webhook = scene.tenant.admin.post("/v1/webhooks", json={"url": url, "events": ["policy.changed"]}).json()
    visitor = visit("admin", locale="en-GB")
    page = visitor.open("/console", "Overview")

    def refuse(status):
        def answer(route):
            if "/v1/session" in route.request.url and "/v1/sessions" not in route.request.url:
                route.continue_()
            elif status is None:
                route.abort()
            else:
                route.fulfill(status=status, json={"error": {"code": "X", "message": "Refused now", "details": []}})

        page.route("**/v1/**", answer)
        page.evaluate(COME_BACK)

    for link in menu(page):
        name = link.inner_text().split("\n")[0].strip()
        link.click()
        page.get_by_role("heading", name=name, level=1).wait_for()
        settle(page)
        shown = page.locator("#screen .page").get_by_text(SHOWN[name]).first
        shown.wait_for(state="attached")
        for status, said in ((500, "Refused now"), (None, "This page cannot reach Remit")):
            place = y_of(shown)
            refuse(status)
            bar = page.locator(".bar").filter(has_text=said)
            bar.get_by_text("What you see may be old").wait_for()
            assert (shown.count(), y_of(shown)) == (1, place), name
            for size in (PHONE, {"width": 1280, "height": 500}, DESKTOP):
                page.set_viewport_size(size)
                assert page.evaluate(UNDER_THE_BAR) == [], (name, size)
            page.unroute("**/v1/**")
            page.evaluate(COME_BACK)
            page.locator(".bar").wait_for(state="hidden")
        refuse(401)
        ended = page.get_by_text("Your session has ended")
        ended.wait_for()
        assert shown.count() == 1, name
        page.unroute("**/v1/**")
        page.evaluate(TOLD_BY_ANOTHER_TAB)
        ended.wait_for(state="hidden")
    visitor.forgive("status of ", "ERR_FAILED")
    assert scene.tenant.admin.delete(f"/v1/webhooks/{webhook['id']}").status_code == 204


@pytest.mark.parametrize(
    ("status", "why"),
    [(None, "This page cannot reach Remit"), (502, "The service answered 502"), (503, "The store does not answer")],
)
def test_a_page_that_is_opened_in_an_outage_waits_for_its_end(visit, status, why):
    """It says why, and asks again by itself; nobody is asked to sign in who is signed in."""
    visitor = visit("admin", locale="en-GB")
    page = visitor.page

    def answer(route):
        if status is None:
            route.abort()
        else:
            told = {"json": {"error": {"code": "STORE_UNAVAILABLE", "message": why}}}
            route.fulfill(status=status, **(told if status == 503 else {"body": "<h1>a balancer's page</h1>"}))

    page.route("**/v1/**", answer)
    visitor.open("/console")
    page.get_by_role("alert").get_by_text(why).wait_for()
    page.get_by_text("This page tries again by itself").wait_for()
    assert page.get_by_label("API key").count() == page.get_by_role("heading", name="Sign in").count() == 0
    assert visitor.violations() == []
    page.unroute("**/v1/**")
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    page.get_by_role("alert").wait_for(state="hidden")
    visitor.forgive("status of ", "ERR_FAILED")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"json": {"error": {"code": "STORE_UNAVAILABLE", "message": "The store is full"}}}, "The store is full."),
        ({"body": "<h1>a balancer's page</h1>"}, "The service answered 503."),
    ],
    ids=["Remit", "a balancer"],
)
def test_overview_says_in_a_sentence_why_decisions_are_refused(visit, answer, why):
    visitor = visit("view")
    visitor.page.route("**/readyz", lambda route: route.fulfill(status=503, **answer))
    page = visitor.open("/console", "Overview")
    health = page.get_by_role("status").filter(has_text="Decisions are being refused.")
    health.get_by_text(why).wait_for()
    assert f"Decisions are being refused. {why}" in health.inner_text()
    assert not set('{"<') & set(health.inner_text())
    visitor.forgive("status of 503")


def test_the_tab_that_is_shown_is_in_sight_on_a_phone(visit):
    """Also if a link leads to the last one."""
    page = visit("admin", viewport=PHONE).open("/console/agents/refund-bot?tab=changes", "Refund bot")
    line = page.get_by_role("navigation", name="Parts of the agent")
    shown = line.locator("[aria-current]")
    assert shown.inner_text() == "Changes"
    room, at = line.bounding_box(), shown.bounding_box()
    assert room["x"] <= at["x"]
    assert at["x"] + at["width"] <= room["x"] + room["width"]


def test_fields_of_a_policy_are_aligned_on_a_phone(visit, scene):
    """A box to tick has a line of its own, and fields of text are as wide as the form."""
    page = visit("policies", viewport=PHONE).open(f"/console/policies/{scene.ids['policy']}", "Small refunds")
    fields = {name: page.get_by_label(name, exact=True) for name in ("Name", "Enabled", "Key", "Agent message")}
    fields["Key"].wait_for()
    boxes = {name: each.bounding_box() for name, each in fields.items()}
    assert boxes["Key"]["y"] > boxes["Enabled"]["y"] + boxes["Enabled"]["height"]
    assert len({(boxes[name]["x"], boxes[name]["width"]) for name in ("Name", "Key", "Agent message")}) == 1


def test_how_people_sign_in_is_not_guessed(visit):
    """A key is asked for once the service has said that there is no other way; until then, why that is not known."""
    visitor = visit()
    page = visitor.page
    page.route("**/v1/sign-in", lambda route: route.abort())
    visitor.open("/console", "Sign in to Remit")
    page.get_by_role("alert").get_by_text("This page cannot reach Remit").wait_for()
    assert page.get_by_label("API key").count() == 0
    page.unroute("**/v1/sign-in")
    page.get_by_label("API key").wait_for()
    page.get_by_text("This page cannot reach Remit").wait_for(state="hidden")
    visitor.forgive("ERR_FAILED", "status of 401")


def test_what_is_not_known_is_not_said(visit, scene):
    """An agent whose policies are being read is not one without any, and a list that cannot be read is not replaced."""
    visitor = visit("policies", locale="en-GB")
    page, held = visitor.page, []

    def hold(route):
        held.append(route)

    page.route("**/v1/policies?*", hold)
    visitor.open("/console/agents/refund-bot?tab=policies", "Refund bot")
    page.locator("#screen .skeleton").wait_for()
    assert page.get_by_text("No policy governs this agent").count() == 0
    for each in held:
        each.continue_()
    page.get_by_text("Guardrails are evaluated for every call").wait_for()
    visitor.open("/console/catalog", "Catalogue")
    page.get_by_text("Refund an order").wait_for()
    refused = {"error": {"code": "X", "message": "Refused now", "details": []}}
    page.route("**/v1/catalog?limit=1000*", lambda route: route.fulfill(status=500, json=refused))
    press(page.get_by_role("button", name="Import tools…"))
    page.locator("#screen .problem").get_by_text("Refused now").wait_for()
    assert page.get_by_role("dialog").count() == 0
    page.unroute("**/v1/catalog?limit=1000*")
    held.clear()
    page.route("**/v1/catalog?limit=1&*", hold)
    page.route("**/v1/catalog?limit=1", hold)
    button = page.get_by_role("button", name="Import tools…")
    enabled = button.evaluate("each => getComputedStyle(each).opacity")
    press(button)
    page.locator("button[aria-disabled=true]").wait_for()
    assert button.evaluate("each => getComputedStyle(each).opacity") != enabled
    visitor.forgive("status of 500")


def test_the_latest_changes_are_read_from_a_few_pages(visit):
    """However many pages of a long trail have nothing that is shown."""
    visitor = visit("admin", locale="en-GB")
    page, asked = visitor.page, []

    def answer(route):
        asked.append(route.request.url)
        route.fulfill(json=[], headers={"X-Next-Cursor": str(len(asked))})

    page.route(lambda url: "/v1/changes?" in url and "limit=6" in url, answer)
    visitor.open("/console", "Overview")
    page.get_by_text("Top agents").wait_for()
    page.wait_for_timeout(500)
    assert len(asked) == 3


def test_scopes_that_a_session_has_lost_are_gone_from_an_open_page(visit):
    """Its menu has only what it may still read."""
    visitor = visit("admin", locale="en-GB")
    page = visitor.open("/console/changes", "Changes")
    scopes = ["audit"]

    def answer(route):
        told = route.fetch().json()
        route.fulfill(json=told | {"scopes": scopes})

    page.route("**/v1/session", answer)
    page.evaluate(TOLD_BY_ANOTHER_TAB)
    page.get_by_role("link", name="Keys").wait_for(state="detached")
    page.get_by_role("link", name="Changes").wait_for()


def test_what_the_background_verification_found_is_shown(visit):
    """Where, what it means, when the log was last intact, and how much of it was there then."""
    visitor = visit("audit")
    at = "2026-11-20T12:00:00.000Z"
    finding = {"fault": "changed", "segment": 7, "message": "It was <b>altered</b>", "part": "segments"}
    status = {"unsealed": 0, "lagSeconds": 0, "lastSequence": 90, "sealedSequence": 90, "firstSequence": 1}
    found = {
        "segments": 9,
        "poison": 1,
        "verification": {"beganAt": at, "upTo": 60, "finding": finding},
        "intactAt": at,
        "intactUpTo": 40,
        "forks": [],
    }
    visitor.page.route("**/v1/audit-logs/status", lambda route: route.fulfill(json=status | found))
    page = visitor.open("/console/log", "Log")
    page.get_by_role("alert").get_by_text("The log has been changed in segments, segment 7.").wait_for()
    page.get_by_role("alert").get_by_text("It was <b>altered</b>").wait_for()
    page.locator("h2", has_text="40 of 90 entries verified").wait_for()
    page.locator("dd", has_text="found intact").get_by_text(", up to entry 40").wait_for()
    assert page.get_by_text("entry 60").count() == 0
    visitor.page.route("**/v1/audit-logs/status", lambda route: route.fulfill(json=status | found | {"intactUpTo": 90}))
    page.evaluate(COME_BACK)
    page.locator("h2").get_by_text("90 entries verified").wait_for()
    page.get_by_text("1 entry could not be sealed unchanged").wait_for()


def test_a_fork_is_shown_until_it_is_accepted(visit, scene):
    """Since when, why, what accepting means and the command; on the overview, too; then who has accepted it."""
    scene.tenant.fork(SignedTree.CHANGES, "at 2 leaves, <b>it</b> does not continue 1")
    visitor = visit("admin", locale="en-GB")
    page = visitor.open("/console", "Overview")
    page.get_by_role("link", name="What was signed is not continued.").click()
    told = page.get_by_role("alert").filter(has_text="The trail of changes has forked")
    told.get_by_text("at 2 leaves, <b>it</b> does not continue 1").wait_for()
    assert told.locator("time").get_attribute("datetime") == "2026-11-20T12:00:00.000Z"
    told.get_by_text("remit audit accept-fork").wait_for()
    assert visitor.violations() == []
    answer = scene.tenant.admin.post("/v1/audit-logs/accept-fork", json={}, headers={"Change-Reason": "a failover"})
    assert answer.status_code == 200
    page.evaluate(COME_BACK)
    told.wait_for(state="detached")
    visitor.open("/console/changes", "Changes")
    page.get_by_text("updated the signing of checkpoints").get_by_text("of the changes").wait_for()


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
    asked.get_by_label("Reason").press("Enter")
    page.get_by_text("Your session has ended").wait_for()
    for _ in range(3):
        page.keyboard.press("Escape")
    page.get_by_label("API key").fill(scene.key("policies"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("Your session has ended").wait_for(state="hidden")
    assert asked.get_by_label("Reason").input_value() == "typed before"
    assert asked.get_by_label("Reason").evaluate("each => each === document.activeElement")
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


def test_a_page_shows_the_workspace_in_which_it_acts(visit, scene, store, console_replica):
    """Also if somebody signs in to another one in a second tab. A session that has ended can be left, too."""
    visitor = visit(key=scene.tenant.new_key(["policies"])["key"], locale="en-GB")
    first = visitor.open("/console/agents", "Agents")
    first.get_by_text("Deploy bot").wait_for()
    other = Tenant(store.url, console_replica)
    key = other.new_key(["policies"])
    proof = {"data": {"key": key["key"]}, "headers": OF_THE_PAGE}
    assert visitor.context.request.post(f"{scene.url}/v1/session", **proof).ok
    visitor.new_page().goto(f"{scene.url}/console")
    first.get_by_text("No agent yet").wait_for()
    assert other.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204
    first.locator("summary", has_text="a key").click()
    first.get_by_role("button", name="Sign out").click()
    first.get_by_role("heading", name="Sign in to Remit").wait_for()
    visitor.forgive("status of 401", "status of 404")
    other.close()


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
