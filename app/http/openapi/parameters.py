"""Query parameters as the OpenAPI document describes them; `queries` reads them."""

from enum import Enum
from typing import Any

from msgspec import Struct

from app.http.api.audit_log import DEFAULT_LIMIT
from app.http.change_reasons import HEADER
from app.http.queries import MAX_LIMIT, MAX_OFFSET, MAX_TEXT
from app.model.actors import BREAKER, COMMAND_LINE, MAX_REASON
from app.model.agents import CALLED, AgentStatus
from app.model.approvals import ApprovalStatus
from app.model.audit import ANY_SHADOW, Format
from app.model.changes import ResourceType
from app.model.decisions import Result
from app.model.policies import PolicyKind
from app.model.policy_keys import CALLED as CALLED_POLICY
from app.model.text import VISIBLE


class Parameter(Struct, frozen=True):
    """A query parameter, or a header that a request may carry. also: its other spelling."""

    name: str
    schema: dict[str, Any]
    description: str
    also: str | None = None


def _one_of(name: str, kind: type[Enum], sentence: str, default: str | None = None) -> Parameter:
    """A parameter with one of an enumeration's values."""
    schema: dict[str, Any] = {"type": "string", "enum": [each.value for each in kind]}
    return Parameter(name, schema if default is None else {**schema, "default": default}, sentence)


def _flag(name: str, sentence: str) -> Parameter:
    """A boolean parameter; `false` if left out."""
    return Parameter(name, {"type": "string", "enum": ["true", "false"], "default": "false"}, sentence)


def _span(things: str) -> tuple[Parameter, Parameter]:
    """The parameters of a span of time."""
    return (
        Parameter("from", _TIME, f"Only {things} at or after this time; without an offset it is UTC."),
        Parameter("to", _TIME, f"Only {things} at or before this time; without an offset it is UTC."),
    )


def _cursor(schema: dict[str, Any], thing: str) -> Parameter:
    """The position that the previous page returned."""
    sentence = f"X-Next-Cursor of the page before: pages chained by it neither repeat nor skip {thing}."
    return Parameter("cursor", schema, sentence)


def _page_limit(sentence: str) -> Parameter:
    """The length of a page."""
    return Parameter("limit", {**LIMIT.schema, "default": DEFAULT_LIMIT}, sentence)


def _if_match(example: str, sentence: str) -> Parameter:
    """The version that a change applies to."""
    return Parameter("If-Match", {"type": "string", "pattern": _TAGS, "example": example}, sentence)


def _last_event_id(pattern: str) -> Parameter:
    """The position at which a stream continues."""
    return Parameter("Last-Event-ID", {"type": "string", "pattern": pattern}, "The id of the last event received.")


_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT, **VISIBLE}
_ID = {"type": "string", "format": "uuid"}
_UUID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TAG = r'(W/)?"[!#-+\--~]*"'
_TAGS = rf"^(\*|{_TAG}( *, *{_TAG})*)$"
_TIME = {"type": "string", "format": "date-time"}

