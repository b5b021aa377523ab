"""What the console does: approvals on what was seen, no key that decides, exact text, streams, and faults."""

import json
import re
import string

import pytest
from command_line import run_remit
from servers import clean_env

from tests.console.browsing import COME_BACK, PATIENCE_MS, PHONE, until

pytestmark = pytest.mark.slow

BIG = "9007199254740993"
HEAP_BYTES = 48 * 1024 * 1024


def card(page, tool):
    return page.get_by_role("article", name=f"{tool}, pending")


def test_arguments_are_shown_exactly(visit):
    """Every digit, hidden characters as codes, and markup as the text that it is."""
    visitor = visit("approve", "view")
    page = visitor.open("/console/approvals", "Approvals")
    card(page, "deploy.start").get_by_text(BIG, exact=True).wait_for()
    hostile = card(page, "mail.send")
    hostile.get_by_text("<img src=x onerror=alert(1)>").wait_for()
    assert hostile.get_by_text("U+202E").count() >= 1
    assert "\u202e" not in hostile.inner_text()
    assert '"Save it to C:\\\\new\nat once."' in hostile.inner_text()
    assert hostile.get_by_text("U+200B").count() >= 1
    assert "\u200b" not in hostile.inner_text()
    assert page.locator("img").count() == 0
    visitor.open("/console/decisions?tool_name=deploy.start&result=escalated", "Decisions")
    page.get_by_role("row").nth(1).click()
    page.get_by_role("region", name="Parameters").get_by_text(BIG).wait_for()


def test_numbers_are_exact_in_every_browser(visit):
    """Also where JSON.parse does not tell how a number was written."""
    page = visit("view").open("/console/decisions", "Decisions")
    sent = '{"a":[9007199254740993,1.0,-0,1e400,5],"b":"12345678901234567890.55 \\\\\\" 7","c":-12.50}'
    read = """async (text) => {
      const load = (name) => import(document.querySelector('script[type=module]').src.replace('main.js', name));
      const [{Exact, parse, write}, {parserOf}] = [await load('exact.js'), await load('exact_marked.js')];
      const {html, render} = await load('vendor/preact.js');
      const drawn = document.createElement("p");
      render(html`<b>${parse(text).a[0]}</b>`, drawn);
      return [...[parse, parserOf(Exact)].map((each) => write(each(text), 0)), drawn.textContent];
    }"""
    assert page.evaluate(read, sent) == [sent, sent, BIG]


def test_what_is_unusual_is_said(visit):
    """Compared with the latest allowed calls of this agent and tool, by the service: the scope approve suffices."""
    page = visit("approve").open("/console/approvals", "Approvals")
    card(page, "mail.send").get_by_text("looks like ann@example.com").wait_for()
    card(page, "deploy.start").scroll_into_view_if_needed()
    card(page, "deploy.start").get_by_text("never given before").first.wait_for()
    refund = card(page, "refund.create").inner_text().split("context.user")[1]
    assert "never given before" not in refund


def test_no_key_decides(visit, scene):
    """Every letter and sign, some of them after `g`, sends nothing but reads."""
    visitor = visit("admin")
    for path in ("/console/approvals", "/console/agents/refund-bot", "/console/keys"):
        page = visitor.open(path)
        page.get_by_role("heading", level=1).wait_for()
        for key in [*string.ascii_lowercase, *"[]/?", "Enter", " "]:
            page.keyboard.press(key)
            page.keyboard.press("Escape")
    assert {method for method, _ in visitor.requests} == {"GET"}
    assert scene.tenant.admin.get(f"/v1/approvals/{scene.ids['refund']}").json()["status"] == "pending"


def test_a_folded_value_is_opened_before_approve_works(visit):
    """Nothing is approved that was not there to be seen."""
    page = visit("approve").open("/console/approvals", "Approvals")
    deploy = card(page, "deploy.start")
    approve = deploy.get_by_role("button", name="Approve")
    assert approve.is_disabled()
    deploy.scroll_into_view_if_needed()
    deploy.get_by_text("latest allowed calls").wait_for()
    assert approve.is_disabled()
    deploy.get_by_role("button", name=re.compile("Show all")).click()
    assert approve.is_enabled()


