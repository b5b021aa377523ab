"""Messages for Slack and cards for Teams: a caller's text is always shown as plain text."""

import json

from hypothesis import given
from hypothesis import strategies as st

from app.language.visible import is_hidden
from app.webhooks.slack import slack_message
from app.webhooks.teams import teams_message

CONSOLE = "https://remit.example/console"
APPROVAL_ID = "01a1fb57-73a1-7c34-9c4e-5a0ff3c1d7b2"
HOSTILE = st.sampled_from(
    [
        "<https://evil.example|Approved>",
        "<!channel>",
        "<@U123>",
        "*bold* _it_ ~no~ `code` ```block```",
        "x\nStatus: approved",
        "x\r\nAgent: other",
        "x\u2028y",
        "\u202etxt.exe",
        "https://evil.example/",
        ":tada:",
        "&lt;",
        "> quoted",
    ]
)
texts = HOSTILE | st.text(max_size=400)
values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3))
calls = st.dictionaries(texts, values, max_size=30)


def event(parameters, reason="why", tool="refund.create", name="runtime", context=None, agent="night bot", **others):
    """The data of the event about a call that waits."""
    entry = {"agentId": "agent", "toolName": tool, "reason": reason, "parameters": parameters}
    approval = {"id": APPROVAL_ID, "status": "pending", "expiresAt": "2026-11-20T12:00:00Z"}
    approval |= {"requestedBy": {"name": name}, "parameters": parameters, "context": context or {}, "reason": reason}
    approval |= {"required": 2, "needs": f"2 people in {tool}", "approvals": [{"verdict": "approved"}]} | others
    data = {"workspaceId": "ws", "agentName": agent, "entry": entry, "approval": approval}
    return json.loads(json.dumps(data))


def message(*given, **fields):
    """The message about a call that waits."""
    return slack_message("approval.requested", event(*given, **fields), f"{CONSOLE}/")


def elements(block):
    for part in block["elements"]:
        yield from part["elements"]


@given(calls, texts, texts, texts, calls, texts)
def test_callers_text_is_never_a_link_markup_or_a_line(parameters, reason, tool, name, context, agent):
    """It appears only in plain text, one line per value; the link, styles and title are ours."""
    made, plain = message(parameters, reason, tool, name, context, agent), message({"a": 1}, context={"b": 2})
    assert made["text"].startswith("A call waits for a person")
    assert made["mrkdwn"] is False
    assert len(made["text"]) < 1_000
    assert not set("<>") & set(made["text"])
    assert not any(is_hidden(character) for character in made["text"])
    assert all(each.startswith(("amp;", "lt;", "gt;")) for each in made["text"].split("&")[1:])
    header, body = made["blocks"]
    assert header == plain["blocks"][0]
    assert {each["type"] for each in body["elements"]} <= {"rich_text_section", "rich_text_preformatted"}
    links = [each for each in elements(body) if each["type"] != "text"]
    assert links == [each for each in elements(plain["blocks"][1]) if each["type"] != "text"]
    styled = [each["text"] for each in elements(body) if "style" in each]
    assert set(styled) <= {each["text"] for each in elements(plain["blocks"][1]) if "style" in each}
    assert all(set(each) <= {"type", "text", "style", "url"} for each in elements(body))
    for part in body["elements"]:
        if part["type"] == "rich_text_section":
            ours = sum(each["text"].count("\n") for each in part["elements"] if "style" in each)
            assert sum(each["text"].count("\n") for each in part["elements"] if "text" in each) == ours
    shown = [part["elements"][0]["text"].split("\n") for part in body["elements"] if "preformatted" in part["type"]]
    assert [len(lines) for lines in shown] == [min(21, len(each)) for each in (parameters, context) if each]
    assert not any(is_hidden(character) for lines in shown for line in lines for character in line)
    assert len(json.dumps(made)) < 60_000


def test_a_message_reads_well():
    """It has what happened, the call, the reason, and where to decide."""
    made = message({"amount": 900, "order": "A-17"}, reason='"refund.create" needs a person\'s approval')
    section, heading, call, link = made["blocks"][1]["elements"]
    assert (
        made["text"]
        == "A call waits for a person: night bot · refund.create · needs 2 people in refund.create · 1 of 2"
    )
    assert "".join(each["text"] for each in section["elements"]).split("\n") == [
        "Agent: night bot · agent",
        "Tool: refund.create",
        'Reason: "refund.create" needs a person\'s approval',
        "Needs: 2 people in refund.create",
        "Approved by: 1 of 2",
        "Asked by: runtime",
        "Status: pending",
        "Expires: 2026-11-20T12:00:00Z",
    ]
    assert heading["elements"][0]["text"] == "Parameters: "
    assert call["elements"][0]["text"] == 'amount = 900\norder = "A-17"'
    assert link["elements"][0]["url"] == f"{CONSOLE}/approvals/{APPROVAL_ID}"


