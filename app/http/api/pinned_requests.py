"""/v1/sessions/{session_id}/request: what the user asked for in a session of calls, pinned once."""

from typing import Annotated, ClassVar

from msgspec import Meta

from app.errors import Invalid, RequestNotFound, RequestPinned
from app.http.bodies import Body
from app.http.endpoint import endpoint
from app.http.references import name_in_path
from app.model.actors import ChangedBy
from app.model.api_keys import Caller, Scope
from app.model.constraints import MAX_REQUEST_BYTES
from app.model.pinned_requests import PIN_SECONDS, PIN_SECONDS_MAX, SessionRequest
from app.model.sequences import MAX_SESSION_LENGTH
from app.model.text import FieldError
from app.redaction.recording import recorded_request
from app.replica import Services


class PinRequest(Body, frozen=True):
    """The user's request of a session.

    request: What the user asked for, as calls of the session will give it as `context.request`: at most 32 KiB.
    valid_seconds: How long it counts, 1 to 2,592,000 seconds; a day if left out.
    """

    aliases: ClassVar[dict[str, str]] = {"validSeconds": "valid_seconds"}

    request: Annotated[str, Meta(min_length=1, max_length=MAX_REQUEST_BYTES)]
    valid_seconds: Annotated[int, Meta(ge=1, le=PIN_SECONDS_MAX)] = PIN_SECONDS

    def __post_init__(self) -> None:
        size = len(self.request.encode())
        if size > MAX_REQUEST_BYTES:
            raise FieldError("request", f"has {size} bytes; at most {MAX_REQUEST_BYTES} are taken")


@endpoint(
    "POST",
    "/v1/sessions/{session_id}/request",
    tag="Decisions",
    scopes=(Scope.ADMIN, Scope.REQUEST),
    status=201,
    errors=(RequestPinned,),
)
async def pin_request(
    session_id: str, data: PinRequest, caller: Caller, services: Services, by: ChangedBy
) -> SessionRequest:
    """Pin the user's request of a session.

    The first request counts: the same one again is answered as the first time, another one is refused. From then on,
    calls of the session pass rules of the type `pinned_request` only with this request. session_id: what calls give as
    `context.session`; a slash in it is written `%2F`. Only the request's length and MACs are stored.
    """
    session = name_in_path(session_id)
    if not 0 < len(session) <= MAX_SESSION_LENGTH:
        raise Invalid.at("session_id", f"must have 1 to {MAX_SESSION_LENGTH} characters")
    hmac = recorded_request(data.request, services.decisions.signer, caller.workspace_id).get("hmac")
    if hmac is None:
        raise Invalid.at("$", "pinning needs REMIT_SECRET, under which the request's MAC is made")
    pinned = services.records.pinned_requests
    return await pinned.pin(caller.workspace_id, session, data.request, hmac, data.valid_seconds, by)


@endpoint(
    "GET",
    "/v1/sessions/{session_id}/request",
    tag="Decisions",
    scopes=(Scope.READ, Scope.VIEW, Scope.AUDIT, Scope.REQUEST),
    errors=(RequestNotFound,),
)
async def show_pinned_request(session_id: str, caller: Caller, services: Services) -> SessionRequest:
    """Show the pinned request of a session: when it was pinned, by whom, and its MAC; the text is not stored."""
    return await services.records.pinned_requests.of(caller.workspace_id, name_in_path(session_id))