def ask(scene, amount, order="ABC123", **context):
    """The approval that a new refund asks for."""
    body = {
        "agent_id": "refund-bot",
        "tool_name": "refund.create",
        "context": context,
        "parameters": {"order": order, "currency": "EUR", "amount": amount},
    }
    return scene.runtime.post("/v1/authorize", json=body).json()["approval"]["id"]


def test_an_approval_appears_at_once_and_is_decided_with_a_note(visit, scene):
    """Without reloading; the badge and the title count it, and the log has the note."""
    visitor = visit("approve")
    page = visitor.open("/console/approvals", "Approvals")
    card(page, "deploy.start").wait_for()
    before = page.locator(".approval.pending").count()
    approval = ask(scene, 111)
    page.locator(f'.approval.pending a[href="/console/approvals/{approval}"]').wait_for()
    until(page, f"document.querySelectorAll('.approval.pending').length > {before}")
    until(page, "document.title === `(${document.querySelectorAll('.approval.pending').length}) Approvals · Remit`")
    page.goto(f"{scene.url}/console/approvals/{approval}")
    page.get_by_role("textbox", name="Note").fill("The customer sent a receipt")
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("article", name="refund.create, approved").wait_for()
    said = scene.tenant.admin.get(f"/v1/approvals/{approval}").json()
    assert (said["status"], said["approvals"][0]["note"]) == ("approved", "The customer sent a receipt")


def test_an_approval_is_decided_on_the_version_that_was_seen(visit, scene):
    """The request names it; if somebody was faster, the card says who, and nothing is sent again."""
    approval = ask(scene, 112)
    visitor = visit("approve")
    page = visitor.page
    page.route("**/v1/approvals/stream*", lambda _: None)  # held: it says nothing, and nothing is read anew for it
    visitor.open(f"/console/approvals/{approval}", "Approval")
    page.get_by_role("button", name="Deny").wait_for()
    other = scene.tenant.admin.post(f"/v1/approvals/{approval}/approve", json={"note": "faster"})
    assert other.status_code == 200
    with page.expect_request(f"**/v1/approvals/{approval}/deny") as sent:
        page.get_by_role("button", name="Deny").click()
    assert sent.value.headers["if-match"] == '"1"'
    page.get_by_role("article", name="refund.create, approved").get_by_text("faster").wait_for()
    assert [path for method, path in visitor.requests if method == "POST"] == [f"/v1/approvals/{approval}/deny"]
    visitor.forgive("status of 409")


def test_a_second_click_reaches_no_other_card(visit, scene):
    """A card that is decided stays where it is, and one that comes is put after it, even of the same session."""
    visitor = visit("approve")
    page = visitor.open("/console/approvals", "Approvals")
    card(page, "deploy.start").wait_for()
    approvals = [ask(scene, 121 + number, f"CLICK{number}", session=f"clicks-{number}") for number in range(3)]
    cards = [page.get_by_role("article").filter(has_text=f"CLICK{number}") for number in range(3)]
    page.set_viewport_size({"width": 1280, "height": 4000})
    for each in cards:
        each.get_by_text("latest allowed calls").wait_for()
    place = cards[0].get_by_role("button", name="Approve").bounding_box()
    at = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    ask(scene, 124, "CLICK3", session="clicks-0")
    page.get_by_role("article").filter(has_text="CLICK3").get_by_text("latest allowed calls").wait_for()
    page.mouse.click(*at)
    cards[0].get_by_text("approved", exact=True).first.wait_for()
    page.mouse.click(*at)
    page.mouse.dblclick(*at)
    assert [page.get_by_role("article").filter(has_text=f"CLICK{number}").count() for number in range(3)] == [1, 1, 1]
    found = [scene.tenant.admin.get(f"/v1/approvals/{each}").json()["status"] for each in approvals]
    assert found == ["approved", "pending", "pending"]


