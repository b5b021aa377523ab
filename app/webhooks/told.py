"""What the messages about an event tell, whatever they are written for: a title, facts, and lists of a call's values.

Strings of callers are on one line each and shortened, and invisible characters are written as codes.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET

from app.model.approvals import NOT_APPROVED, SAYS
from app.model.catalog import Consequence
from app.model.changes import ResourceType
from app.model.text import with_hidden_shown
from app.model.usual import GRAVE, Usual
from app.model.webhooks import WebhookEvent
from app.webhooks.events import LOST, TEST

_TITLES: dict[str, str] = {
    **{event.value: event.heading for event in WebhookEvent},
    LOST: "Events were lost",
    TEST: "Remit can reach this channel",
}
_ORIGINS = {"request": "the user's request", "approved_before": "approved before", "unverified": "unverified"}
_VERDICTS = {"approval_approved": "approved", "approval_denied": "denied", "approval_cancelled": "withdrawn"}
_LONG, _LONG_MAX = ("Reason", "Policies"), 2_500
_VALUE_MAX, _VALUES_MAX, _NAME_MAX = 300, 20, 80
_SHORTENED = "… (the approval and the log have it in full)"


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


def notified(data: dict[str, Any]) -> str:
    """What a notification adds to the title, so that it can be judged without opening it; "" = nothing."""
    words = [data.get("agentName"), (data.get("entry") or {}).get("toolName")]
    if approval := data.get("approval"):
        words += [f"needs {approval['needs']}", approved_so_far(approval) if approval["required"] > 1 else ""]
    return " · ".join(shown(word, _NAME_MAX, "…") for word in words if word)


def calls_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls that the event is about: of a plan several, otherwise one, as approval or as entry of the log."""
    return data.get("plan") or [data.get("approval") or data.get("entry") or {}]


def facts_of(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts about the event, each with its name."""
    return [(name, shown(value, _LONG_MAX if name in _LONG else _VALUE_MAX)) for name, value in _facts(data)]


def listings_of(call: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The values of a call, what it runs, and where its values come from: headings, each with its lines."""
    said = (("Parameters", "parameters"), ("Context", "context"), (f"{SAYS} ({NOT_APPROVED})", "agentSays"))
    for heading, name in said:
        if values := call.get(name):
            yield heading, _first_lines(_pairs(values))
    if records := call.get("records"):
        yield "What records say", _first_lines(_records(records))
    if commands := call.get("commands"):
        yield "What the line runs", _first_lines(_lines(commands))
    if origins := call.get("values"):
        yield "Where the values come from", _first_lines(_origins(origins))


def compared_lines(usual: Usual) -> list[str]:
    """What is unusual about a call, gravest first and marked, or that nothing is."""
    if not usual.calls:
        return ["this agent was never allowed to call this tool before"]
    unusual = [each for each in usual.values if each.unusual is not UNSET]
    lines = [
        shown(f"{'!' if each.difference in GRAVE else ' '} {each.path}: {each.unusual}")
        for each in sorted(unusual, key=lambda each: each.difference not in GRAVE)
    ]
    if usual.omitted:
        lines.append(f"  {usual.omitted} more values were not compared")
    return _first_lines([f"with the {usual.calls} latest allowed calls:", *(lines or ["  nothing is unusual"])])


def shown(text: str, most: int = _VALUE_MAX, end: str = _SHORTENED) -> str:
    """The string on one line, shortened, with invisible and cursor-moving characters written as codes."""
    line = with_hidden_shown(text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r"))
    return line if len(line) <= most else line[:most] + end


def page_of(data: dict[str, Any]) -> tuple[str, str, str] | None:
    """Where people decide about what the event is about: the end of its page's address, its name, and a command."""
    if approval := data.get("approval"):
        return f"approvals/{approval['id']}", "The approval", f"remit approvals show {approval['id']}"
    if (change := data.get("change") or {}).get("resourceType") == ResourceType.POLICY_REVIEW:
        review_id = change["resourceId"]
        return f"reviews/{review_id}", "What would change", f"remit policy reviews show {review_id}"
    return None


def _facts(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts about the event, one per line."""
    if change := data.get("change"):
        name = [("Agent", data["agentName"])] if data.get("agentName") else []
        if change["resourceType"] == ResourceType.POLICY_REVIEW:
            return [*name, *_review_facts(change)]
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
    facts += [("Consequence", Consequence(said).in_words)] if (said := approval.get("consequence")) else []
    facts += [("Reason", approval["reason"]), ("Needs", approval["needs"])]
    facts += [("Filling", f"four fifths of the open approvals of the {entry['filling']}")] if "filling" in entry else []
    facts += [("Approved by", approved_so_far(approval))] if approval["required"] > 1 else []
    asked = approval["requestedBy"]["name"]
    return [*facts, ("Asked by", asked), ("Status", approval["status"]), ("Expires", approval["expiresAt"])]


def _review_facts(change: dict[str, Any]) -> list[tuple[str, str]]:
    """Of a change of policies that a second person is asked for."""
    asked = change["after"]
    whose = [("Group", asked["group"])] if asked.get("group") else []
    whose += [] if whose or asked.get("agentId") else [("Agents", "all of the workspace")]
    policies = ", ".join(f"{each['kind']} {_quoted(each['name'])}" for each in asked["policies"])
    why = [("Reason", change["reason"])] if "reason" in change else []
    return [*whose, ("Policies", policies), *why, ("Asked by", _named(change["actorName"], change))]


def _named(name: str, by: dict[str, Any]) -> str:
    """The name of who did something, and how they came in, if that is known."""
    return f"{name} ({by['via']})" if "via" in by else name


def _quoted(name: str) -> str:
    """The name, shortened, so that nothing in it looks like what comes after it."""
    return json.dumps(name if len(name) <= _NAME_MAX else f"{name[:_NAME_MAX]}…", ensure_ascii=False)


def _pairs(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield f"{shown(name)} = {shown(json.dumps(value, ensure_ascii=False))}"


def _origins(values: list[dict[str, Any]]) -> Iterator[str]:
    """For each value its origin, and what in a text does not stand in the user's request."""
    for each in values:
        beside = f"; not in the request: {', '.join(each['notInRequest'])}" if "notInRequest" in each else ""
        yield shown(f"{each['path']}: {_ORIGINS.get(each['origin'], each['origin'])}{beside}")


def _records(records: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each record that a rule read. An entry of the log has the same."""
    for each in records:
        fields = "nothing" if each["fields"] is None else json.dumps(each["fields"], ensure_ascii=False)
        yield f"{each['of']}: {fields}"


def _lines(commands: list[dict[str, Any]]) -> Iterator[str]:
    """For each command of a shell line whether it may run, or why not."""
    for each in commands:
        yield shown(f"{each['text']}: {'may run' if each['passed'] else each['why']}")


def _first_lines(said: Iterable[str]) -> list[str]:
    """The first twenty, and how many more there are."""
    lines = list(said)
    return lines if len(lines) <= _VALUES_MAX else [*lines[:_VALUES_MAX], f"… and {len(lines) - _VALUES_MAX} more"]
