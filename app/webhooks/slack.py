"""Events as messages for Slack. Callers' strings appear only in elements that Slack does not interpret.

`rich_text` has separate elements for links, styles and lines, so a string cannot forge them. Invisible characters, and
those that begin another line, are written as codes. The notification names agent and tool, without markup.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from app.model.approvals import NOT_APPROVED, SAYS
from app.model.text import with_hidden_shown
from app.model.webhooks import WebhookEvent
from app.webhooks.events import LOST, TEST

_TITLES: dict[str, str] = {
    **{event.value: event.heading for event in WebhookEvent},
    LOST: "Events were lost",
    TEST: "Remit can reach this channel",
}
_ORIGINS = {"request": "the user's request", "approved_before": "approved before", "unverified": "unverified"}
_VERDICTS = {"approval_approved": "approved", "approval_denied": "denied", "approval_cancelled": "withdrawn"}
_REASON_MAX = 2_500
_VALUE_MAX, _VALUES_MAX, _NAME_MAX = 300, 20, 80
_SHORTENED = "… (the approval and the log have it in full)"


def slack_message(kind: str, data: dict[str, Any], approvals_url: str | None = None) -> dict[str, Any]:
    """The body of an incoming webhook: blocks, and a text for the notification.

    approvals_url: what comes before an approval's id in the address of its page.
    """
    title = title_of(kind, data)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}},
    ]
    elements = [_section(_facts(data))] if _facts(data) else []
    plan = data.get("plan") or [_call(data)]
    for number, call in enumerate(plan, 1):
        if len(plan) > 1:
            elements.append(_section([(f"Call {number} of {len(plan)}", str(call["toolName"]))]))
        elements += _values(call)
    if len(plan) > 1:
        plan_id = str(plan[0]["plan"]["id"])
        elements.append(_commands(f"remit approvals list --plan-id {plan_id}"))
    elif approval := data.get("approval"):
        elements.append(_where_to_decide(str(approval["id"]), approvals_url))
    if elements:
        blocks.append({"type": "rich_text", "elements": elements})
    return {"text": f"{title}{_notified(data)}", "mrkdwn": False, "blocks": blocks}


def title_of(kind: str, data: dict[str, Any]) -> str:
    """What has happened, in words of ours alone."""
    if data.get("plan"):
        return f"A plan of {len(data['plan'])} calls waits for a person"
    if (data.get("change") or {}).get("tripped"):
        return "A denial breaker suspended an agent"
    verdict = _VERDICTS.get((data.get("entry") or {}).get("code", ""))
    approval = data.get("approval") or {}
    if verdict == "approved" and approval.get("status") == "pending":
        return f"{approved_so_far(approval)} people have approved a call"
    return f"A call was {verdict}" if verdict else _TITLES.get(kind, "Something has happened")


def approved_so_far(approval: dict[str, Any]) -> str:
    """How many have approved of how many who must, such as `1 of 2`."""
    approved = [each for each in approval["approvals"] if each["verdict"] == "approved"]
    return f"{len(approved)} of {approval['required']}"


def _values(call: dict[str, Any]) -> list[dict[str, Any]]:
    """The values of a call, and where they come from."""
    elements = []
    for name in ("parameters", "context"):
        if values := call.get(name):
            elements += [_section([(name.capitalize(), "")]), _preformatted(values)]
    if said := call.get("agentSays"):
        elements += [_section([(f"{SAYS} ({NOT_APPROVED})", "")]), _preformatted(said)]
    if commands := call.get("commands"):
        elements += [_section([("What the line runs", "")]), _preformatted_lines(_lines(commands))]
    if origins := call.get("values"):
        elements += [_section([("Where the values come from", "")]), _preformatted_lines(_origins(origins))]
    return elements


def _notified(data: dict[str, Any]) -> str:
    """What a notification adds to the title, so that it can be judged without opening it."""
    words = [data.get("agentName"), (data.get("entry") or {}).get("toolName")]
    if approval := data.get("approval"):
        words += [f"needs {approval['needs']}", approved_so_far(approval) if approval["required"] > 1 else ""]
    shown = " · ".join(_shown(word, _NAME_MAX, "…") for word in words if word)
    # The three characters that Slack's markup is made of: without them, no link and no mention.
    return shown and ": " + shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _call(data: dict[str, Any]) -> dict[str, Any]:
    return data.get("approval") or data.get("entry") or {}


def _facts(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts about the event, one per line."""
    if change := data.get("change"):
        name = [("Agent", data["agentName"])] if data.get("agentName") else []
        facts = [
            *name,
            ("What", f"{change['resourceType']} {change['resourceId']} was {change['kind']}"),
            ("By", _named(change["actorName"], change)),
            ("Now", json.dumps(change["after"], ensure_ascii=False)),
        ]
        if tripped := change.get("tripped"):
            facts += [("Why", change["reason"]), ("Policy", tripped["policyId"]), ("Decision", tripped["decisionId"])]
        return facts
    if finding := data.get("finding"):
        return [("Finding", str(finding.get("message", ""))), ("Fault", str(finding.get("fault", "")))]
    if "lastSequence" in data:
        return [("Entries", f"{data['firstSequence']} to {data['lastSequence']} were dropped before they were sent")]
    entry, approval = data.get("entry") or {}, data.get("approval")
    if not entry:
        return []
    agent = [data["agentName"], entry["agentId"]] if data.get("agentName") else [entry["agentId"]]
    facts = [("Agent", " · ".join(agent)), ("Tool", entry["toolName"])]
    if decided := entry.get("decidedBy"):
        facts += [("Decided", entry["reason"]), ("Decided by", _named(decided["name"], decided))]
    if not approval:
        return facts if decided else [*facts, ("Reason", entry["reason"])]
    facts += [("Reason", approval["reason"]), ("Needs", approval["needs"])]
    facts += [("Approved by", approved_so_far(approval))] if approval["required"] > 1 else []
    asked = approval["requestedBy"]["name"]
    return [*facts, ("Asked by", asked), ("Status", approval["status"]), ("Expires", approval["expiresAt"])]