def test_cards_decided_while_the_connection_was_lost_keep_their_place(visit, scene):
    """One that others decided stays, as tall as it was, and says what became of it; no card below it moves up."""
    visitor = visit("approve", viewport={"width": 390, "height": 9000})
    page, streams = visitor.page, []
    page.route("**/v1/approvals/stream*", lambda route: route.continue_() if streams else streams.append(route))
    approvals = [ask(scene, 131 + number, f"AWAY0{number}", session=f"lost-{number}") for number in range(3)]
    visitor.open("/console/approvals", "Approvals")
    cards = [page.get_by_role("article").filter(has_text=f"AWAY0{number}") for number in range(3)]
    for each in cards:
        each.get_by_text("latest allowed calls").wait_for()
    places = [each.bounding_box() for each in cards]
    for verdict, approval in zip(("approve", "deny"), approvals, strict=False):
        assert scene.tenant.admin.post(f"/v1/approvals/{approval}/{verdict}", json={}).status_code == 200
    streams[0].abort()
    cards[0].get_by_text("approved", exact=True).first.wait_for()
    cards[1].get_by_text("denied", exact=True).first.wait_for()
    assert [each.bounding_box() for each in cards] == places
    cards[2].get_by_role("button", name="Approve").wait_for()
    visitor.forgive("ERR_FAILED")


AHEAD = "window.ahead = 0; const real = Date.now; Date.now = () => real() + window.ahead;"


def test_a_card_that_can_no_longer_be_decided_stays_as_tall_as_it_was(visit, scene):
    """Because its time is over, or because it was decided with a long note: no card below it moves."""
    visitor = visit("approve", viewport={"width": 390, "height": 9000})
    page = visitor.page
    page.add_init_script(AHEAD)
    first, *_ = [ask(scene, 151 + number, f"LATE0{number}", session=f"late-{number}") for number in range(3)]
    visitor.open("/console/approvals", "Approvals")
    cards = [page.get_by_role("article").filter(has_text=f"LATE0{number}") for number in range(3)]
    for each in cards:
        each.get_by_text("latest allowed calls").wait_for()
    places = [each.bounding_box() for each in cards]
    note = {"note": "not today\n" * 60}
    assert scene.tenant.admin.post(f"/v1/approvals/{first}/deny", json=note).status_code == 200
    cards[0].get_by_text("denied", exact=True).first.wait_for()
    assert [each.bounding_box() for each in cards] == places
    page.evaluate("window.ahead = 40 * 86_400_000")
    cards[1].get_by_text("time is over").wait_for()
    assert [each.bounding_box() for each in cards] == places


def test_what_the_first_of_two_people_said_moves_nothing(visit, scene):
    """Nor what the second said, with whom it was decided; it is shown when it is asked for. So on its own page."""
    visitor = visit("approve", viewport={"width": 390, "height": 9000})
    page = visitor.page
    people = [
        {"Authorization": f"Bearer {scene.key(*scopes)}"} for scopes in (["approve", "audit"], ["approve", "view"])
    ]
    note = {"note": "looks right to me\n" * 20}
    body = {"agent_id": "deploy-bot", "tool_name": "deploy.start"}
    first, second = [
        scene.runtime.post(
            "/v1/authorize",
            json={**body, "parameters": {"environment": f"TWO0{each}"}, "context": {"session": f"two-{each}"}},
        ).json()["approval"]["id"]
        for each in range(2)
    ]

    def card_of(number):
        card = page.get_by_role("article").filter(has_text=f"TWO0{number}")
        card.get_by_text("latest allowed calls").wait_for()
        return card

    def decide(approval, *cards):
        controls = [cards[0].locator("header"), *cards[1:], cards[0].get_by_role("button", name="Approve")]
        who = cards[0].get_by_role("button", name="Show who")
        places = [each.bounding_box() for each in controls]
        assert scene.tenant.admin.post(f"/v1/approvals/{approval}/approve", json=note, headers=people[0]).is_success
        cards[0].get_by_text("1 of 2").wait_for()
        assert who.count() == 1
        assert [each.bounding_box() for each in controls] == places
        assert scene.tenant.admin.post(f"/v1/approvals/{approval}/approve", json=note, headers=people[1]).is_success
        cards[0].get_by_text("approved", exact=True).first.wait_for()
        assert [each.bounding_box()["y"] for each in controls[:-1]] == [each["y"] for each in places[:-1]]
        if len(cards) > 1:  # else nothing is left that could be pressed
            who.click()
        cards[0].get_by_text("looks right to me").nth(1).wait_for()
        assert who.count() == 0

    visitor.open("/console/approvals", "Approvals")
    decide(first, *[card_of(number) for number in range(2)])
    visitor.open(f"/console/approvals/{second}", "Approval")
    decide(second, card_of(1))


