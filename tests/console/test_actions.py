"""What people do in the console, to its end, with the keyboard alone."""

import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pytest
from receivers import Receiver
from sending import Sending

from app.model.changes import ResourceType
from app.policy_tools.files.documents import read_document
from app.settings import Settings
from tests.console.browsing import PATIENCE_MS, PHONE, press, until
from tests.console.conftest import SECRET
from tests.console.scene import BIG

pytestmark = pytest.mark.slow


def confirm(page, button, reason="as agreed"):
    """Give a reason in the open dialog, and do what it asks about."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(reason)
    press(dialog.get_by_role("button", name=button, exact=True))


def secret_of(page):
    """The secret that a dialog shows once; the dialog is closed."""
    shown = page.get_by_role("dialog")
    shown.get_by_label("I have stored it").wait_for()
    found = shown.locator("code").first.inner_text()
    press(shown.get_by_label("I have stored it"))
    press(shown.get_by_role("button", name="Close"))
    shown.wait_for(state="hidden")
    return found


def arrived(page, held):
    """The first request that a route holds; the page tells of it before the route has it."""
    while not held:
        page.wait_for_timeout(30)
    return held[0]


def newest_change(scene):
    return scene.tenant.admin.get("/v1/changes?limit=1").json()[0]


def test_a_key_is_rotated(visit, scene, console_replica):
    """The new key is shown once and works; the old one works as long as was chosen: not at all."""
    old = scene.tenant.new_key(["view"], name="to rotate")
    page = visit("admin").open("/console/keys", "Keys")
    press(page.get_by_role("row").filter(has_text="to rotate").get_by_role("button", name="Rotate…"))
    page.get_by_role("dialog").get_by_label("The old key goes on working for").select_option("0")
    confirm(page, "Rotate")
    new = secret_of(page)
    assert new not in page.content()
    for key, status in ((old["key"], 401), (new, 200)):
        with console_replica.client(key) as client:
            assert client.get("/v1/agents").status_code == status


def test_a_session_is_ended_on_purpose(visit, scene):
    """Not by a key that is held down since it opened the dialog. The focus comes back; the trail says who did it."""
    visit(key=scene.tenant.new_key(["view"], name="to end")["key"], locale="en-GB")
    page = visit("admin").open("/console/people", "People")
    end = page.get_by_role("row").filter(has_text="to end").get_by_role("button", name="End…")
    end.focus()
    page.keyboard.down("Enter")
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    assert dialog.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Cancel"
    page.keyboard.press("Enter")
    dialog.wait_for(state="hidden")
    assert end.evaluate("(each) => each === document.activeElement")
    press(end)
    confirm(page, "End session", "left the team")
    end.wait_for(state="hidden")
    press(page.get_by_role("link", name="Changes"))
    change = page.get_by_role("listitem").filter(has_text="left the team")
    change.get_by_text("ended the session of to end").wait_for()
    press(change.get_by_role("button", name="Show what was deleted"))
    change.locator(".diff").get_by_text("view").first.wait_for()
    with page.expect_request("**/v1/changes?*&limit=6") as asked:
        press(page.get_by_role("link", name="Overview"))
    assert {*ResourceType} - {*parse_qs(urlsplit(asked.value.url).query)["resource_type"][0].split(",")} == {"session"}
    latest = page.locator(".card").filter(has=page.get_by_role("heading", name="Latest changes"))
    latest.wait_for()
    assert "session" not in latest.inner_text()  # who signs in would hide who changed what


def test_a_call_is_asked_about_as_it_was_typed(visit):
    """Under the names that its schema has, with every digit; and anew each time, since the answer may differ."""
    page = visit("view").open("/console/what-if?agent=refund-bot&tool=refund.create", "What if")
    page.get_by_label("order", exact=True).fill("FUGWRD")
    page.get_by_label("amount", exact=True).fill(str(BIG))
    press(page.get_by_role("button", name="Ask"))
    page.get_by_text(f'"amount" is {BIG}, above the maximum').first.wait_for()
    with page.expect_request("**/v1/explain"):
        press(page.get_by_role("button", name="Ask"))


def test_a_draft_is_replayed_over_the_last_week(visit, scene):
    """Under the policies of today nothing flips; a draft that denies everything flips what was allowed. What was
    replayed for another span than is chosen now says so, and a replay ends when its screen is left.
    """
    page = visit("view").open("/console/what-if?agent=refund-bot&tab=week", "What if")
    page.set_default_timeout(4 * PATIENCE_MS)  # a replay runs only while nothing else wants the cores
    press(page.get_by_role("button", name="Replay", exact=True))
    page.get_by_role("heading", name="answers would change").wait_for()
    press(page.get_by_role("button", name="Last day"))
    page.get_by_text("Something has changed since these calls were replayed.").wait_for()
    page.route("**/v1/replay", lambda _: None)
    with page.expect_request("**/v1/replay"):
        press(page.get_by_role("button", name="Replay", exact=True))
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/replay")):
        press(page.get_by_role("link", name="Agents", exact=True))
    page.unroute("**/v1/replay")
    draft = {"name": "Nothing", "kind": "guardrail", "rules": [{"type": "tool_denylist", "tools": ["*"]}]}
    unsaved = json.dumps({"version": 0, "text": json.dumps(draft)})
    page.evaluate("(unsaved) => sessionStorage.setItem('remit.new-policy', unsaved)", unsaved)
    page.goto(f"{scene.url}/console/what-if?agent=refund-bot&tab=week&draft=new")
    press(page.get_by_role("button", name="Replay", exact=True))
    flip = page.locator("section section").filter(has_text="of order.read").filter(has_text="now by Nothing, rule 1")
    press(flip.get_by_role("link").first)
    page.get_by_role("dialog").get_by_text("Rule by rule").wait_for()


WITH_A_REQUEST = """async () => {
  const {caseOf} = await import(document.querySelector('script[type=module]').src.replace('main.js', 'test_cases.js'));
  return caseOf({
    action: 'authorize', toolName: 'mail.send', result: 'denied', code: 'request_not_pinned',
    policyId: null, rule: null, timestamp: '2026-11-20T12:00:00Z', parameters: {},
    context: {request: {length: 9, hmac: 'f00d'}}, records: [{of: 'order:7', fields: null}],
  }).text;
}"""
READ_AS_FILES_ARE = """
{tests: [], a: [no, yes, null, ~, True, 12:30, 2026-11-20, 0x1f, 0o17, 007, +12, -.5, 1., 1e3, 9007199254740993, 1.10],
 "b": {"c": "\\u202e", 'd': 'it''s', e: "9"}, f: &x [1, {g: }], h: *x, i: on}