def test_a_message_says_what_cannot_be_undone():
    """If a person said so of the tool; otherwise it says nothing of it."""
    facts = ["".join(each["text"] for each in message({}, consequence=said)["blocks"][1]["elements"][0]["elements"])
             for said in ("irreversible", None)]  # fmt: skip
    assert "\nTool: refund.create\nConsequence: cannot be undone\nReason: why\n" in facts[0]
    assert "\nTool: refund.create\nReason: why\n" in facts[1]


def test_a_verdict_says_what_it_is_and_how_many_more_must_approve():
    """The title is of the verdict; every reason why people were asked is there, however many there are."""
    reasons = "; ".join(f"Parameter {number} is above the maximum, which is {number * 1000}" for number in range(10))
    approval = {"id": APPROVAL_ID, "status": "pending", "expiresAt": "2026-11-20T12:00:00Z", "reason": reasons}
    approval |= {"requestedBy": {"name": "runtime"}, "required": 2, "needs": "2 people", "parameters": {}}
    approval["approvals"] = [{"verdict": "approved"}]
    for status, code, title in (
        ("pending", "approval_approved", "1 of 2 people have approved a call"),
        ("approved", "approval_approved", "A call was approved"),
        ("denied", "approval_denied", "A call was denied"),
        ("cancelled", "approval_cancelled", "A call was withdrawn"),
    ):
        entry = {"agentId": "agent", "toolName": "pay", "reason": 'Word by "ann": fine', "code": code}
        entry["decidedBy"] = {"name": "ann", "via": "console"}
        data = {"agentName": "night bot", "entry": entry, "approval": approval | {"status": status}}
        made = slack_message("approval.decided", data)
        assert made["blocks"][0]["text"]["text"] == title
        lines = "".join(each["text"] for each in elements(made["blocks"][1])).split("\n")
        assert {'Decided: Word by "ann": fine', "Decided by: ann (console)", f"Reason: {reasons}"} <= set(lines)


def test_every_other_event_has_a_message_too():
    """Without a call, a link or an approval."""
    change = {"resourceType": "policy", "resourceId": "p", "kind": "updated", "actorName": "ann", "after": {"a": 1}}
    for kind, data in (
        ("policy.changed", {"change": change}),
        ("audit.verification_failed", {"finding": {"fault": "removed", "message": "Entry 2 is gone"}}),
        ("events.lost", {"firstSequence": 1, "lastSequence": 8}),
        ("webhook.test", {}),
    ):
        made = slack_message(kind, {"workspaceId": "ws", **data})
        assert made["blocks"][0]["text"]["text"] in made["text"]
        assert len(made["blocks"]) == (1 if kind == "webhook.test" else 2)


def test_a_breaker_that_suspended_an_agent_says_so_and_why():
    """With the policy and the decision, so that people can investigate."""
    change = {"resourceType": "agent", "resourceId": "a1", "kind": "updated", "actorName": "breaker"}
    change |= {"after": {"status": "suspended", "version": 2}, "reason": "Denial breaker: 3 denials in 60 s"}
    change |= {"tripped": {"policyId": "p1", "decisionId": "d1"}}
    made = slack_message("agent.suspended", {"workspaceId": "ws", "agentName": "night bot", "change": change})
    assert made["text"] == "A denial breaker suspended an agent: night bot"
    shown = "".join(each["text"] for each in elements(made["blocks"][1]))
    assert "Why: Denial breaker: 3 denials in 60 s\nPolicy: p1\nDecision: d1" in shown


def test_what_the_agent_says_stands_apart_from_the_call():
    """As data, under a heading that says what it is."""
    made = message({"command": "git push"}, agentSays={"description": "fine\nStatus: approved"})
    _, _, call, heading, said, _ = made["blocks"][1]["elements"]
    assert call["elements"][0]["text"] == 'command = "git push"'
    assert heading["elements"][0]["text"] == "The agent says (not part of what you approve): "
    assert said["elements"][0]["text"] == 'description = "fine\\nStatus: approved"'


REVIEW_ID = "01a1fb57-73a1-7c34-9c4e-5a0ff3c1d7b3"


def asked_change(**fields):
    """The data of the event about a change of policies that waits."""
    policies = [{"kind": "created", "policyId": "p1", "name": "<!channel>\nAsked by: nobody"}]
    after = {"status": "pending", "agentId": "a1", "group": None, "policies": policies} | fields
    change = {"resourceType": "policy_review", "resourceId": REVIEW_ID, "kind": "created", "after": after}
    change |= {"actorName": "ann", "via": "console", "reason": "labels", "before": None}
    return {"workspaceId": "ws", "change": change} | ({"agentName": "night bot"} if after["agentId"] else {})