def _named(name: str, by: dict[str, Any]) -> str:
    """The name of who did something, and how they came in, if that is known."""
    return f"{name} ({by['via']})" if "via" in by else name


def _section(facts: list[tuple[str, str]]) -> dict[str, Any]:
    elements = []
    for place, (name, value) in enumerate(facts):
        line_feed = "\n" if place else ""
        elements.append({"type": "text", "text": f"{line_feed}{name}: ", "style": {"bold": True}})
        if value:
            most = _REASON_MAX if name == "Reason" else _VALUE_MAX
            elements.append({"type": "text", "text": _shown(value, most)})
    return {"type": "rich_text_section", "elements": elements}


def _preformatted(values: dict[str, Any]) -> dict[str, Any]:
    """One line for each value, and no more."""
    said = (f"{_shown(name)} = {_shown(json.dumps(value, ensure_ascii=False))}" for name, value in values.items())
    return _preformatted_lines(said)


def _preformatted_lines(said: Iterable[str]) -> dict[str, Any]:
    """The first twenty, and how many more there are."""
    lines = list(said)
    if len(lines) > _VALUES_MAX:
        lines = [*lines[:_VALUES_MAX], f"… and {len(lines) - _VALUES_MAX} more"]
    return {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "\n".join(lines)}]}


def _origins(values: list[dict[str, Any]]) -> Iterator[str]:
    """For each value its origin, and what in a text does not stand in the user's request."""
    for each in values:
        beside = f"; not in the request: {', '.join(each['notInRequest'])}" if "notInRequest" in each else ""
        yield _shown(f"{each['path']}: {_ORIGINS.get(each['origin'], each['origin'])}{beside}")


def _lines(commands: list[dict[str, Any]]) -> Iterator[str]:
    """For each command of a shell line whether it may run, or why not."""
    for each in commands:
        yield _shown(f"{each['text']}: {'may run' if each['passed'] else each['why']}")


def _where_to_decide(approval_id: str, approvals_url: str | None) -> dict[str, Any]:
    elements: list[dict[str, Any]] = []
    if approvals_url is not None:
        elements += [
            {"type": "link", "url": approvals_url + approval_id, "text": "The approval"},
            {"type": "text", "text": " · "},
        ]
    return _commands(f"remit approvals show {approval_id}", *elements)


def _commands(command: str, *before: dict[str, Any]) -> dict[str, Any]:
    shown = {"type": "text", "text": command, "style": {"code": True}}
    return {"type": "rich_text_section", "elements": [*before, shown]}


def _shown(text: str, most: int = _VALUE_MAX, end: str = _SHORTENED) -> str:
    """The string on one line, shortened, with invisible and cursor-moving characters written as codes."""
    line = with_hidden_shown(text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r"))
    return line if len(line) <= most else line[:most] + end
