"""The session of calls made with keys that have one session of their own."""

import msgspec
from msgspec.structs import replace

from app.model.api_keys import Caller
from app.model.decisions import AuthorizeRequest


def in_its_session(caller: Caller, request: AuthorizeRequest) -> AuthorizeRequest:
    """The request with the key's id as `context.session`, whatever it said before; policies and log see that id."""
    recorded = msgspec.json.decode(request.recorded_context or b"{}") | {"session": caller.key_id}
    context = {**(request.context or {}), "session": caller.key_id}
    return replace(request, context=context, recorded_context=msgspec.json.encode(recorded), session=caller.key_id)