def test_a_change_that_waits_for_a_second_person_is_told_with_its_page():
    """Whose policies, which, who asked and why; in Slack and on a card."""
    made = slack_message("policy_review.requested", asked_change(), f"{CONSOLE}/")
    assert made["text"] == "A change of policies waits for a second person: night bot"
    facts, link = made["blocks"][1]["elements"]
    lines = [
        "Agent: night bot",
        'Policies: created "<!channel>\\nAsked by: nobody"',
        "Reason: labels",
        "Asked by: ann (console)",
    ]
    assert "".join(each["text"] for each in facts["elements"]).split("\n") == lines
    assert [each.get("url") for each in link["elements"]] == [f"{CONSOLE}/reviews/{REVIEW_ID}", None, None]
    assert link["elements"][2]["text"] == f"remit policy reviews show {REVIEW_ID}"
    [attachment] = teams_message("policy_review.requested", asked_change(), f"{CONSOLE}/")["attachments"]
    assert ["".join(line) for line in runs(attachment["content"])][1:] == lines
    assert attachment["content"]["actions"][0]["url"] == f"{CONSOLE}/reviews/{REVIEW_ID}"
    for owner, line in (({"group": "desk"}, "Group: desk"), ({}, "Agents: all of the workspace")):
        told = slack_message("policy_review.requested", asked_change(agentId=None, **owner))
        assert (
            next(elements(told["blocks"][1]))["text"] + told["blocks"][1]["elements"][0]["elements"][1]["text"] == line
        )


def test_no_policy_hides_another_behind_its_name():
    """Its name ends where it is said to, and a long one is shortened, so the deletion after it is seen."""
    named = [{"kind": "created", "policyId": REVIEW_ID, "name": each} for each in ('a", deleted "b', *("x" * 255,) * 9)]
    named.append({"kind": "deleted", "policyId": REVIEW_ID, "name": "no refunds"})
    told = slack_message("policy_review.requested", asked_change(agentId=None, policies=named))
    [line] = [each["text"] for each in elements(told["blocks"][1]) if each["text"].startswith("created")]
    assert line == ", ".join(
        [r'''created "a\", deleted \"b"''', *(f'created "{"x" * 80}…"',) * 9, 'deleted "no refunds"']
    )


def runs(card):
    """The text runs of a card, line by line."""
    return [[run["text"] for run in block["inlines"]] for block in card["body"]]


@given(calls, texts, texts, texts, calls, texts)
def test_callers_text_in_a_card_is_never_a_link_markup_or_a_line(parameters, reason, tool, name, context, agent):
    """It appears only in text runs, one line per value; the link, the styles and the title are ours."""
    data = event(parameters, reason, tool, name, context, agent)
    [attachment] = teams_message("approval.requested", data, f"{CONSOLE}/")["attachments"]
    card = attachment["content"]
    assert {each["type"] for each in card["body"]} == {"RichTextBlock"}
    assert all(
        set(run) <= {"type", "text", "weight", "size", "fontType"} for each in card["body"] for run in each["inlines"]
    )
    assert [each["type"] for each in card["actions"]] == ["Action.OpenUrl"]
    assert card["actions"][0]["url"] == f"{CONSOLE}/approvals/{APPROVAL_ID}"
    shown = [text for line in runs(card) for text in line]
    assert not any(is_hidden(character) for text in shown for character in text)
    assert len(shown) - shown.index("Parameters" if parameters else shown[-1]) <= 2 * 22
    assert len(json.dumps(card)) < 60_000


def test_a_card_reads_well():
    """What happened, the call, every reason, who must approve, and one link."""
    made = teams_message("approval.requested", event({"amount": 900}, reason="too much"), f"{CONSOLE}/")
    assert made["type"] == "message"
    assert made["attachments"][0]["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert ["".join(line) for line in runs(made["attachments"][0]["content"])] == [
        "A call waits for a person",
        "Agent: night bot · agent",
        "Tool: refund.create",
        "Reason: too much",
        "Needs: 2 people in refund.create",
        "Approved by: 1 of 2",
        "Asked by: runtime",
        "Status: pending",
        "Expires: 2026-11-20T12:00:00Z",
        "Parameters",
        "amount = 900",
    ]
    assert "actions" not in teams_message("webhook.test", {"workspaceId": "ws"})["attachments"][0]["content"]


def test_people_read_what_records_say():
    """A line for each record; what was not found is named, too."""
    records = [
        {"of": "reservation:{parameters.id}", "fields": {"cabin": "basic_economy"}},
        {"of": "customer", "fields": None},
    ]
    told = json.dumps(message({"id": "4WQ150"}, records=records))
    assert "What records say" in told
    assert "reservation:{parameters.id}: {" in told
    assert "basic_economy" in told
    assert "customer: nothing" in told
