"""People decide in Slack, by the session that they have here: with a fake of Slack's documented protocol."""

import json
import re
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
from approval_steps import ALLOW, SECRET, ask
from approvals_races import pat
from fake_slack import SIGNING_SECRET, TEAM, FakeSlack, buttons, member, text_of
from receivers import Receiver, subscribe
from sending import Sending
from servers import Replica
from serving import kill_all_of
from tenants import Tenant

from app.errors import Unauthorized
from app.http.api.slack import slack_pressed
from app.model.actors import Via
from app.model.api_keys import Scope
from app.model.ids import Ids
from app.redaction.signer import UNSIGNED
from app.settings import Settings
from app.store.keyspace import Keyspace
from app.store.sign_ins import SignIns
from app.webhooks.destinations import PermittedRequests
from app.webhooks.slack_app import SlackApp
from tests.approvals.conftest import WITH_PROVIDER

LOOPBACK = {"REMIT_WEBHOOK_HTTP": "true", "REMIT_WEBHOOK_NETWORKS": "127.0.0.0/8"}


@pytest.fixture(scope="module")
def slack():
    running = FakeSlack()
    yield running
    running.close()


@pytest.fixture(scope="module")
def replica(store, slack):
    given = WITH_PROVIDER | LOOPBACK | slack.settings()
    running = Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false", **given)
    yield running
    running.stop()


@pytest.fixture
def tenant(store, replica, slack):
    slack.users.clear()
    slack.told.clear()
    made = Tenant(store.url, replica)
    made.in_store(lambda client: client.call("HSET", Keyspace(made.id).workspace, "name", "default"))
    yield made
    made.close()


@pytest.fixture
def asked(tenant):
    """Asks people about a new call of a new agent, with these terms; gives the path of its approval."""

    def ask_people(amount=5, **terms):
        agent_id = tenant.new_agent()["id"]
        rule = {"type": "approval_required", "tools": ["refund.create"], "approval": terms}
        tenant.new_policy(agent_id, ALLOW, rule)
        return f"/v1/approvals/{ask(tenant, agent_id, amount)['approval']['id']}"

    return ask_people


@pytest.fixture
def announced(tenant, slack):
    """Gives the message about the newest approval as the channel gets it."""
    receiver = Receiver()
    subscribe(tenant, receiver.url, events=["approval.requested", "approval.decided"], format="slack")
    settings = Settings(
        webhook_http=True, webhook_networks="127.0.0.0/8", secret=SECRET,
        slack_signing_secret=SIGNING_SECRET, slack_api=slack.url, public_url=WITH_PROVIDER["REMIT_PUBLIC_URL"],
    )  # fmt: skip

    def message():
        Sending(tenant, settings).round()
        return json.loads(receiver.got[-1][1])

    yield message
    receiver.close()


def sign_in(tenant, name, *groups, via=Via.CONSOLE, address=None, **others):
    """A new session of a person, whose provider has verified this address; its token."""
    person = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    address = f"{name}@example.com" if address is None else address
    who = pat(name=name, person=person, groups=(*groups, "staff"), address=address,
              issuer=WITH_PROVIDER["REMIT_OIDC_ISSUER"], **others)  # fmt: skip
    return tenant.in_store(lambda client: SignIns(client, Ids()).create(tenant.id, who, via))


def review(slack, tenant, announced, user):
    """What is shown to a user who presses the button in the channel."""
    count = len(slack.told) + 1
    assert slack.press(tenant.admin, user, buttons(announced())["review"]).status_code == 200
    return slack.shown(count)


def decide(slack, tenant, message, user, word="approve"):
    """What is shown to a user who presses one of the buttons under a call."""
    count = len(slack.told) + 1
    assert slack.press(tenant.admin, user, buttons(message)[word]).status_code == 200
    return text_of(slack.shown(count))


def test_a_person_sees_the_call_compared_and_approves_it(slack, tenant, asked, announced):
    """The channel's button decides nothing. Log, approval and webhook name the person, and say that it was in Slack."""
    path = asked()
    slack.users["U1"] = member("U1", "Ann@Example.com")
    session, _ = sign_in(tenant, "ann")
    shown = review(slack, tenant, announced, "U1")
    assert (shown["response_type"], shown["replace_original"]) == ("ephemeral", False)
    assert "amount = 5" in text_of(shown)
    assert "this agent was never allowed to call this tool before" in text_of(shown)
    assert buttons(shown)["approve"]["text"]["text"] == "Approve refund.create for an agent"
    assert tenant.admin.get(path).json()["status"] == "pending"
    assert decide(slack, tenant, shown, "U1") == "Remitrefund.create is approved. You decided as ann"
    approval = tenant.admin.get(path).json()
    by = {"keyId": session.id, "name": "ann", "via": "slack", "person": session.person}
    assert [(each["verdict"], each["by"]) for each in approval["approvals"]] == [("approved", by)]
    [entry] = [each for each in tenant.log() if each["code"] == "approval_approved"]
    assert entry["decidedBy"] == by
    told = announced()
    assert "Decided by: ann (slack)" in text_of(told)
    assert "review" not in buttons(told)


