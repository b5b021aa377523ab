"""One attempt to deliver one event, and the wait that its receiver asks for."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import ceil
from urllib.parse import unquote

import msgspec
from msgspec import Raw, Struct
from standardwebhooks import Webhook as Signing

from app.model.api_keys import without_raw_keys
from app.model.approvals import ApprovalStatus
from app.model.fields import Count
from app.model.text import CONTAINS_A_KEY
from app.model.webhooks import Webhook, WebhookEvent, WebhookFormat
from app.outgoing_http import Unanswered
from app.settings import Settings
from app.webhooks.attempts import LONGEST_MS
from app.webhooks.destinations import PermittedRequests, Refused
from app.webhooks.secrets import Secrets
from app.webhooks.slack import review_buttons, slack_message
from app.webhooks.slack_app import slack_app
from app.webhooks.teams import teams_message
from app.webhooks.told import calls_of

MOST_S = LONGEST_MS // 1000
"""The longest wait, whatever the receiver asks for: by mistake, it could ask for years."""
_ASKING = frozenset({429, 503})
_LONGEST_TEXT = 64


def wait_asked_for(status: int, headers: Iterable[tuple[bytes, bytes]], now: datetime) -> int | None:
    """The wait in seconds from `now`, at most `MOST_S`; None if the answer asks for none, or not in a valid form."""
    if status not in _ASKING:
        return None
    header = next((value for name, value in headers if name.lower() == b"retry-after"), b"")
    text = header.decode("latin-1").strip()
    if not text or len(text) > _LONGEST_TEXT:
        return None
    if text.isascii() and text.isdigit():
        return min(int(text), MOST_S)
    try:
        at = parsedate_to_datetime(text)
        seconds = ceil((at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0), MOST_S)


_MESSAGES = {WebhookFormat.SLACK: slack_message, WebhookFormat.TEAMS: teams_message}
ATTEMPT_S = 15.0
"""The time limit of an attempt in seconds, from looking up the name to the head of the answer."""
_REDIRECTS = range(300, 400)


class Attempt(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of one attempt.

    delivered: Whether the receiver answered with a status from 200 to 299.
    status: The status of its answer; null if there was none.
    error: Why it was not delivered; empty if it was.
    milliseconds: How long it took.
    retry_after_seconds: The wait that the receiver asked for with 429 or 503; null if it did not.
    """

    delivered: bool
    status: int | None
    error: str
    milliseconds: int
    retry_after_seconds: Count | None = None


class _Written(Struct):
    """An event as it is stored."""

    type: str = ""
    data: Raw = Raw(b"{}")


_written = msgspec.json.Decoder(_Written).decode


def type_of(body: bytes) -> str:
    """The type of an event as it is stored."""
    return _written(body).type


class Delivery:
    """Sends events: only to permitted addresses, without redirects, and for at most 15 seconds."""

    def __init__(self, settings: Settings, secrets: Secrets, attempt_s: float = ATTEMPT_S) -> None:
        self._secrets = secrets
        self._attempt_s = attempt_s
        self._requests = PermittedRequests(settings)
        self.slack = slack_app(settings, secrets.signer, self._requests)
        """The app in which people decide; None = nobody decides in Slack."""
        self.public_url = settings.public_url
        self._pages_url: str | None = None
        if settings.console and settings.public_url:
            self._pages_url = f"{settings.public_url.rstrip('/')}/console/"

    def check(self, url: str) -> None:
        """Raise Refused if the URL alone shows that events may not be sent there, or if it contains an API key of ours.

        Everyone who may read webhooks or the trail of changes sees the URL.
        """
        if any(without_raw_keys(written) != written for written in (url, unquote(url))):
            raise Refused(CONTAINS_A_KEY)
        self._requests.check(url)

    async def send(self, workspace_id: str, webhook: Webhook, event_id: str, body: bytes) -> Attempt:
        """Make one POST. body: the event as JSON with its type and data; the webhook's format may change it."""
        began = time.monotonic()
        status: int | None = None
        wait_s: int | None = None
        try:
            content = self._content(workspace_id, webhook, body)
            headers = self._headers(workspace_id, webhook, event_id, content)
            answer = await self._requests.post(workspace_id, webhook.url, headers, content, seconds=self._attempt_s)
            status = answer.status
            wait_s = wait_asked_for(status, answer.headers, datetime.now(UTC))
            error = _problem(status) if wait_s is None else f"{_problem(status)} and asked to wait {wait_s} s"
        except Refused as refused:
            error = f"the address {refused}"
        except Unanswered as unanswered:
            cause = unanswered.cause
            error = f"no answer: {str(cause) or type(cause).__name__}"
            if isinstance(cause, TimeoutError):
                error = f"no answer within {self._attempt_s:g} seconds"
        except ValueError as failure:
            error = f"no answer: {failure}"
        return Attempt(
            delivered=not error,
            status=status,
            error=error,
            milliseconds=int((time.monotonic() - began) * 1000),
            retry_after_seconds=wait_s,
        )

    def _content(self, workspace_id: str, webhook: Webhook, body: bytes) -> bytes:
        written = _written(body)
        if written.type == WebhookEvent.ACCESS_REQUEST_COMPLETED:
            return bytes(written.data)  # the form of a callback is the standard's, whatever the webhook's is
        if webhook.format is WebhookFormat.STANDARD:
            return body
        event = msgspec.json.decode(body)
        message = _MESSAGES[webhook.format](event["type"], event["data"], self._pages_url)
        if webhook.format is WebhookFormat.SLACK and self.slack is not None:
            pending = [each for each in calls_of(event["data"]) if each.get("status") == ApprovalStatus.PENDING]
            message["blocks"] += review_buttons([self.slack.review_value(workspace_id, each["id"]) for each in pending])
        return msgspec.json.encode(message)

    def _headers(self, workspace_id: str, webhook: Webhook, event_id: str, content: bytes) -> list[tuple[str, str]]:
        """The headers of Standard Webhooks. Raises ValueError if there is no secret to sign with."""
        now = datetime.now(UTC)
        secrets = self._secrets.signing(workspace_id, webhook, int(now.timestamp() * 1000))
        if not secrets:
            raise ValueError("there is no secret to sign with; is REMIT_SECRET set?")
        text = content.decode()
        return [
            ("Content-Type", "application/json"),
            ("User-Agent", "Remit-Webhooks"),
            ("webhook-id", event_id),
            ("webhook-timestamp", str(int(now.timestamp()))),
            ("webhook-signature", " ".join(Signing(each).sign(event_id, now, text) for each in secrets)),
        ]


def _problem(status: int) -> str:
    if status in range(200, 300):
        return ""
    if status in _REDIRECTS:
        return f"the receiver answered {status}, and redirects are not followed"
    return f"the receiver answered {status}"
