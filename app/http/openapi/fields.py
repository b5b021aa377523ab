"""What each field of the API means: one word means the same thing wherever it stands.

Names are those on the wire; `Struct.field` comes before `field` where a word needs two meanings. What a struct's own
type says (lengths, ranges, lists of words) is not repeated here. A test keeps the table complete and free of others.
"""

from typing import Any

_HIDDEN_IN_LINES = (
    r"\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F"
    r"\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB"
)
HIDDEN = r"\u0009\u000A" + _HIDDEN_IN_LINES
"""Characters that nobody sees, as a class of a pattern; some rarer ones are refused as well."""

UUID = {"format": "uuid"}
TIME = {"format": "date-time"}
VISIBLE = {"pattern": f"^[^{HIDDEN}]+$"}
VISIBLE_LINES = {"pattern": f"^[^{_HIDDEN_IN_LINES}]*$"}
TOOL_PATTERN = {"pattern": rf"^(\*|[^*{HIDDEN}]+(\.\*)?)$"}

FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    # Everywhere
    "id": ("Identifier.", UUID),
    "name": ("Display name; no control, bidirectional or zero-width characters.", VISIBLE),
    "createdAt": ("When it was created.", TIME),
    "updatedAt": ("When it last changed.", TIME),
    "version": ("1 on creation, one more with every change; the same number as in ETag.", {"minimum": 1}),
    "agent_id": ("The agent's id.", UUID),
    "agentId": ("The agent's id.", UUID),
    "policyId": ("The policy that gave the result; null if none did: a default deny, or an agent not active.", UUID),
    "keyId": ("The API key that asked.", UUID),
    # API keys
    "prefix": ("The raw key's first 12 characters, to tell keys apart.", {}),
    "scopes": ("What the key may do.", {}),
    "expiresAt": ("When the key stops being valid; null or left out = never.", TIME),
    "lastUsedAt": ("When a request was last authenticated by it, to the second; null = never.", TIME),
    "key": ("The raw key. Shown this once.", {"pattern": "^svc_[0-9a-f]{32}$"}),
    # Agents
    "description": ("What the agent is for; line breaks may stand in it.", VISIBLE_LINES),
    "AgentView.status": ("Only an active agent is ever allowed anything.", {}),
    "UpdateAgent.status": ("`revoked` is final.", {}),
    # Policies
    "rules": ("The rules, in order. Any that denies denies; else any that escalates escalates.", {}),
    "priority": ("Higher values are asked first; policies of equal priority decide together.", {}),
    "enabled": ("A policy that is not enabled is skipped.", {}),
    "tools": ("Which tools: names, `prefix.*`, or `*` for all; case-sensitive.", {"items": TOOL_PATTERN}),
    "type": ("The kind of rule.", {}),
    "effect": ("What a failure asks for; `deny` if left out.", {}),
    "ParameterConstraint.parameters": (
        "For each named parameter what it must be. A dotted name reaches into objects.",
        {"propertyNames": {"type": "string", "minLength": 1, "maxLength": 255, **VISIBLE}},
    ),
    "regex": ("RE2 pattern, found anywhere in the text; anchor it with ^ and $.", {"format": "re2"}),
    "enum": ("The values it may have, equal in type and value.", {}),
    "min": ("The least it may be, inclusive; numbers only.", {}),
    "max": ("The most it may be, inclusive; numbers only.", {}),
    "required": ("false lets the parameter be missing; true if left out.", {}),
    "rateLimit": ("How many calls in which span.", {}),
    "maxCalls": ("Admitted calls that any span may hold.", {}),
    "windowSeconds": ("The span, in seconds; it ends now and does not start on the minute.", {}),
    "timeWindow": ("When calls pass.", {}),
    "allowedHours": ("Hours of the day: hour h is h:00:00 to h:59:59 local time.", {}),
    "allowedDays": ("Days of the week: 1 is Monday, 0 and 7 are Sunday.", {}),
    "timezone": ("IANA time zone; UTC if left out.", {"format": "iana-time-zone"}),
    # Decisions and the audit log
    "tool_name": ("The tool that the agent wants to call.", VISIBLE),
    "toolName": ("The tool that the agent wanted to call.", {}),
    "AuthorizeBody.action": ("What is attempted, for the log; `authorize` if left out.", VISIBLE),
    "AuditEntry.action": ("What was attempted.", {}),
    "AuthorizeBody.parameters": ("The call's parameters; up to 64 KiB and 32 levels deep.", {}),
    "AuditEntry.parameters": (
        'The call\'s parameters; values under secret names are "[REDACTED]".',
        {"type": "object"},
    ),
    "allowed": ("True if and only if result is `allowed`: only then may the call be made.", {}),
    "result": ("What was decided.", {}),
    "rule": ("The rule that decided; null where no rule did.", {}),
    "index": ("Its place in the policy's rules, from 0.", {"minimum": 0}),
    "reason": ("A sentence for people.", {}),
    "retryAfterSeconds": ("When every rate limit that refused has room again; null if none did.", {}),
    "latencyMs": ("From the request's arrival to the decision, in milliseconds.", {"minimum": 0}),
    "timestamp": ("When it was decided, by the store's clock.", TIME),
    "unsealed": ("Entries that are not sealed and chained yet.", {"minimum": 0}),
    "lagSeconds": ("Age of the oldest unsealed entry; 0 if there is none.", {"minimum": 0}),
    "lastSequence": ("The newest entry's number; numbers have no gaps.", {"minimum": 0}),
    "sealedSequence": ("The newest sealed entry's number.", {"minimum": 0}),
    "firstSequence": ("The number of the oldest entry that retention has not dropped.", {"minimum": 1}),
    "Backlog.segments": ("Segments that were ever sealed.", {"minimum": 0}),
    "poison": ("Entries that could not be sealed as they were; a line in the log stands for each.", {"minimum": 0}),
    "intact": ("Nothing that was checked is wrong.", {}),
    "complete": ("The newest entry was reached.", {}),
    "finding": ("What is wrong first; null if nothing is.", {}),
    "fault": ("What was done to the log.", {}),
    "segment": ("Where it begins.", {"minimum": 0}),
    "checkpoint": ("The last intact segment as one line, to be kept elsewhere; null if there is none.", {}),
    "firstSegment": ("The segment with which it began.", {"minimum": 1}),
    "VerificationView.segments": ("Segments that were checked.", {"minimum": 0}),
    "entries": ("Entries in them.", {"minimum": 0}),
    # Changes
    "Change.id": ("Its place in the trail: it sorts by time.", {"pattern": "^[0-9]+-[0-9]+$"}),
    "Change.timestamp": ("When it was made, by the store's clock.", TIME),
    "actorId": ("The API key that made it, or `console`: made with `remit` or by a setting, without a key.", {}),
    "actorName": ("The name that the key had then, or `console`.", {}),
    "kind": ("What was done; revoking a key is deleting it.", {}),
    "resourceType": ("What it was done to.", {}),
    "resourceId": ("Its id.", UUID),
    "before": (
        "The fields that changed, as they were; before a deletion all of them, null before a creation.",
        {"type": ["object", "null"]},
    ),
    "after": (
        "The same fields as they became; after a creation all of them, null after a deletion.",
        {"type": ["object", "null"]},
    ),
    # Errors and health
    "error": ("What went wrong.", {}),
    "code": ("For programs; the list of codes does not change within /v1 but may grow.", {}),
    "message": ("For people.", {}),
    "details": ("The places at fault, if it is a matter of places.", {}),
    "path": ("Where: a JSON path such as `$.rules[0].tools`, or the name of a query parameter.", {}),
    "Health.status": ("`ok`.", {}),
}

STRUCTS: dict[str, dict[str, Any]] = {
    "Constraint": {"minProperties": 1},
    "TimeWindow": {"anyOf": [{"required": ["allowedHours"]}, {"required": ["allowedDays"]}]},
}
"""What a struct asks for beyond its fields."""


def field_of(struct: str, name: str) -> tuple[str, dict[str, Any]]:
    """The description of a field and what its schema says besides its type."""
    return FIELDS.get(f"{struct}.{name}") or FIELDS[name]