def test_a_person_denies(slack, tenant, asked, announced):
    path = asked()
    slack.users["U1"] = member("U1", "ann@example.com")
    sign_in(tenant, "ann")
    assert "refund.create is denied" in decide(slack, tenant, review(slack, tenant, announced, "U1"), "U1", "deny")
    assert tenant.admin.get(path).json()["status"] == "denied"


def test_a_session_counts_until_it_ends_also_while_it_is_idle(slack, tenant, asked, announced):
    """Slack vouches for the person meanwhile; a sign-out, or the end of the eight hours, ends it."""
    path = asked()
    slack.users["U1"] = member("U1", "ann@example.com")
    session, token = sign_in(tenant, "ann")
    record = Keyspace(tenant.id).key(session.id)
    tenant.in_store(lambda client: client.call("HSET", record, "expires_ms", 1))
    shown = review(slack, tenant, announced, "U1")
    tenant.in_store(lambda client: client.call("HSET", record, "ends_ms", 1))
    assert "Nobody with the address ann@example.com" in decide(slack, tenant, shown, "U1")
    tenant.in_store(lambda client: client.call("HSET", record, "ends_ms", session.ends_ms))
    assert tenant.admin.get("/v1/session", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert "is approved" in decide(slack, tenant, shown, "U1")
    sign_in(tenant, "bob")
    assert tenant.admin.get(path).json()["status"] == "approved"
    assert tenant.admin.delete(f"/v1/sessions/{session.id}").status_code == 204
    asked()
    assert "Nobody with the address" in text_of(review(slack, tenant, announced, "U1"))


STRANGERS = {
    "no session": {},
    "an address of nobody": {"profile": {"email": "eve@example.com"}},
    "no address": {"profile": {}},
    "another Slack workspace": {"team_id": "T0OTHER"},
    "another organisation": {"team_id": "T0OTHER", "enterprise_user": {"enterprise_id": "E1"}},
    "an address that is not confirmed": {"is_email_confirmed": False},
    "a bot": {"is_bot": True},
    "somebody of another company": {"is_stranger": True},
    "a guest": {"is_restricted": True},
    "somebody who has left": {"deleted": True},
    "another user than who pressed": {"id": "U9"},
    "an address that only looks alike": {"profile": {"email": "аnn@example.com"}},  # noqa: RUF001
}


@pytest.mark.parametrize("others", STRANGERS.values(), ids=STRANGERS)
def test_nobody_decides_for_whom_slack_and_provider_do_not_vouch(slack, tenant, asked, announced, others):
    """They are told why, and the approval stays as it was."""
    path = asked()
    slack.users["U1"] = member("U1", "ann@example.com", **others)
    if others:
        sign_in(tenant, "ann")
    shown = review(slack, tenant, announced, "U1")
    assert "approve" not in buttons(shown)
    assert "Nobody with the address" in text_of(shown) or "Slack vouches for no mail address" in text_of(shown)
    assert tenant.admin.get(path).json()["version"] == 1


def test_an_address_that_the_provider_has_not_verified_is_nobodys(slack, tenant, asked, announced):
    """Nor is one of another workspace's person."""
    asked()
    slack.users["U1"] = member("U1", "ann@example.com")
    sign_in(tenant, "ann", address="")
    assert "Nobody with the address" in text_of(review(slack, tenant, announced, "U1"))


def test_a_person_without_the_scope_may_not_decide(slack, tenant, asked, announced):
    """Though signed in; and a group that the settings do not name gives nothing."""
    asked()
    slack.users["U1"] = member("U1", "ann@example.com")
    sign_in(tenant, "ann", scopes=(Scope.VIEW,))
    assert "may not decide" in text_of(review(slack, tenant, announced, "U1"))


def test_what_slack_cannot_know_is_decided_in_the_console(slack, tenant, asked, announced):
    """A sign-in that must be fresh, and a call of which something is hidden."""
    slack.users["U1"] = member("U1", "ann@example.com")
    sign_in(tenant, "ann", authenticated_s=2**40)
    demanding = ((5, {"fresh": 300}, "a sign-in of the last 300 seconds"), ("A" * 20_000, {}, "redacted or shortened"))
    for amount, terms, why in demanding:
        path = asked(amount, **terms)
        shown = review(slack, tenant, announced, "U1")
        assert "approve" not in buttons(shown)
        assert why in text_of(shown)
        assert f"https://remit.example.com/console/approvals/{path.rsplit('/', 1)[1]}" in text_of(shown)


def test_only_people_of_the_group_decide(slack, tenant, asked, announced):
    """As everywhere; the sentence says who."""
    asked(approvers={"groups": ["finance"]})
    slack.users |= {"U1": member("U1", "ann@example.com"), "U2": member("U2", "bob@example.com")}
    sign_in(tenant, "ann")
    sign_in(tenant, "bob", "finance")
    assert "in the group finance" in decide(slack, tenant, review(slack, tenant, announced, "U1"), "U1")
    assert "is approved" in decide(slack, tenant, review(slack, tenant, announced, "U2"), "U2")


def test_buttons_decide_for_whom_they_were_shown_to_and_what_was_shown(slack, tenant, asked, announced):
    """Not for another user, not with the button of a channel, not changed, and not once the approval has changed."""
    path = asked(approvals=3)
    for name, user in (("ann", "U1"), ("bob", "U2")):
        slack.users[user] = member(user, f"{name}@example.com")
        sign_in(tenant, name)
    channel = buttons(announced())["review"]
    shown = review(slack, tenant, announced, "U1")
    approve = buttons(shown)["approve"]
    value = approve["value"]
    for forged in (channel["value"], value[:-1], value.replace(" 1 ", " 2 ", 1)):
        message = {"blocks": [{"type": "actions", "elements": [{**approve, "value": forged}]}]}
        assert "not one that Remit gave you" in decide(slack, tenant, message, "U1")
    assert "not one that Remit gave you" in decide(slack, tenant, shown, "U2")
    other = review(slack, tenant, announced, "U2")
    assert "1 of 3 have approved" in decide(slack, tenant, shown, "U1")
    assert "has changed since it was read" in decide(slack, tenant, other, "U2")
    assert "1 of 3 people have approved a call" in text_of(announced())
    assert [each["by"]["name"] for each in tenant.admin.get(path).json()["approvals"]] == ["ann"]


@pytest.mark.faults
@pytest.mark.parametrize(
    ("killed_at", "told"),
    [("/api/users.info", "1 of 2 have approved"), ("/respond", "has changed since it was read")],
    ids=["before it is decided", "before whoever pressed is told"],
)
def test_a_verdict_whose_replica_is_killed_counts_once(slack, replica, tenant, asked, announced, killed_at, told):
    """Slack has been answered by then. Pressed again, it is decided if it was not, and nothing is decided twice."""
    path = asked(approvals=2)
    slack.users["U1"] = member("U1", "ann@example.com")
    sign_in(tenant, "ann")
    shown = review(slack, tenant, announced, "U1")
    killed = threading.Event()

    def kill(asked_for):
        if asked_for == killed_at and not killed.is_set():
            kill_all_of(replica)
            killed.set()

    slack.before = kill
    try:
        slack.press(tenant.admin, "U1", buttons(shown)["approve"])
        assert killed.wait(60)
    finally:
        slack.before = lambda _path: None
        replica.start()
    assert told in decide(slack, tenant, shown, "U1")
    assert "has changed since it was read" in decide(slack, tenant, shown, "U1")
    assert [each["by"]["name"] for each in tenant.admin.get(path).json()["approvals"]] == ["ann"]
    assert len([each for each in tenant.log() if each.get("decidedBy", {}).get("name") == "ann"]) == 1


def test_what_waits_no_more_is_said(slack, tenant, asked, announced):
    path = asked()
    slack.users["U1"] = member("U1", "ann@example.com")
    sign_in(tenant, "ann")
    channel = buttons(announced())["review"]
    key = tenant.new_key(["approve"])["key"]
    assert tenant.admin.post(f"{path}/deny", json={}, headers={"Authorization": f"Bearer {key}"}).status_code == 200
    slack.press(tenant.admin, "U1", channel)
    assert "It waits no more: the approval is denied" in text_of(slack.shown(1))


def test_one_person_in_slack_console_and_command_line_is_one_pair_of_eyes(slack, tenant, asked, announced):
    """At the same moment, in whichever order: the second person is still needed, and may decide in any of them."""
    slack.users |= {"U1": member("U1", "ann@example.com"), "U2": member("U2", "bob@example.com")}
    tokens = [sign_in(tenant, "ann", via=via)[1] for via in (Via.CONSOLE, Via.CLI)]
    sign_in(tenant, "bob")
    for _ in range(8):
        path = asked(approvals=2)
        shown, count = review(slack, tenant, announced, "U1"), len(slack.told)

        def by_session(token, path=path):
            headers = {"Authorization": f"Bearer {token}"}
            return tenant.admin.post(f"{path}/approve", json={}, headers=headers).status_code

        with ThreadPoolExecutor(3) as threads:
            in_slack = threads.submit(slack.press, tenant.admin, "U1", buttons(shown)["approve"])
            answers = [threads.submit(by_session, token) for token in tokens]
            assert in_slack.result().status_code == 200
            statuses = [each.result() for each in answers]
        told = text_of(slack.shown(count + 1))
        decided = tenant.admin.get(path).json()
        assert (decided["status"], len(decided["approvals"])) == ("pending", 1)
        assert statuses.count(200) + ("1 of 2 have approved" in told) == 1
        assert "is approved" in decide(slack, tenant, review(slack, tenant, announced, "U2"), "U2")


def test_only_what_slack_signed_lately_is_taken(slack, tenant, asked, announced):
    """Within five minutes, either way; the body as it was signed; everything else is 401, and nothing comes of it."""
    asked()
    slack.users["U1"] = member("U1", "ann@example.com")
    form = {"payload": json.dumps({"type": "block_actions"})}
    assert slack.send(tenant.admin, form).status_code == 200
    assert slack.send(tenant.admin, form, age_s=280).status_code == 200
    wrong = (
        {"age_s": 310},
        {"age_s": -310},
        {"secret": "another signing secret"},
        {"X-Slack-Signature": "v0=" + "0" * 64},
        {"X-Slack-Signature": ""},
        {"X-Slack-Request-Timestamp": "soon"},
        {"X-Slack-Request-Timestamp": "9" * 400},
    )
    for each in wrong:
        assert slack.send(tenant.admin, form, **each).status_code == 401
    assert tenant.admin.post("/v1/slack", content=b"payload=%7B%7D").status_code == 401
    assert slack.send(tenant.admin, {"payload": "[]"}).status_code == 400
    assert slack.send(tenant.admin, {"other": "{}"}).status_code == 400
    assert slack.send(tenant.admin, {"payload": "{" * 10_000}).status_code == 400
    assert slack.told == []


def test_what_is_no_button_of_ours_is_taken_and_ignored(slack, tenant):
    """Slack also tells of links that were opened, and of what other versions of an app had."""
    for payload in (
        {"type": "view_submission"},
        {"type": "block_actions", "actions": []},
        {"type": "block_actions", "actions": [{"action_id": "remit_open"}], "user": {"id": "U"}, "team": {"id": TEAM}},
        {"type": "block_actions", "actions": [7], "user": None, "team": 7},
    ):
        assert slack.send(tenant.admin, {"payload": json.dumps(payload)}).status_code == 200
    assert slack.told == []


def test_without_the_app_there_is_no_such_way_in(tenant, replicas):
    """404, as of a path that does not exist."""
    with replicas[0].client() as client:
        assert client.post("/v1/slack", content=b"payload=%7B%7D").status_code == 404


def test_the_manifest_of_the_page_is_of_an_app_that_may_do_what_is_asked_of_it():
    """docs/slack.md: incoming webhooks, the look-up of an address, and where Slack sends what is pressed."""
    page = (Path(__file__).parents[2] / "docs/slack.md").read_text()
    manifest = json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL)[1])
    assert set(manifest["oauth_config"]["scopes"]["bot"]) == {"incoming-webhook", "users:read", "users:read.email"}
    assert manifest["settings"]["interactivity"] == {
        "is_enabled": True,
        "request_url": f"https://remit.example.com{slack_pressed.paths.copy().pop()}",
    }
    assert manifest["features"]["bot_user"]["display_name"]


def test_the_documented_example_of_a_signature_is_accepted_for_five_minutes():
    """The one of Slack's page about verifying requests; and not with one character changed."""
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
        b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
        b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    settings = Settings(slack_signing_secret=SIGNING_SECRET)
    for later_s, given, accepted in (
        (0, body, True),
        (300, body, True),
        (301, body, False),
        (-300, body, True),
        (-301, body, False),
        (0, body + b"0", False),
    ):
        app = SlackApp(settings, UNSIGNED, PermittedRequests(settings), now_s=lambda at=later_s: 1531420618 + at)
        with nullcontext() if accepted else pytest.raises(Unauthorized):
            app.require_signed("1531420618", signature, given)