FORGETS = """async (id) => {
  const main = document.querySelector('script[type=module]').src;
  const {approvals, KEPT, noteApproval} = await import(main.replace('main.js', 'approvals_feed.js'));
  const drawn = approvals.value.get(id);
  const before = [...approvals.value.values()].filter((each) => each.status === "pending").length;
  const note = (id, version) => noteApproval({...drawn, id, version, status: "denied"});
  note(id, drawn.version + 1);
  for (let each = 0; each < KEPT; each++) note(`new-${each}`, 1);
  return [approvals.value.size - before + 1 - KEPT, approvals.value.has(id), approvals.value.has(`new-${KEPT - 1}`)];
}"""


def test_a_page_that_stays_open_keeps_a_bounded_number_of_approvals(visit, scene):
    """Those that wait, and the latest of the others. If a card on the screen is among the forgotten, no other takes its
    place until the person says so.
    """
    visitor = visit("approve")
    page = visitor.page
    approval = ask(scene, 171, "FORGET", session="forgotten")
    visitor.open("/console/approvals", "Approvals")
    page.get_by_role("article").filter(has_text="FORGET").wait_for()
    assert page.evaluate(FORGETS, approval) == [0, False, True]
    page.get_by_role("heading", name="Many were decided meanwhile").wait_for()
    assert page.get_by_role("article").count() == 0
    page.get_by_role("button", name="Show those that wait").click()
    card(page, "deploy.start").first.wait_for()


def test_approvals_say_how_long_people_take(visit, scene):
    """The median of the latest, on Overview and Approvals; the decided ones are found by agent and tool."""
    page = visit("view").page
    told = {"waiting": 0, "oldest": [], "decided": 3, "halfWithinSeconds": 240.0}
    page.route("**/v1/approvals/summary*", lambda route: route.fulfill(json=told))
    for path in ("/console", "/console/approvals"):
        page.goto(scene.url + path)
        page.get_by_text("Half of the latest 3 were decided within 4 min.").wait_for()
    for tool in ("refund.create", "deploy.start"):
        scene.tenant.admin.post(f"/v1/approvals/{ask(scene, 141)}/deny", json={})
        with page.expect_response(lambda answer: "/v1/approvals?status=denied" in answer.url) as read:
            page.goto(f"{scene.url}/console/approvals?status=denied&agent={scene.ids['refund-bot']}&tool={tool}")
        found = read.value.json()
        assert {each["toolName"] for each in found} == ({tool} if tool == "refund.create" else set())
    page.get_by_text("Nothing matches").wait_for()
    page.get_by_label("Agent").select_option("")
    page.wait_for_url(lambda url: "agent=" not in url)


