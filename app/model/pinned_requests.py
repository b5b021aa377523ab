"""The user's request of a session, pinned once by the key that vouches for it."""

from typing import Annotated

from msgspec import Meta, Struct

from app.model.fields import Count, Timestamp, Uuid
from app.model.sequences import MAX_SESSION_LENGTH

PIN_SECONDS = 86_400
"""How long a request stays pinned by default: a day."""

PIN_SECONDS_MAX = 2_592_000
"""30 days."""

Session = Annotated[str, Meta(min_length=1, max_length=MAX_SESSION_LENGTH)]


class SessionRequest(Struct, frozen=True, rename="camel"):
    """The request that was pinned for a session. Its text is not stored.

    id: Of this pinned request, for the trail.
    session: What calls of the session give as `context.session`.
    length: Characters of the request.
    hmac: A MAC of the request, the same as in audit entries of calls that give this request.
    pinned_at: When it was pinned, by the store's clock.
    pinned_by: The API key or session with which it was pinned.
    expires_at: When it counts no more.
    """

    id: Uuid
    session: Session
    length: Count
    hmac: str
    pinned_at: Timestamp
    pinned_by: Uuid
    expires_at: Timestamp
