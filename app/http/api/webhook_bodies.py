"""The bodies of /v1/webhooks."""

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType, field

from app.http.bodies import Body
from app.model.fields import Count
from app.model.webhooks import URL_MAX, DeniedFilter, WebhookEvent, WebhookFormat, require_secret

OVERLAP_S = 24 * 3600
_LONGEST_OVERLAP_S = 30 * 24 * 3600
Url = Annotated[str, Meta(min_length=1, max_length=URL_MAX, extra_json_schema={"pattern": "^https?://[!-~]+$"})]
Events = Annotated[list[WebhookEvent], Meta(min_length=1, max_length=20)]
GivenSecret = Annotated[str, Meta(extra_json_schema={"pattern": "^whsec_[A-Za-z0-9+/]{32,88}={0,2}$"})]


class CreateWebhook(Body, frozen=True):
    """A new webhook. It receives events from now on.

    url: Where events go: https, and not an address of a private network unless a setting allows it.
    events: The types of events to send.
    format: `standard` = JSON with type, timestamp and data; `slack` = a message for a Slack channel.
    denied: Which denials to send with `decision.denied`; null or left out = all.
    secret: The signing secret: whsec_ and 24 to 64 bytes in base64. Generated if left out.
    """

    url: Url
    events: Events
    format: WebhookFormat = WebhookFormat.STANDARD
    denied: DeniedFilter | None = None
    secret: GivenSecret | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.secret is not UNSET:
            require_secret(self.secret)


class UpdateWebhook(Body, frozen=True):
    """What to change; fields that are left out stay.

    url: Where events go, including those already waiting.
    events: The types of events to send.
    format: How an event is written.
    denied: Which denials to send; null = all.
    enabled: Whether it receives events. When enabled again, it receives events from then on.
    """

    url: Url | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    format: WebhookFormat | UnsetType = UNSET
    denied: DeniedFilter | None | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class RotateSecret(Body, frozen=True):
    """Another secret for a webhook.

    overlap_seconds: How long the previous secrets also sign; a day if left out.
    secret: The new one; generated if left out.
    """

    aliases: ClassVar[dict[str, str]] = {"overlap_seconds": "overlapSeconds"}

    overlap_seconds: Annotated[int, Meta(ge=0, le=_LONGEST_OVERLAP_S)] = field(default=OVERLAP_S, name="overlapSeconds")
    secret: GivenSecret | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.secret is not UNSET:
            require_secret(self.secret)


class SendTest(Body, frozen=True):
    """An empty body: `{}`."""


class RetryEvents(Body, frozen=True):
    """Which events to retry.

    event: The id of one event, parked or not; all parked ones if left out.
    """

    event: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET


class Retried(Struct, frozen=True):
    """events: How many events will be tried again now."""

    events: Count