def test_an_agent_is_stopped_with_a_reason_and_nothing_else(visit, scene):
    """The dialog says what happens; without a reason the button does nothing; the trail has the reason."""
    page = visit("policies").open("/console/agents/research-bot", "Research bot")
    page.get_by_role("button", name="Stop…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("denied on every replica").wait_for()
    assert dialog.get_by_role("button", name="Stop", exact=True).is_disabled()
    dialog.get_by_label("Reason").fill("reads what it should not, größer")
    dialog.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("button", name="Activate…").wait_for()
    assert scene.tenant.admin.get("/v1/agents/research-bot").json()["status"] == "suspended"
    assert scene.tenant.admin.get("/v1/changes?limit=1").json()[0]["reason"] == "reads what it should not, größer"
    page.get_by_role("button", name="Activate…").click()
    dialog.get_by_label("Reason").fill("mended")
    dialog.get_by_role("button", name="Activate").click()
    page.get_by_role("button", name="Stop…").wait_for()


def test_a_group_is_stopped_and_resumed(visit, scene):
    """By a guardrail that every screen of agents and policies shows, and that Resume deletes, also after a change."""
    visitor = visit("policies")
    page = visitor.open("/console/agents", "Agents")
    page.get_by_role("button", name="Stop many…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What to stop").select_option("support")
    dialog.get_by_label("Reason").fill("leaked prompt")
    dialog.get_by_role("button", name="Stop the group support").click()
    page.get_by_text("Every call of the group support is denied.").wait_for()
    denied = {"agent_id": "refund-bot", "tool_name": "order.read", "parameters": {"order": "ABC123"}}
    assert scene.runtime.post("/v1/authorize", json=denied).json()["result"] == "denied"
    page.get_by_role("button", name="Resume…").click()
    admin = scene.tenant.admin
    stop = next(each["id"] for each in admin.get("/v1/policies").json() if each["name"].startswith("Stopped by"))
    assert admin.patch(f"/v1/policies/{stop}", json={"agent_message": "Later"}).status_code == 200
    dialog.get_by_label("Reason").fill("mended")
    resume = dialog.get_by_role("button", name="Resume", exact=True)
    resume.click()
    dialog.get_by_role("alert").wait_for()
    resume.click()
    page.get_by_text("Every call of the group support is denied.").wait_for(state="hidden")
    visitor.forgive("status of 412")
    assert scene.runtime.post("/v1/authorize", json=denied).json()["result"] == "allowed"


def test_a_policy_is_saved_only_as_the_service_accepts_it(visit, scene):
    """Its verdict stands at the field; a new version has its reason; another's change is not written over."""
    visitor = visit("policies")
    page = visitor.open(f"/console/policies/{scene.ids['policy']}", "Small refunds")
    page.get_by_text("Not JSON").wait_for(state="hidden")
    save = page.get_by_role("button", name="Save…")
    top = page.get_by_label("Max", exact=True).first
    top.fill("-5")
    page.locator(".rule .error").first.wait_for()
    assert save.is_disabled()
    top.fill("400")
    until(page, "!document.querySelector('main .primary').disabled")
    theirs = scene.tenant.admin.patch(f"/v1/policies/{scene.ids['policy']}", json={"priority": 11})
    assert theirs.status_code == 200
    save.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("500").first.wait_for()
    dialog.get_by_label("Reason").fill("less")
    dialog.get_by_role("button", name="Save").click()
    page.get_by_label("Saved meanwhile").get_by_text("saved version 2").wait_for()
    assert dialog.count() == 0
    assert scene.tenant.admin.get(f"/v1/policies/{scene.ids['policy']}").json()["version"] == 2
    visitor.forgive("status of 412")


CANCELLED = """
  window.cancelled = [];
  document.querySelector("dialog").addEventListener("cancel", (event) => window.cancelled.push(event.defaultPrevented));
"""
"""Notes of each Escape in a dialog whether it was refused."""


def test_a_new_key_is_shown_once(visit):
    """The dialog stays until the key is stored, and the key is nowhere afterwards."""
    page = visit("admin").open("/console/keys", "Keys")
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name", exact=True).fill("dashboard")
    page.get_by_role("button", name="Create").click()
    shown = page.get_by_role("dialog", name="The key dashboard")
    raw = re.search(r"svc_[0-9a-f]{32}", shown.inner_text())[0]
    page.evaluate(CANCELLED)
    for _ in range(3):
        page.keyboard.press("Escape")
        assert shown.is_visible()
    until(page, "window.cancelled.length")
    assert False not in page.evaluate("window.cancelled")
    page.evaluate("document.querySelector('dialog').close()")  # as a second Escape does in some releases of browsers
    until(page, "document.querySelector('dialog:modal')")
    shown.get_by_label("I have stored it").check()
    shown.get_by_role("button", name="Close").click()
    assert raw not in page.content()


def test_decisions_are_live_and_can_be_paused(visit, scene):
    """`p` pauses; what comes is counted where it covers and moves nothing, and shown on demand, each entry once."""
    page = visit("view").open("/console/decisions?tool_name=live.tool", "Decisions")
    page.get_by_text("live", exact=True).wait_for()
    calls = {"agent_id": "refund-bot", "tool_name": "live.tool"}
    scene.runtime.post("/v1/authorize", json=calls)
    page.get_by_role("row").nth(1).wait_for()
    page.set_viewport_size(PHONE)
    page.keyboard.press("p")
    controls = [page.get_by_role("button", name="Resume"), page.get_by_role("row").first]
    controls[0].wait_for()
    places = [each.bounding_box() for each in controls]
    for _ in range(3):
        scene.runtime.post("/v1/authorize", json=calls)
    missed = page.get_by_role("button", name="3 new")
    missed.wait_for()
    assert [each.bounding_box() for each in controls] == places
    told = missed.bounding_box()
    assert told["y"] + told["height"] <= page.get_by_role("grid").bounding_box()["y"]
    missed.click()
    until(page, "document.querySelector('[role=grid]').ariaRowCount === '5'")


def test_a_row_does_not_move_while_it_is_pressed(visit, scene):
    """Otherwise a click that is released on another row opens nothing."""
    page = visit("view").open("/console/decisions?tool_name=press.tool", "Decisions")
    page.get_by_text("live", exact=True).wait_for()
    call = {"agent_id": "refund-bot", "tool_name": "press.tool"}
    pressed = scene.runtime.post("/v1/authorize", json=call).json()["id"]
    row = page.get_by_role("row").nth(1)
    row.get_by_text("press.tool", exact=True).hover()
    page.mouse.down()
    scene.runtime.post("/v1/authorize", json=call)
    page.wait_for_timeout(1500)
    page.mouse.up()
    page.wait_for_url(lambda url: f"entry={pressed}" in url)
    until(page, "document.querySelector('[role=grid]').ariaRowCount === '3'")


def test_the_address_is_the_state(visit, scene):
    """Filters and the open drawer are in it; back closes the drawer; the keyboard moves between entries."""
    page = visit("view").open("/console/decisions", "Decisions")
    with page.expect_response(lambda answer: "result=denied" in answer.url):
        page.get_by_role("button", name="denied").click()
    page.get_by_role("row").filter(has_text="allowed").first.wait_for(state="hidden")
    page.get_by_role("row").nth(1).wait_for()
    assert "result=denied" in page.url
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_text("Rule by rule").wait_for()
    first = page.url
    assert "entry=" in first
    page.keyboard.press("]")
    page.wait_for_url(lambda url: "entry=" in url and url != first)
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.goto(first)
    page.get_by_role("dialog").get_by_text("Rule by rule").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("n")
    page.get_by_role("heading", name="Agents", level=1).wait_for()


def test_keys_typed_faster_than_frames_are_drawn_reach_their_rows(visit):
    """Otherwise Enter would press again the button that was pressed last."""
    page = visit("view").open("/console/decisions", "Decisions")
    page.get_by_role("row").nth(2).wait_for()
    focused = page.evaluate("""() => ["j", "j", "k"].map((key) => {
        dispatchEvent(new KeyboardEvent("keydown", { key }));
        return document.activeElement.getAttribute("aria-rowindex");
    })""")
    assert focused == ["2", "3", "2"]


def test_enter_opens_the_row_that_has_the_focus(visit, scene):
    """Also if entries have come above it since; and the next keys reach the drawer, however fast they are typed."""
    page = visit("view").open("/console/decisions?tool_name=focus.tool", "Decisions")
    page.get_by_text("live", exact=True).wait_for()
    call = {"agent_id": "refund-bot", "tool_name": "focus.tool"}
    ids = [scene.runtime.post("/v1/authorize", json=call).json()["id"] for _ in range(2)]
    page.get_by_role("row").nth(2).wait_for()
    page.keyboard.press("j")
    page.evaluate("window.focused = document.activeElement")
    ids.append(scene.runtime.post("/v1/authorize", json=call).json()["id"])
    until(page, "window.focused.ariaRowIndex === '3' && document.activeElement === window.focused")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: f"entry={ids[1]}" in url)
    page.get_by_role("dialog").get_by_text("Rule by rule").wait_for()
    for key in "][[":
        page.keyboard.press(key)
    page.wait_for_url(lambda url: f"entry={ids[2]}" in url)
    scene.runtime.post("/v1/authorize", json=call)
    until(page, "document.querySelector('[role=grid]').ariaRowCount === '5'")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.keyboard.press("e")
    until(page, "window.copied !== undefined")
    assert f"/v1/audit-logs/{ids[2]}/explanation" in page.evaluate("window.copied")