AGENT_ID = Parameter(
    "agent_id", {"type": "string", **CALLED}, "Only those of this agent, by its id or its alias.", also="agentId"
)
AGENT_FILTERS = (
    Parameter("alias", {"type": "string", **CALLED}, "Only the agent with this alias."),
    Parameter("name", _TEXT, "Only agents with this name."),
    _one_of("status", AgentStatus, "Only agents in this state."),
)
GROUP = Parameter(
    "group", {"type": "string", "minLength": 1, "maxLength": MAX_TEXT, **VISIBLE}, "Only policies that this group owns."
)
KIND = _one_of("kind", PolicyKind, "Only those of this kind.")
STRICT = _flag("strict", "A warning is an error (400), and nothing is written.")
KEY = Parameter("key", {"type": "string", **CALLED_POLICY}, "Only policies with this key.")
OF_AGENT = Parameter(
    "agent_id",
    {"type": "string", **CALLED},
    "The agent that owns the policy; needed if it is named by its key.",
    also="agentId",
)
OF_GROUP = Parameter(
    "group", GROUP.schema, "The group that owns the policy; if neither is given, the workspace owns it."
)
LIMIT = Parameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}, "The most to return; all if left out."
)
OFFSET = Parameter(
    "offset", {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0}, "How many to skip first."
)
TOOL = Parameter("tool", _TEXT, "Only this tool, whether or not it is known.")
FORCE = _flag("force", "Revoke it even if it is the last valid key with the scope `admin`.")
FILTERS = (
    AGENT_ID,
    Parameter("action", _TEXT, "Only entries with this action."),
    Parameter("tool_name", _TEXT, "Only entries for this tool.", also="toolName"),
    _one_of("result", Result, "Only entries with this result."),
    Parameter("id", _ID, "Only the entry with this id."),
    Parameter("key_id", _ID, "Only entries of calls made with this API key.", also="keyId"),
    Parameter("policy_id", _ID, "Only entries that this policy decided.", also="policyId"),
    Parameter("rule_type", _TEXT, "Only entries that a rule of this type decided.", also="ruleType"),
    Parameter(
        "shadow",
        {"type": "string", "anyOf": [{"format": "uuid"}, {"const": ANY_SHADOW}]},
        "Only entries where the shadow policy with this id, or any, would have given another result.",
    ),
    *_span("entries"),
)
PAGE = (
    _page_limit("The most entries to return."),
    Parameter("offset", OFFSET.schema, "How many entries to skip first."),
    _cursor({"type": "integer", "minimum": 1, "maximum": 10**15}, "an entry"),
)
CHANGE_FILTERS = (
    Parameter(
        "actor_id",
        {"type": "string", "pattern": f"^({BREAKER.id}|{COMMAND_LINE.id}|{_UUID})$"},
        "Only changes made with this API key, without one (`console`), or by denial breakers (`breaker`).",
        also="actorId",
    ),
    Parameter(
        "resource_type",
        {"type": "string", "enum": [each.value for each in ResourceType]},
        "Only changes to this type of thing.",
        also="resourceType",
    ),
    Parameter(
        "resource_id",
        {"type": "string", "format": "uuid"},
        "Only changes to the thing with this id.",
        also="resourceId",
    ),
    *_span("changes"),
    _page_limit("The most changes to return."),
    Parameter(
        "cursor",
        {"type": "string", "pattern": "^[1-9][0-9]{0,14}-[0-9]{1,15}$"},
        "X-Next-Cursor of the page before: pages chained by it neither repeat nor skip a change.",
    ),
)
IF_MATCH = _if_match(
    '"3"',
    "The version to change, as its ETag showed it, or several, comma-separated. If the current version is another "
    "one, nothing is changed and the answer is 412. `*` or left out: any version.",
)
IF_MATCH_SET = _if_match(
    '"5f0c2a9e4d0281931f2e9b107d428c11"',
    "The version of these policies, as their ETag showed it. If the current version is another one, nothing is "
    "changed and the answer is 412. `*` or left out: any version.",
)
PRUNE = _flag("prune", "Delete the policies that are not in the body; otherwise they stay.")
IF_MATCH_CATALOG = _if_match(
    '"5f0c2a9e4d0281931f2e9b107d428c11"',
    "The version of the catalogue, as its ETag showed it. If the current version is another one, nothing is changed "
    "and the answer is 412. `*` or left out: any version.",
)
PRUNE_TOOLS = _flag("prune", "Remove the tools that are not in the body; otherwise they stay.")
CHANGE_REASON = Parameter(
    HEADER,
    {"type": "string", "minLength": 1, "maxLength": MAX_REASON, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    "The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8.",
)
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    "A name for this request, chosen by the caller. If the request is repeated with it within 24 hours, the first "
    "answer is returned again: no second entry, and limits count the call once. Another request with the same name is "
    "answered 409, and so is the same one once the agent, or what governs it, has changed: then use a new name.",
)
HOOK_AGENT = Parameter(
    "X-Remit-Agent",
    {"type": "string", **CALLED},
    "The agent whose calls these are, by its id or its alias. Required exactly once; without it every call is denied.",
)
REPLAYED = {"Idempotency-Replayed": "`true` if this repeats the first answer to the Idempotency-Key."}
REQUEST_ID = {"X-Request-ID": "The id of this request: the caller's, if it sent one that can be logged."}
OF_STATUS = {
    401: {"WWW-Authenticate": "Bearer."},
    429: {"Retry-After": "How long to wait, in seconds."},
}
"""Headers that every refusal of a status has."""
ETAG = {"ETag": "The version, in quotes. Send it as If-Match to avoid overwriting changes made in the meantime."}
RATE = {
    "X-RateLimit-Limit": "How many requests this key may send in a second. Only if the service limits them.",
    "X-RateLimit-Remaining": "How many of them are left.",
    "X-RateLimit-Reset": "In how many seconds all of them are available again.",
}
NEXT_CURSOR = {"X-Next-Cursor": "Send it as `cursor` to get the next page. Missing on the last page."}
AUDIT_FLOOR = {
    "X-Audit-Floor": "Only if retention dropped entries that might have matched: the newest time among them."
}
CHECKPOINT = Parameter(
    "checkpoint",
    {"type": "string", "format": "checkpoint"},
    "The line of an earlier verification: start there, and require the log to match it.",
)
EXPORT_FORMAT = _one_of("format", Format, "The format of the file.", default=Format.NDJSON.value)
LAST_EVENT_ID = _last_event_id("^[0-9]{1,15}$")
APPROVAL_FILTERS = (
    _one_of("status", ApprovalStatus, "Only those in this state."),
    AGENT_ID,
    _page_limit("The most to return."),
    _cursor({"type": "string", "format": "uuid"}, "an approval"),
)
WAIT = Parameter(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": 60, "default": 0},
    "Answer as soon as it is no longer pending, or after this many seconds.",
)
IF_MATCH_APPROVAL = Parameter(
    "If-Match",
    IF_MATCH.schema,
    "The version that the person has seen, as its ETag showed it; 409 if the current version is another one.",
)
LAST_APPROVAL_EVENT_ID = _last_event_id("^[0-9]{1,15}-[0-9]{1,15}$")
