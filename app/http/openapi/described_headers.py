"""Headers as the OpenAPI document describes them: those that a request may carry, and those of answers."""

from typing import Any

from msgspec import Struct

from app.http.headers import CHANGE_REASON_HEADER
from app.model.actors import MAX_REASON
from app.model.agents import CALLED


class RequestHeader(Struct, frozen=True):
    """A header that a request may carry."""

    name: str
    schema: dict[str, Any]
    description: str


_TAG = r'(W/)?"[!#-+\--~]*"'
_TAGS = {"type": "string", "pattern": rf"^(\*|{_TAG}( *, *{_TAG})*)$"}
_LINE = {"type": "string", "minLength": 1, "pattern": "^[!-~]([ -~]*[!-~])?$"}
_OTHERWISE = (
    "If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version."
)


def _if_match(example: str, version: str) -> RequestHeader:
    """The version that a change applies to."""
    return RequestHeader("If-Match", {**_TAGS, "example": f'"{example}"'}, f"{version} {_OTHERWISE}")


def last_event_id(pattern: str) -> RequestHeader:
    """The position at which a stream continues."""
    return RequestHeader("Last-Event-ID", {"type": "string", "pattern": pattern}, "The id of the last event received.")


_DIGEST = "5f0c2a9e4d0281931f2e9b107d428c11"
IF_MATCH = _if_match("3", "The version to change, as its ETag showed it, or several, comma-separated.")
IF_MATCH_SET = _if_match(_DIGEST, "The version of these policies, as their ETag showed it.")
IF_MATCH_CATALOG = _if_match(_DIGEST, "The version of the catalogue, as its ETag showed it.")
IF_MATCH_APPROVAL = RequestHeader(
    "If-Match",
    IF_MATCH.schema,
    "The version that the person has seen, as its ETag showed it; 409 if the current version is another one.",
)
CHANGE_REASON = RequestHeader(
    CHANGE_REASON_HEADER,
    {**_LINE, "maxLength": MAX_REASON},
    "The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8.",
)
IDEMPOTENCY_KEY = RequestHeader(
    "Idempotency-Key",
    {**_LINE, "maxLength": 255},
    "A name for this request, chosen by the caller. If the request is repeated with it within 24 hours, the first "
    "answer is returned again: no second entry, and limits count the call once. Another request with the same name is "
    "answered 409, and so is the same one once the agent, or what governs it, has changed: then use a new name.",
)
BATCH_IDEMPOTENCY_KEY = RequestHeader(
    "Idempotency-Key",
    IDEMPOTENCY_KEY.schema,
    "A name for this batch, chosen by the caller. If the batch is repeated with it within 24 hours, each call that was "
    "decided gets its first answer again, and the others are decided. Another batch with the same name is answered "
    "409. A call whose agent, or what governs it, has changed since is `IDEMPOTENCY_STALE`: in the place of its answer "
    "if other calls were decided now, otherwise the whole batch is 409. Each call counts as one key.",
)
GATEWAY_AGENT = RequestHeader(
    "X-Remit-Agent",
    {"type": "string", **CALLED},
    "The agent that sends the request, by its id or its alias. "
    "Left out, the agent is the only one that the key is bound to.",
)
SUBMISSION_KEY = RequestHeader(
    "Idempotency-Key",
    IDEMPOTENCY_KEY.schema,
    "A name for this submission, chosen by the caller. The same submission with it gets the same task, as long as the "
    "access can be decided and for a day longer; another one is answered 409.",
)
HOOK_AGENT = RequestHeader(
    "X-Remit-Agent",
    {"type": "string", **CALLED},
    "The agent whose calls these are, by its id or its alias. Required exactly once; without it every call is denied.",
)
HOOK_PROJECT = RequestHeader(
    "X-Remit-Project",
    {"type": "string", "maxLength": 4096},
    "The project's folder, as `context.project`: what the hook's settings say, and no model. At most once.",
)
HOOK_ALLOWED = RequestHeader(
    "X-Remit-Allowed",
    {"type": "string", "enum": ["allow", "continue"]},
    "What the answer to an allowed call is: `allow` (also without the header), after which the coding agent runs the "
    "tool, or `continue`, after which its own permissions are asked, too. At most once; also as `context.allowed`.",
)

REPLAYED = {"Idempotency-Replayed": "`true` if this repeats the first answer to the Idempotency-Key."}
REQUEST_ID = {"X-Request-ID": "The id of this request: the caller's, if it sent one."}
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
AUDIT_SCAN = {
    "X-Audit-Scan": "The given filters that are not indexed, comma-separated; missing without any. Entries were read "
    "to find matches, up to a bound: a page may have less than `limit`; the rest follows with `X-Next-Cursor`."
}
LOCATION = {"Location": "Where to read the task: its `status_endpoint`."}
RETRY_AFTER = {"Retry-After": "In how many seconds to read the task again, while it is pending."}
EXT_AUTHZ_ANSWER = {
    "Remit-Decision": "The id of the decision.",
    "Remit-Result": "`allowed`; of an answer that is not 200, also `denied` or `escalated`, if it was decided.",
    "Remit-Code": "Why, for programs; of an answer that is not 200, also an error's code in lower case.",
}
OF_STATUS = {
    401: {"WWW-Authenticate": "Bearer."},
    429: {"Retry-After": "How long to wait, in seconds."},
}
"""Headers that every refusal of a status has."""
MANAGED_BY = {
    "X-Managed-By": "Only if `remit policy apply` manages the policy: from where, which will create it again."
}