def test_two_tabs_share_the_stream_of_approvals(visit, scene):
    """One of them holds it and tells the other; when it is closed, the other takes over."""
    visitor = visit("approve")
    visitor.open("/console/approvals", "Approvals")
    visitor.page.locator(".approval.pending").first.wait_for()
    second = visitor.new_page()
    second.goto(f"{scene.url}/console/approvals")
    second.locator(".approval.pending").first.wait_for()
    streams = [path for _, path in visitor.requests if path == "/v1/approvals/stream"]
    assert len(streams) == 1
    first_count = second.locator(".approval.pending").count()
    ask(scene, 113.0)
    until(second, f"document.querySelectorAll('.approval.pending').length === {first_count + 1}")
    assert second.get_by_text("113.0", exact=True).count() == 1
    assert [path for _, path in visitor.requests if path == "/v1/approvals/stream"] == streams
    with second.expect_request("**/v1/approvals/stream*"):
        visitor.page.close()
    visitor.page = second


AWAY = """
window.told = [];
window.Notification = class { static permission = "granted"; constructor(_, { body }) { window.told.push(body); } };
window.away = false;
Object.defineProperty(document, "hidden", { get: () => window.away });
const later = window.setTimeout;
window.setTimeout = (act, ms, ...rest) => later(act, ms === 30_000 ? 20 : ms, ...rest);
"""


