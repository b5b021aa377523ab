"""What comes in another order than expected: nothing older replaces what is newer, and nothing between is missing."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.console.browsing import COME_BACK, OF_THE_PAGE, until

pytestmark = pytest.mark.slow

LOAD = """
  const load = (name) => import(document.querySelector('script[type=module]').src.replace('main.js', name));
  const real = window.fetch;
  const instead = (part, answer) => {
    window.fetch = (url, options) => (String(url).includes(part) ? new Promise(answer) : real(url, options));
  };
"""
OVERTAKEN = """async () => {
  LOAD
  const {policies} = await load("names.js");
  const answers = [];
  instead("/v1/policies?", (give) => answers.push(give));
  const known = () => [...(policies.all ?? new Map()).keys()];
  const readings = [policies.refresh(), policies.refresh()];
  const then = readings[0].then(known);
  answers[0](Response.json([{id: "older"}]));
  await new Promise((resolve) => setTimeout(resolve, 50));
  answers[1](Response.json([{id: "newer"}]));
  const seen = await then;
  readings.push(policies.refresh(), policies.refresh());
  answers[3](Response.json([{id: "newest"}]));
  await readings[3];
  answers[2](Response.json({error: {code: "X", message: "Refused"}}, {status: 500}));
  await readings[2];
  window.fetch = real;
  return [...seen, ...known(), policies.error];
}""".replace("LOAD", LOAD)
WAITED = """async () => {
  LOAD
  const {approvals, noteApproval, readPending} = await load("approvals_feed.js");
  const answers = [];
  instead("/v1/approvals?", (give) => answers.push(give));
  const list = () => Response.json([{id: "decided", version: 1, status: "pending"}]);
  const first = readPending();
  answers.pop()(list());
  await first;
  noteApproval({id: "denied before", version: 1, status: "denied"});
  const readings = [readPending(), readPending()];
  answers[1](Response.json([]));
  await readings[1];
  answers[0](list());
  await readings[0];
  window.fetch = real;
  return [...approvals.value.values()].map((each) => `${each.id}: ${each.status}`);
}""".replace("LOAD", LOAD)
FAILED = """async () => {
  LOAD
  const {approvalsError, readPending} = await load("approvals_feed.js");
  const answers = [];
  instead("/v1/approvals?", (give) => answers.push(give));
  const readings = [readPending(), readPending()];
  answers[1](Response.json({error: {code: "X", message: "Refused"}}, {status: 500}));
  await readings[1];
  answers[0](Response.json([]));
  await readings[0];
  window.fetch = real;
  return approvalsError.value?.message;
}""".replace("LOAD", LOAD)
HANGS = """async () => {
  LOAD
  const {policies} = await load("names.js");
  const answers = [];
  instead("/v1/policies?", (give) => answers.push(give));
  const [clock, counts] = [Date.now, []];
  policies.refresh();
  for (const seconds of [29, 31]) {
    Date.now = () => clock() + 1000 * seconds;
    policies.look();
    counts.push(answers.length);
  }
  Date.now = clock;
  for (const give of answers) give(Response.json([]));
  window.fetch = real;
  return counts;
}""".replace("LOAD", LOAD)
WHO = """async () => {
  LOAD
  const {asked, whoAmI} = await load("session.js");
  const answers = [];
  instead("/v1/session", (give) => answers.push(give));
  asked.value = false;
  const readings = [whoAmI(false), whoAmI(false)];
  answers[0](Response.json({error: {code: "X", message: "Refused"}}, {status: 401}));
  await readings[0];
  const told = [asked.value];
  answers[1](real("/v1/session"));
  await readings[1];
  window.fetch = real;
  return [...told, asked.value];
}""".replace("LOAD", LOAD)
CUT_OFF = """async () => {
  LOAD
  const {Feed, KEPT} = await load("decisions_feed.js");
  const some = (newest, count) => Array.from({length: count}, (_, index) => ({id: newest - index}));
  let answer;
  instead("cursor=here", (give) => { answer = give; });
  const feed = new Feed({}, true, () => {});
  Object.assign(feed, {entries: some(KEPT - 10, KEPT - 10), cursor: "here", reading: false});
  const older = feed.older();
  for (const each of some(KEPT + 90, 100).reverse()) feed.add(each);
  while (feed.entries.length !== KEPT) await new Promise((resolve) => setTimeout(resolve, 20));
  answer(Response.json(some(0, 100), {headers: {"X-Next-Cursor": "further"}}));
  await older;
  window.fetch = real;
  return [feed.entries.length, feed.entries.at(-1).id, feed.cursor];
}""".replace("LOAD", LOAD)
LATE = """async () => {
  LOAD
  const {noteTime, now} = await load("time.js");
  noteTime("Thu, 01 Jan 2026 00:00:00 GMT");
  noteTime(new Date().toUTCString());
  document.dispatchEvent(new Event("visibilitychange"));
  return Math.abs(now.value - Date.now());
}""".replace("LOAD", LOAD)


def test_an_answer_that_was_overtaken_changes_nothing(visit):
    """A list that was asked for earlier, what waited then and whether it was known, who was there, an older page after
    its end was cut off, and a late time. One that never comes keeps no newer one away.
    """
    page = visit("policies").open("/console/people", "People")
    assert page.evaluate(OVERTAKEN) == ["newer", "newest", None]
    assert page.evaluate(WAITED) == ["denied before: denied", "decided: ended"]
    assert page.evaluate(FAILED) == "Refused"
    assert page.evaluate(HANGS) == [1, 2]
    assert page.evaluate(WHO) == [False, True]
    assert page.evaluate(CUT_OFF) == [5000, 91, ""]
    assert page.evaluate(LATE) < 60_000


def test_changes_have_no_gap_after_new_ones_came(visit):
    """Older pages continue the first one, and go when it ends elsewhere."""
    visitor, newest = visit("audit"), [3]
    page = visitor.page

    def answer(route):
        first = int(parse_qs(urlsplit(route.request.url).query).get("cursor", [newest[0] + 1])[0]) - 1
        fields = {"kind": "updated", "resourceType": "agent", "resourceId": "x", "timestamp": "2026-11-20T10:00:00Z"}
        found = [{"id": str(each), "actorName": f"actor {each}", **fields} for each in (first, first - 1)]
        route.fulfill(json=found, headers={"X-Next-Cursor": str(first - 1)})

    page.route("**/v1/changes?*", answer)
    visitor.open("/console/changes", "Changes")
    actors = page.locator(".timeline").get_by_text(re.compile(r"^actor \d$"))
    actors.nth(1).wait_for()
    page.get_by_role("button", name="Older").click()
    actors.nth(3).wait_for()
    newest[0] = 4
    page.evaluate(COME_BACK)
    page.get_by_text("actor 4").wait_for()
    assert actors.all_inner_texts() == ["actor 4", "actor 3"]
    page.get_by_role("button", name="Older").click()
    actors.nth(3).wait_for()
    assert actors.all_inner_texts() == ["actor 4", "actor 3", "actor 2", "actor 1"]


def open_without_modules(visitor, path):
    """Opens an address and answers with what lets its modules come, once the page has heard who is there."""
    page, held = visitor.page, []

    def hold(route):
        held.append(route)

    page.route("**/main.js", hold)
    with page.expect_response("**/v1/session"):
        page.goto(visitor.base_url + path, wait_until="commit")
    until(page, "document.querySelector('script[type=module]')")
    for _ in range(1_000):
        if held:
            break
        page.wait_for_timeout(30)  # lets routes in
    assert held
    return lambda: [each.continue_() for each in held]


def test_a_sign_in_of_another_tab_is_noticed_before_the_modules_are_there(visit, scene):
    """Who was there when the page began to load is not who acts in it."""
    visitor = visit(locale="en-GB")
    go_on = open_without_modules(visitor, "/console/agents")
    proof = {"data": {"key": scene.key("policies")}, "headers": OF_THE_PAGE}
    assert visitor.context.request.post(f"{scene.url}/v1/session", **proof).ok
    second = visitor.new_page()
    second.goto(f"{scene.url}/console/policies")
    second.get_by_role("heading", name="Policies", level=1).wait_for()
    go_on()
    visitor.page.get_by_role("heading", name="Agents", level=1).wait_for()
    visitor.forgive("status of 401")


def test_nothing_waits_for_what_it_does_not_need(visit):
    """Who is there is asked before the modules are there; each list is read once, also if a screen wants it new."""
    visitor = visit("admin")
    page = visitor.page
    open_without_modules(visitor, "/console")()
    page.locator(".chart .fill").first.wait_for()
    asked = [path for _, path in visitor.requests]
    assert [asked.count(each) for each in ("/v1/session", "/v1/agents", "/v1/policies")] == [1, 1, 1]


def test_a_stream_that_has_lost_events_is_read_again(visit):
    """The event that says so is not an approval."""
    visitor = visit("approve")
    page, streams = visitor.page, []

    def answer(route):
        streams.append(route)
        if len(streams) > 1:
            route.continue_()
        else:
            route.fulfill(body='event: lost\ndata: {"after":"1-1"}\n\n', content_type="text/event-stream")

    page.route("**/v1/approvals/stream*", answer)
    with page.expect_event("request", lambda request: "/v1/approvals/stream" in request.url and streams):
        visitor.open("/console/approvals", "Approvals")
    known = "async () => { LOAD return [...(await load('approvals_feed.js')).approvals.value.keys()]; }"
    assert None not in page.evaluate(known.replace("LOAD", LOAD))
    page.locator(".approval.pending").first.wait_for()