""".strip()


def test_a_decision_becomes_a_test_of_a_draft(visit, scene):
    """Every digit is sent, hidden characters are codes, and what the draft breaks is shown before it is saved."""
    visitor = visit("admin")
    page = visitor.open("/console/decisions?result=escalated&tool_name=deploy.start", "Decisions")

    def made():
        press(page.get_by_role("row").nth(1))
        press(page.get_by_role("button", name="Make a test"))
        with page.expect_request("**/v1/policies/test") as ran:
            press(page.get_by_role("button", name="Add to Tests"))
        page.get_by_role("heading", name="1 passed, 0 failed").wait_for()
        text = page.get_by_label("Tests, as YAML or JSON").input_value()
        assert json.loads(ran.value.post_data)["tests"] == read_document(text.encode()).value["tests"]
        return text

    noted = page.evaluate(WITH_A_REQUEST)
    assert "The log redacts secrets and users' requests" in noted
    assert "Add those calls" not in noted  # no earlier call can pin a request
    assert 'Rules read [{"of": "order:7", "fields": null}]. Add under before' in noted
    assert str(BIG) in made()
    page.goto(f"{scene.url}/console/decisions?result=escalated&tool_name=mail.send&q=exe")
    assert "\\u202E" in made()
    page.goto(f"{scene.url}/console/decisions?result=escalated&tool_name=refund.create&q=FUGWRD")
    made()
    press(page.get_by_role("link", name="Policy", exact=True))
    page.get_by_label("Max", exact=True).nth(1).fill("300")
    until(page, "!document.querySelector('main .primary').disabled")
    press(page.get_by_role("button", name="Save…"))
    page.get_by_role("dialog").get_by_text("1 of 1 tests fail: refund.create is escalated").wait_for()
    page.keyboard.press("Escape")
    press(page.get_by_role("link", name="Tests"))
    page.get_by_role("heading", name="0 passed, 1 failed with your unsaved changes").wait_for()
    page.get_by_text("wanted escalated").wait_for()
    text = page.get_by_label("Tests, as YAML or JSON")
    for wrong, said in (("tests: [", "Line 1: "), ("a: 1", "no list of tests"), ("[{name: x}]", "Test 1: ")):
        text.fill(wrong)
        press(page.get_by_role("button", name="Run", exact=True))
        page.get_by_role("alert").get_by_text(said).wait_for()
    visitor.forgive("status of 400")


def test_tests_are_read_as_the_service_reads_files(visit):
    """The same words are text, the same numbers are numbers."""
    page = visit("view").open("/console/decisions", "Decisions")
    read = """async (text) => {
      const load = (name) => import(document.querySelector('script[type=module]').src.replace('main.js', name));
      const [{withCase}, {parse, write}] = [await load('test_cases.js'), await load('exact.js')];
      const item = '  - name: x\\n';
      return write(parse(await withCase(text, item)), 0);
    }"""
    whole = json.loads(page.evaluate(read, READ_AS_FILES_ARE))
    assert whole.pop("tests") == [{"name": "x"}]
    wanted = read_document(READ_AS_FILES_ARE.encode()).value
    assert whole == {name: value for name, value in wanted.items() if name != "tests"}


def test_a_test_says_that_it_remembers_no_approvals(visit, scene):
    """For agents with a policy that asks what people have approved before, and for no others."""
    rule = {
        "type": "parameter_constraint",
        "tools": ["paper.read"],
        "parameters": {"path": {"approvedBefore": {"withinSeconds": 60}}},
        "effect": "escalate",
    }
    body = {"agent_id": scene.ids["research-bot"], "name": "As before", "mode": "shadow", "rules": [rule]}
    policy = scene.tenant.admin.post("/v1/policies", json=body).json()["id"]
    page = visit("policies").open("/console/policies", "Policies")
    page.get_by_role("link", name="As before").wait_for()
    texts = page.evaluate(
        """async (agents) => {
          const main = document.querySelector('script[type=module]').src;
          const {caseOf} = await import(main.replace('main.js', 'test_cases.js'));
          const entry = {action: "authorize", result: "allowed", toolName: "a", parameters: {}, timestamp: "now"};
          return agents.map((agentId) => caseOf({...entry, agentId}).text);
        }""",
        [scene.ids["research-bot"], scene.ids["mail-bot"]],
    )
    assert ["Tests remember nothing" in text for text in texts] == [True, False]
    assert scene.tenant.admin.delete(f"/v1/policies/{policy}").status_code == 204


def test_a_version_is_restored(visit, scene):
    """Restore makes a new version with the old content, of what was seen; the trail has the reason."""
    policy = scene.tenant.new_policy(scene.ids["mail-bot"])["id"]
    assert scene.tenant.admin.patch(f"/v1/policies/{policy}", json={"name": "worse"}).status_code == 200
    visitor = visit("policies")
    page = visitor.open(f"/console/policies/{policy}?tab=versions", "worse")
    press(page.get_by_role("button", name="Restore…"))
    assert scene.tenant.admin.patch(f"/v1/policies/{policy}", json={"name": "worst"}).status_code == 200
    confirm(page, "Restore", "the old name was better")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Makes version 4").wait_for()
    dialog.get_by_text("saved version 3").wait_for()
    dialog.get_by_text("worst").first.wait_for()
    press(dialog.get_by_role("button", name="Restore", exact=True))
    page.get_by_text("Version 4", exact=True).wait_for()
    now = scene.tenant.admin.get(f"/v1/policies/{policy}").json()
    assert (now["version"], now["name"] in ("worse", "worst")) == (4, False)
    visitor.forgive("status of 412")
    assert newest_change(scene)["reason"] == "the old name was better"
    assert scene.tenant.admin.delete(f"/v1/policies/{policy}").status_code == 204


def test_a_shadow_policy_is_enforced(visit, scene):
    """Its tab says what it would have changed; Enforce makes it bind."""
    rules = [{"type": "tool_allowlist", "tools": ["paper.read"]}]
    body = {"agent_id": "research-bot", "name": "Papers too", "mode": "shadow", "priority": 50, "rules": rules}
    policy = scene.tenant.admin.post("/v1/policies", json=body).json()["id"]
    call = {"agent_id": "research-bot", "tool_name": "paper.read"}
    assert scene.runtime.post("/v1/authorize", json=call).json()["result"] == "denied"
    visitor = visit("policies")
    page = visitor.open(f"/console/policies/{policy}?tab=shadow", "Papers too")
    page.get_by_role("heading", name="It would have changed").wait_for()
    press(page.get_by_role("button", name="Enforce…"))
    assert scene.tenant.admin.patch(f"/v1/policies/{policy}", json={"priority": 51}).status_code == 200
    page.get_by_text("Since its last change it would have changed 1").wait_for()
    confirm(page, "Enforce")
    page.get_by_role("alert").wait_for()
    assert page.get_by_text("Since its last change").count() == 0
    press(page.get_by_role("dialog").get_by_role("button", name="Enforce", exact=True))
    page.get_by_text("It is enforced").wait_for()
    visitor.forgive("status of 412")
    assert scene.runtime.post("/v1/authorize", json=call).json()["result"] == "allowed"
    assert scene.tenant.admin.delete(f"/v1/policies/{policy}").status_code == 204


def test_an_answer_of_tools_list_is_imported(visit, scene):
    """As the server gave it; what is not JSON is refused at the field, and nothing is sent. It is put into the list
    that was seen: what somebody else changed since is shown first, and what was pasted stays meanwhile.
    """
    visitor = visit("policies")
    page = visitor.open("/console/catalog", "Catalogue")
    press(page.get_by_role("button", name="Import tools…"))
    text = page.get_by_role("dialog").get_by_label("The answer of tools/list")
    text.fill("tools")
    press(page.get_by_role("dialog").get_by_role("button", name="Import"))
    page.get_by_role("alert").first.wait_for()
    tool = {"name": "paper.print", "description": "Print a paper", "inputSchema": {"type": "object"}}
    text.fill(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}}))
    other = {"name": "paper.print", "description": "Print it twice"}
    assert scene.tenant.admin.put("/v1/catalog", json={"tools": [other]}).status_code == 200
    press(page.get_by_role("dialog").get_by_role("button", name="Import"))
    page.get_by_text("Somebody else has changed the catalogue").wait_for()
    pasted = text.input_value()
    press(page.get_by_role("dialog").get_by_role("button", name="Cancel"))
    page.get_by_text("Print it twice").wait_for()
    press(page.get_by_role("button", name="Import tools…"))
    assert text.input_value() == pasted
    press(page.get_by_role("dialog").get_by_role("button", name="Import"))
    page.get_by_text("Print a paper").wait_for()
    press(page.get_by_role("button", name="Import tools…"))
    assert text.input_value() == ""
    visitor.forgive("status of 412")
    assert scene.tenant.admin.get("/v1/catalog/tool/paper.print").json()["inputSchema"] == {"type": "object"}


def test_what_is_suggested_of_tools_is_confirmed_for_those_chosen(visit, scene):
    """What was said stays; a tool that somebody else described anew meanwhile is shown before it is marked."""
    admin, listed = scene.tenant.admin, "/v1/catalog/tool/{}"
    assert admin.patch("/v1/catalog", json={"tools": {"file.read": {"foreign": False}}}).status_code == 200
    visitor = visit("policies")
    page = visitor.open("/console/catalog", "Catalogue")
    page.get_by_text("only reads?").first.wait_for()
    confirm = page.get_by_role("button", name="Confirm…")
    assert confirm.is_disabled()
    for name in ("file.read", "mail.send"):
        page.get_by_role("checkbox", name=f"Choose {name}").check()
    press(confirm)
    dialog = page.get_by_role("dialog")
    dialog.locator("li").first.wait_for()
    said = dialog.locator("li").all_inner_texts()
    assert said == ["file.read only reads", "mail.send cannot be undone, may hold strangers' text"]
    assert admin.put("/v1/catalog/tool/mail.send", json={"description": "Sends it to everybody"}).status_code == 200
    press(dialog.get_by_role("button", name="Confirm", exact=True))
    page.get_by_text("Somebody else has changed the catalogue").wait_for()
    page.get_by_text("Sends it to everybody").wait_for()
    assert admin.get(listed.format("mail.send")).json()["consequence"] is None
    press(dialog.get_by_role("button", name="Confirm", exact=True))
    dialog.wait_for(state="detached")
    visitor.forgive("status of 412")
    found = [admin.get(listed.format(name)).json() for name in ("file.read", "mail.send")]
    assert [(each["consequence"], each["foreign"]) for each in found] == [("none", False), ("irreversible", True)]
    page.get_by_role("checkbox", name="Choose mail.send").check()
    page.get_by_label("Calls", exact=True).select_option("reversible")
    press(confirm)
    press(dialog.get_by_role("button", name="Confirm", exact=True))
    dialog.wait_for(state="detached")
    assert admin.get(listed.format("mail.send")).json()["consequence"] == "reversible"


def test_everything_is_stopped_and_resumed(visit, scene):
    """Only after the words have been typed; every call is then denied, whatever other policies say."""
    page = visit("policies").open("/console/agents", "Agents")
    press(page.get_by_role("button", name="Stop many…"))
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What to stop").select_option("*")
    dialog.get_by_label("Reason").fill("leaked key")
    stop = dialog.get_by_role("button", name="Stop everything")
    assert stop.is_disabled()
    dialog.get_by_label("Type stop everything to confirm").fill("stop everything")
    press(stop)
    page.get_by_text("Every call of every agent is denied.").wait_for()
    call = {"agent_id": "deploy-bot", "tool_name": "file.read", "parameters": {"path": "/a"}}
    assert scene.runtime.post("/v1/authorize", json=call).json()["result"] == "denied"
    press(page.get_by_role("button", name="Resume…"))
    confirm(page, "Resume")
    page.get_by_text("Every call of every agent is denied.").wait_for(state="hidden")
    assert scene.runtime.post("/v1/authorize", json=call).json()["result"] == "allowed"


@pytest.fixture
def receiver():
    listening = Receiver()
    yield listening
    listening.close()


def test_a_webhook_is_tried_retried_turned_off_and_given_a_new_secret(visit, scene, receiver):
    """A test shows the receiver's answer; what could not be delivered is listed with its error, and is sent again.
    Off stays off, however often it is pressed, and also while the first press is under way.
    """
    body = {"url": receiver.url, "events": ["policy.changed"]}
    webhook = scene.tenant.admin.post("/v1/webhooks", json=body).json()
    visitor = visit("admin")
    page = visitor.open("/console/webhooks", "Webhooks")
    receiver.answers = [418]
    press(page.get_by_role("button", name="Send a test"))
    page.get_by_text("418").wait_for()
    press(page.get_by_role("button", name="Send a test"))
    page.get_by_text("the receiver answered 204").wait_for()

    def send():
        with ThreadPoolExecutor(1) as thread:  # this thread's loop is the browser's
            settings = Settings(webhook_http=True, webhook_networks="127.0.0.0/8", secret=SECRET)
            thread.submit(Sending(scene.tenant, settings).round).result()

    receiver.answers = [400]
    scene.tenant.new_policy(scene.ids["mail-bot"])
    send()
    page.reload()
    press(page.get_by_role("button", name="Show undelivered events"))
    page.get_by_role("button", name="Retry", exact=True).wait_for()
    page.get_by_text("400").first.wait_for()
    with page.expect_response("**/retry"):
        press(page.get_by_role("button", name="Retry", exact=True))
    send()
    page.reload()
    press(page.get_by_role("button", name="Show undelivered events"))
    page.get_by_text("Every event was delivered.").wait_for()
    press(page.get_by_role("button", name="Show attempts"))
    page.get_by_text("answered 204 in").first.wait_for()
    page.get_by_text("attempt 1, answered 400").first.wait_for()
    press(page.get_by_role("button", name="New secret…"))
    confirm(page, "Make it")
    assert secret_of(page) not in ("", webhook["secret"])
    off = page.get_by_role("button", name="Off", exact=True)
    held = []
    itself = f"**/v1/webhooks/{webhook['id']}"

    def hold(route):
        held.append(route)

    page.route(itself, hold, times=1)
    with page.expect_request(itself):
        off.dblclick()
    arrived(page, held).continue_()
    until(page, "document.querySelector('.switch [aria-pressed=true]').textContent === 'Off'")
    off.click()
    press(off)
    assert scene.tenant.admin.get(f"/v1/webhooks/{webhook['id']}").json()["enabled"] is False
    press(page.get_by_role("button", name="Delete…"))
    confirm(page, "Delete")
    page.get_by_role("heading", name="No webhook yet").wait_for()
    assert [method for method, _ in visitor.requests].count("PATCH") == 1


def test_the_calls_of_a_plan_are_decided_together(visit, scene):
    """In their order, with one request; what is struck out is denied, and what is folded must be opened first."""
    parameters = [{"order": f"PLAN0{index}", "currency": "EUR", "amount": 200 + index} for index in range(3)]
    parameters[2]["note"] = "as agreed " * 40
    calls = [{"agent_id": "refund-bot", "tool_name": "refund.create", "parameters": each} for each in parameters]
    visitor = visit("approve")
    page = visitor.open("/console/approvals", "Approvals")
    assert scene.runtime.post("/v1/authorize/batch", json={"calls": calls}).status_code == 200
    plan = page.get_by_role("region", name="Plan of 3 calls")  # whose calls come one by one
    plan.get_by_role("article").nth(2).wait_for()
    assert [text.split("\n")[0] for text in plan.get_by_role("article").all_inner_texts()] == ["1", "2", "3"]
    approve = plan.get_by_role("button", name="Approve 3 calls")
    assert approve.is_disabled()
    press(plan.get_by_role("button", name="Show all"))
    press(plan.get_by_label("Strike out").nth(1))
    assert visitor.violations() == []
    tall = plan.evaluate("each => each.offsetHeight")
    press(plan.get_by_role("button", name="Approve 2 calls, deny 1"))
    plan.get_by_role("button", name="Approve").wait_for(state="hidden")
    assert plan.get_by_role("article").count() == 3  # nothing moves under a finger
    assert plan.evaluate("each => each.offsetHeight") == tall
    found = [each for each in scene.tenant.admin.get("/v1/approvals?limit=10").json() if each.get("plan")]
    told = {each["plan"]["index"]: each["status"] for each in found}
    assert told == {0: "approved", 1: "denied", 2: "approved"}
    assert [path for method, path in visitor.requests if method == "POST"] == ["/v1/approvals/decide"]


def test_a_shell_line_is_shown_command_by_command(visit, scene):
    """Which commands may run, and why another may not, on the card of the approval."""
    tenant = scene.tenant
    agent_id = tenant.new_agent()["id"]
    allow = [{"run": "ls", "flags": "usual", "paths": "inside"}]
    command = {"command": {"command": {"root": "/w/shop", "allow": allow}}}
    rule = {"type": "parameter_constraint", "tools": ["Bash"], "effect": "escalate", "parameters": command}
    tenant.new_policy(agent_id, rule)
    line = {"command": "ls -la && git push"}
    asked = tenant.authorize(agent_id, "Bash", parameters=line, context={"cwd": "/w/shop"})
    page = visit("approve").open(f"/console/approvals/{asked['approval']['id']}", "Approval")
    shown = page.get_by_role("list", name="What the line runs").get_by_role("listitem")
    shown.nth(1).wait_for()
    assert shown.all_inner_texts() == ["ls -la may run", "git push\nno entry names it"]
    assert tenant.admin.post(f"/v1/approvals/{asked['approval']['id']}/deny", json={}).status_code == 200


def test_what_a_runtime_reported_is_shown_on_the_card(visit, scene):
    """What the rule read of the record when people were asked, as text; or that nothing was reported."""
    tenant, session = scene.tenant, {"session": "s"}
    agent_id = tenant.new_agent()["id"]
    paid = {"of": "order:{parameters.order}", "from": ["orders.get"], "fields": {"status": {"enum": ["paid"]}}}
    rule = {"type": "parameter_constraint", "tools": ["orders.ship"], "effect": "escalate", "record": paid}
    tenant.new_policy(agent_id, {"type": "tool_allowlist", "tools": ["orders.*"]}, rule)
    body = {"agent_id": agent_id, "tool_name": "orders.get", "context": session}
    read = tenant.admin.post("/v1/authorize", json=body).json()
    told = {"status": "executed", "records": {"order:A1": {"status": "<b>open</b>", "sum": 9}}}
    assert tenant.admin.post(f"/v1/decisions/{read['id']}/outcome", json=told).status_code == 200
    visitor = visit("approve")
    for order, shown in (("A1", '{"status":"<b>open</b>"}'), ("B2", "nothing")):
        asked = tenant.authorize(agent_id, "orders.ship", parameters={"order": order}, context=session)
        page = visitor.open(f"/console/approvals/{asked['approval']['id']}", "Approval")
        said = page.get_by_text("A runtime reported of")
        said.wait_for()
        words = f"A runtime reported of order:{{parameters.order}}: {shown}"
        assert " ".join(said.inner_text().split()) == words
        assert tenant.admin.post(f"/v1/approvals/{asked['approval']['id']}/deny", json={}).status_code == 200


def test_what_the_agent_says_is_shown_below_the_call(visit, scene):
    """Not among the arguments that are approved."""
    tenant = scene.tenant
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(
        agent_id, {"type": "approval_required", "tools": ["Bash"], "approval": {"descriptive": ["description"]}}
    )
    asked = tenant.authorize(agent_id, "Bash", parameters={"command": "ls", "description": "Lists <b>files</b>"})
    page = visit("approve").open(f"/console/approvals/{asked['approval']['id']}", "Approval")
    said = page.get_by_text("The agent says (not part of what you approve): description Lists <b>files</b>")
    said.wait_for()
    assert page.locator("dl.arguments dt").all_inner_texts() == ["command"]
    assert tenant.admin.post(f"/v1/approvals/{asked['approval']['id']}/deny", json={}).status_code == 200


def test_a_policy_that_files_manage_is_read_only_until_it_is_taken_over(visit, scene):
    """With the reason; taking it over changes nothing else. What somebody else changed meanwhile is said first."""
    source = "https://git.example.com/policies"
    policy = scene.tenant.new_policy(scene.ids["mail-bot"], managedBy=source, priority=1)["id"]
    visitor = visit("policies")
    page = visitor.open(f"/console/policies/{policy}", "a policy")
    page.get_by_text(source).first.wait_for()
    page.get_by_label("Name", exact=True).wait_for()
    assert page.get_by_label("Name", exact=True).is_disabled()
    assert page.get_by_role("button", name="Save…").is_disabled()
    assert page.locator("#not-yet").inner_text() == f"It is managed by {source}"
    press(page.get_by_role("button", name="Edit here from now on…"))
    assert scene.tenant.admin.patch(f"/v1/policies/{policy}", json={"priority": 2}).status_code == 200
    confirm(page, "Take it over")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("saved version 2").wait_for()
    assert dialog.locator(".diff").inner_text().split() == ["priority", "before", "1", "after", "2"]
    press(dialog.get_by_role("button", name="Take it over"))
    page.get_by_text(source).first.wait_for(state="hidden")
    assert page.get_by_label("Name", exact=True).is_enabled()
    visitor.forgive("status of 412")
    assert scene.tenant.admin.get(f"/v1/policies/{policy}").json()["managedBy"] is None
    assert scene.tenant.admin.delete(f"/v1/policies/{policy}").status_code == 204


def test_a_webhook_is_made_for_some_events_only(visit, scene, receiver):
    """What the form says is what the webhook has, and the list says it, by names; an empty field narrows nothing."""
    page = visit("admin").open("/console/webhooks", "Webhooks")
    press(page.get_by_role("button", name="New webhook"))
    form = page.get_by_role("dialog")
    form.get_by_label("Address").fill(receiver.url)
    press(form.get_by_text("Only some of them"))
    form.get_by_label("Tools").fill("refund.*, payment.send")
    form.get_by_label("Codes").fill(" ")
    confirm(page, "Create")
    secret_of(page)
    page.get_by_text("Only tools refund.* or payment.send").wait_for()
    [made] = scene.tenant.admin.get("/v1/webhooks").json()
    assert made["only"] == {"tools": ["refund.*", "payment.send"]}
    only = {"agents": ["refund-bot"], "policies": [scene.ids["policy"]], "ruleTypes": ["budget"], "sample": 0.07}
    assert scene.tenant.admin.patch(f"/v1/webhooks/{made['id']}", json={"only": only}).status_code == 200
    page.reload()
    said = "Only agents Refund bot; policies Small refunds; rules of type budget; 7 % of denials"
    page.get_by_text(said).wait_for()
    page.set_viewport_size(PHONE)
    until(
        page,
        """document.querySelector('.webhook header button').getBoundingClientRect().x
      === document.querySelector('.webhook header b').getBoundingClientRect().x""",
    )
    assert scene.tenant.admin.delete(f"/v1/webhooks/{made['id']}").status_code == 204