def test_somebody_who_asked_for_notifications_is_told_while_away(visit, scene):
    """The stream of approvals then stays open in a page that is hidden."""
    visitor = visit("approve")
    visitor.page.add_init_script(AWAY)
    page = visitor.open("/console/approvals", "Approvals")
    page.locator(".approval.pending").first.wait_for()
    page.evaluate(f"window.away = true, {COME_BACK}")
    page.wait_for_timeout(300)
    ask(scene, 161, "AWAY99")
    until(page, "window.told.length === 1")
    told = page.evaluate("window.told[0]")
    assert told.startswith('Refund bot: refund.create 161 EUR. Needs a person. Parameter "amount" is 161')


STREAM = """
const [entry, count] = GIVEN;
const real = window.fetch;
window.fetch = (url, options) => {
  if (String(url).startsWith("/v1/audit-logs?")) return Promise.resolve(Response.json([]));
  if (!String(url).startsWith("/v1/audit-logs/stream")) return real(url, options);
  let sent = 0;
  const pull = (controller) => {
    let text = "";
    for (const until = Math.min(count, sent + 500); sent < until; sent++) {
      const id = `00000000-0000-7000-8000-${String(sent).padStart(12, "0")}`;
      text += `id: ${sent + 1}\\ndata: ${JSON.stringify({ ...entry, id })}\\n\\n`;
    }
    if (text) controller.enqueue(new TextEncoder().encode(text));
    window.streamed = sent;
    return new Promise((resolve) => setTimeout(resolve, sent < count ? 0 : 1e6));
  };
  return Promise.resolve(new Response(new ReadableStream({ pull })));
};
"""
"""In place of the service, a stream of so many entries."""


def test_a_hundred_thousand_entries_leave_memory_as_it_was(visit, scene):
    """The page keeps the newest five thousand, and draws those that can be seen."""
    visitor = visit("view")
    entry = scene.tenant.admin.get("/v1/audit-logs?limit=1&result=allowed").json()[0]
    visitor.page.add_init_script(STREAM.replace("GIVEN", json.dumps([entry, 100_000])))
    page = visitor.open("/console/decisions", "Decisions")
    until(page, "window.streamed === 100000", 10 * PATIENCE_MS)
    until(page, "document.querySelector('[role=grid]').ariaRowCount === '5001'")
    session = visitor.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    assert used < HEAP_BYTES, f"{used >> 20} MiB"
    assert page.locator("[role=row]").count() < 60


def test_a_link_signs_in_once(visit, scene, store):
    """`remit console` prints it; its code is in the fragment, which the address forgets at once. Used again, it
    says that it was, also to whoever is signed in.
    """
    env = clean_env() | {"REMIT_REDIS_URL": store.url}
    ran = run_remit(["console", "--workspace", scene.tenant.id, "--scope", "view", "--url", scene.url], env)
    assert ran.returncode == 0, ran.stderr
    visitor = visit()
    page = visitor.page
    page.goto(ran.stdout.strip())
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    assert "#" not in page.url
    page.get_by_text("Sign out").evaluate("button => button.click()")
    page.get_by_role("heading", name="Sign in to Remit").wait_for()
    page.goto(ran.stdout.strip())
    page.get_by_role("alert").get_by_text("This link was used already, or is older than a minute").wait_for()
    assert visitor.violations() == []
    page.get_by_label("API key").fill(scene.key("view"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    used = page.get_by_text("This link was used already")
    assert used.count() == 0
    page.goto(ran.stdout.strip())
    page.locator(".bar", has=used).get_by_text("You are signed in as before").wait_for()
    page.get_by_role("button", name="Close").click()
    used.wait_for(state="detached")
    visitor.forgive("status of 401", "status of 404")
